"""NUMA nodes: CPUs, memory and distances."""

import re
from typing import List, Optional, Tuple

from ..facts import NumaNode
from ..host import Host
from .cpu import parse_cpulist

_NODES = "/sys/devices/system/node"
_TOTAL = re.compile(r"MemTotal:\s+(\d+) kB")


def read(host: Host) -> Optional[Tuple[NumaNode, ...]]:
    """In the order of their ids; None where the kernel was built without NUMA. Raises OSError."""
    online = host.read(_NODES + "/online")
    if online is None:
        return None
    nodes: List[NumaNode] = []
    for node in parse_cpulist(online):
        folder = "{}/node{}".format(_NODES, node)
        meminfo, distance = host.read(folder + "/meminfo"), host.read(folder + "/distance")
        cpus = host.read(folder + "/cpulist")
        if meminfo is not None and distance is not None and cpus is not None:  # else it went off line just now
            nodes.append(NumaNode(node, cpus.strip(), parse_memory(meminfo), parse_distance(distance)))
    return tuple(nodes)


def parse_memory(meminfo: str) -> int:
    """MemTotal of a node's own meminfo, in bytes; 0 for a node of CPUs alone. Raises ValueError."""
    total = _TOTAL.search(meminfo)
    if total is None:
        raise ValueError("a NUMA node's meminfo has no MemTotal")
    return int(total.group(1)) * 1024


def parse_distance(text: str) -> Tuple[int, ...]:
    return tuple(int(number) for number in text.split())
