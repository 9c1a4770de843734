"""What the CPUs of each NUMA node have done since the boot."""

from typing import Dict, List, Optional, Tuple

from ..facts import NodeTime
from ..host import Host
from .cpu import parse_cpulist

_NODES = "/sys/devices/system/node"
_IDLE = (3, 4)
"""idle and iowait of /proc/stat (proc_stat(5)): `user nice system idle iowait irq softirq steal`; what follows those,
guest, is in user already."""
_COUNTED = 8


def read(host: Host) -> Optional[Tuple[NodeTime, ...]]:
    """None where the kernel does not tell, or was built without NUMA. Raises OSError, ValueError."""
    text, online = host.read("/proc/stat"), host.read(_NODES + "/online")
    if text is None or online is None:
        return None
    times = parse(text)
    found: List[NodeTime] = []
    for node in parse_cpulist(online):
        cpus = parse_cpulist(host.read("{}/node{}/cpulist".format(_NODES, node)) or "")
        mine = [times[cpu] for cpu in cpus if cpu in times]
        if mine:
            found.append(NodeTime(node, sum(busy for busy, _ in mine), sum(total for _, total in mine)))
    return tuple(found)


def parse(text: str) -> Dict[int, Tuple[int, int]]:
    """Busy and all ticks of each CPU. Raises ValueError."""
    times: Dict[int, Tuple[int, int]] = {}
    for line in text.splitlines():
        name, *words = line.split()
        if name.startswith("cpu") and name != "cpu":
            ticks = [int(word) for word in words[:_COUNTED]]
            total = sum(ticks)
            times[int(name[len("cpu") :])] = total - sum(ticks[place] for place in _IDLE if place < len(ticks)), total
    return times
