"""The memory of the host, together and by NUMA node."""

import re
from typing import Dict

from ...host import Host
from ...probe.cpu import parse_cpulist
from .. import Collector, Kind, Reading, Readings
from ..previous import Previous

_FILE, _NODES = "/proc/meminfo", "/sys/devices/system/node"
_made = Kind("memory")
_SIZES = {
    name: _made.gauge("memory_{}_bytes".format(series), "bytes", text, "{}, {}".format(_FILE, name))
    for name, series, text in (
        ("MemTotal", "total", "What the kernel manages."),
        ("MemAvailable", "available", "For new processes, without swapping."),
        ("Cached", "cached", "Files that are kept in memory."),
        ("SwapTotal", "swap_total", "Swap."),
        ("SwapFree", "swap_free", "Swap that is not in use."),
        ("Dirty", "dirty", "Waits to be written to disk."),
    )
}
_OOM = _made.counter("memory_oom_kills_total", "", "Processes killed for lack of memory.", "/proc/vmstat, oom_kill")
_NODE_TOTAL = _made.gauge("numa_memory_total_bytes", "bytes", "Of a NUMA node.", _NODES + "/*/meminfo", "numa_node")
_NODE_FREE = _made.gauge("numa_memory_free_bytes", "bytes", "Of a NUMA node.", _NODES + "/*/meminfo", "numa_node")
_KIB = re.compile(r"^(?:Node \d+ )?(\w+):\s+(\d+) kB$", re.MULTILINE)
_KILLS = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)


def run(host: Host, _: Previous) -> Readings:
    seen = parse(host.reread(_FILE) or "")
    for name, series in _SIZES.items():
        yield Reading(series, seen.get(name))
    kills = _KILLS.search(host.reread("/proc/vmstat") or "")
    yield Reading(_OOM, int(kills.group(1)) if kills else None)
    for node in parse_cpulist(host.reread(_NODES + "/online") or ""):
        of_node = parse(host.reread("{}/node{}/meminfo".format(_NODES, node)) or "")
        yield Reading(_NODE_TOTAL, of_node.get("MemTotal"), (str(node),))
        yield Reading(_NODE_FREE, of_node.get("MemFree"), (str(node),))


def parse(text: str) -> Dict[str, int]:
    """Bytes, by name."""
    return {name: int(kib) << 10 for name, kib in _KIB.findall(text)}


COLLECTOR = Collector(id="memory", title="Memory, by NUMA node", every_s=1.0, series=tuple(_made.all), of_host=run)
