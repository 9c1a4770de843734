"""The memory of the host, together and by NUMA node."""

from ...host import Host
from ...probe.cpu import parse_cpulist
from ...probe.memory import size
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
_KILLS = "\noom_kill "


def run(host: Host, previous: Previous) -> Readings:
    text = host.reread(_FILE) or ""
    for name, series in _SIZES.items():
        yield Reading(series, size(text, name))
    kills = (host.reread("/proc/vmstat") or "").partition(_KILLS)[2].partition("\n")[0]
    yield Reading(_OOM, int(kills) if kills.isdecimal() else None)
    for node in previous.kept("nodes", lambda: parse_cpulist(host.reread(_NODES + "/online") or "")):
        of_node = host.reread("{}/node{}/meminfo".format(_NODES, node))
        if of_node is None:  # it is no more
            continue
        yield Reading(_NODE_TOTAL, size(of_node, "Node {} MemTotal".format(node)), (str(node),))
        yield Reading(_NODE_FREE, size(of_node, "Node {} MemFree".format(node)), (str(node),))


COLLECTOR = Collector(id="memory", title="Memory, by NUMA node", every_s=1.0, series=tuple(_made.all), of_host=run)
