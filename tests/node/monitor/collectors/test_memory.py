from typing import Any

from brctl.node.monitor.collectors.memory import COLLECTOR

FILES = {
    "/proc/meminfo": "MemTotal:       1000 kB\nMemAvailable:    600 kB\nSwapCached: 9 kB\nDirty:       4 kB\n",
    "/proc/vmstat": "nr_free_pages 1\noom_kill 2\n",
    "/sys/devices/system/node/online": "0\n",
    "/sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:  900 kB\nNode 0 MemFree:  50 kB\n",
}


def test_the_host_and_its_nodes(look: Any, machine: Any) -> None:
    assert look(COLLECTOR).at(1.0, machine(FILES)) == {
        ("memory_total_bytes", ()): 1000 << 10,
        ("memory_available_bytes", ()): 600 << 10,
        ("memory_cached_bytes", ()): None,
        ("memory_swap_total_bytes", ()): None,
        ("memory_swap_free_bytes", ()): None,
        ("memory_dirty_bytes", ()): 4 << 10,
        ("memory_oom_kills_total", ()): 2,
        ("numa_memory_total_bytes", ("0",)): 900 << 10,
        ("numa_memory_free_bytes", ("0",)): 50 << 10,
    }
