"""CPUs: how many sockets, cores and threads. The counts are lscpu's."""

import errno
import os
from typing import List, Optional, Sequence, Set, Tuple

from ..facts import Cpu
from ..host import Host

_CPUS = "/sys/devices/system/cpu"


def read(host: Host) -> Optional[Cpu]:
    """None where the kernel shows no CPUs in /sys. Raises OSError."""
    online = host.read(_CPUS + "/online")
    if online is None:
        return None
    cpus = parse_cpulist(online)
    return Cpu(
        model=parse_model(host.read("/proc/cpuinfo") or ""),
        sockets=_groups(host, cpus, "core_siblings_list"),
        cores=_groups(host, cpus, "thread_siblings_list"),
        threads=len(cpus),
    )


def parse_cpulist(text: str) -> Tuple[int, ...]:
    """`0-2,7` is (0, 1, 2, 7): the kernel's list format (Documentation/admin-guide/cputopology.rst)."""
    numbers: List[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return tuple(numbers)


def parse_model(cpuinfo: str) -> Optional[str]:
    """The first `model name` of /proc/cpuinfo; None on architectures that print none (arm64)."""
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return None


def _groups(host: Host, cpus: Sequence[int], siblings: str) -> int:
    """How many groups the CPUs form; one member of each is asked, for a large server has hundreds of CPUs."""
    seen: Set[int] = set()
    groups = 0
    for cpu in cpus:
        if cpu in seen:
            continue
        path = "{}/cpu{}/topology/{}".format(_CPUS, cpu, siblings)
        text = host.read(path)
        if text is None:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        seen.update(parse_cpulist(text))
        groups += 1
    return groups
