"""How busy the CPUs are, together and by NUMA node."""

from typing import Dict, List, Optional, Tuple

from ...host import Host
from ...probe.cpu import parse_cpulist
from ...report import Series
from .. import Collector, Kind, Reading, Readings
from ..previous import Previous

_FILE, _NODES = "/proc/stat", "/sys/devices/system/node"
_TICKS_OF_A_SECOND = 100
"""USER_HZ of every architecture that Linux has GPUs on."""
_IDLE, _IOWAIT = 3, 4
_COUNTED = 8
"""user, nice, system, idle, iowait, irq, softirq, steal; guest time is in user."""
_made = Kind("cpu")
_SECONDS = _made.counter("cpu_seconds_total", "seconds", "CPU time by mode, of all CPUs.", _FILE, "mode")
_BUSY = _made.gauge("cpu_utilization_ratio", "ratio", "Part of their time since the last look that CPUs worked.", _FILE)
_OF_NODE = _made.gauge(
    "numa_cpu_utilization_ratio", "ratio", "Likewise, of the CPUs of a NUMA node.", _FILE, "numa_node"
)
_LOAD = _made.gauge("load_average", "", "Processes that run or wait, mean of a minute.", "/proc/loadavg")
_MODES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def run(host: Host, previous: Previous) -> Readings:
    seen = parse(host.reread(_FILE) or "")
    for mode, ticks in zip(_MODES, seen.get("cpu", ())):
        yield Reading(_SECONDS, ticks / _TICKS_OF_A_SECOND, (mode,))
    yield from _share(previous, _BUSY, seen.get("cpu"), ())
    for node, cpus in previous.kept("nodes", lambda: _nodes(host)).items():
        of_node = [seen[cpu] for cpu in cpus if cpu in seen]
        yield from _share(previous, _OF_NODE, [sum(modes) for modes in zip(*of_node)], (node,))
    load = (host.reread("/proc/loadavg") or "").split()
    yield Reading(_LOAD, float(load[0]) if load else None)


def parse(text: str) -> Dict[str, List[int]]:
    """The ticks of `cpu`, all together, and of `cpu0` and so on."""
    rows = (line.split() for line in text.splitlines() if line.startswith("cpu"))
    return {row[0]: [int(number) for number in row[1 : 1 + _COUNTED]] for row in rows}


def _share(previous: Previous, series: Series, ticks: Optional[List[int]], labels: Tuple[str, ...]) -> Readings:
    if not ticks:
        return
    idle = sum(ticks[_IDLE : _IOWAIT + 1])
    busy = previous.ratio("busy " + "".join(labels), sum(ticks) - idle, sum(ticks), 1)
    if busy is not None:
        yield Reading(series, busy, labels)


def _nodes(host: Host) -> Dict[str, List[str]]:
    """The names of the CPUs of each NUMA node."""
    found: Dict[str, List[str]] = {}
    for node in parse_cpulist(host.reread(_NODES + "/online") or ""):
        text = host.reread("{}/node{}/cpulist".format(_NODES, node)) or ""
        found[str(node)] = ["cpu{}".format(cpu) for cpu in parse_cpulist(text)]
    return found


COLLECTOR = Collector(id="cpu", title="CPUs, by NUMA node", every_s=1.0, series=tuple(_made.all), of_host=run)
