from typing import Any

import pytest

from brctl.node.monitor.collectors.gpu_memory import COLLECTOR

GIB = 1 << 30
MEMINFO = {"/proc/meminfo": "MemTotal:       1000 kB\nMemFree:        100 kB\nMemAvailable:   400 kB\n"}


def test_what_is_used_and_reserved(look: Any, watched: Any) -> None:
    gpu = watched(memory_total_bytes=80 * GIB, memory_reserved_bytes=GIB, memory_used_bytes=9 * GIB)
    assert look(COLLECTOR).of(1.0, gpu) == {
        ("gpu_memory_total_bytes", ()): 80 * GIB,
        ("gpu_memory_used_bytes", ()): 9 * GIB,
        ("gpu_memory_free_bytes", ()): 70 * GIB,
        ("gpu_memory_reserved_bytes", ()): GIB,
        ("gpu_memory_unified", ()): 0,
    }


@pytest.mark.parametrize("total", [None, 0])
def test_unified_memory_is_the_hosts(look: Any, watched: Any, total: Any) -> None:
    gpu = watched(MEMINFO, name="NVIDIA GB10", memory_total_bytes=total)
    assert look(COLLECTOR).of(1.0, gpu) == {
        ("gpu_memory_total_bytes", ()): 1000 << 10,
        ("gpu_memory_used_bytes", ()): 600 << 10,
        ("gpu_memory_free_bytes", ()): 400 << 10,
        ("gpu_memory_reserved_bytes", ()): None,
        ("gpu_memory_unified", ()): 1,
    }


def test_a_card_that_merely_fails_to_tell_gets_nothing_of_the_host(look: Any, watched: Any) -> None:
    seen = look(COLLECTOR).of(1.0, watched(MEMINFO, memory_total_bytes=None))
    assert seen["gpu_memory_total_bytes", ()] is None
    assert seen["gpu_memory_used_bytes", ()] is None
    assert seen["gpu_memory_unified", ()] == 0


def test_unified_memory_of_a_host_that_does_not_tell(look: Any, watched: Any) -> None:
    seen = look(COLLECTOR).of(1.0, watched(name="NVIDIA GB10", memory_total_bytes=None))
    assert seen["gpu_memory_used_bytes", ()] is None
