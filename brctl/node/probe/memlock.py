"""How much memory jobs may lock: by the limits of what starts them, which they inherit."""

import re
from typing import Iterator, Optional, Tuple

from ..facts import MemoryLock
from ..host import Host

SERVICES = ("slurmd", "kubelet", "containerd", "docker", "pbs")
_FOLDERS = ("/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice")
"""Of systemd's services, with cgroups of version 2 and 1."""
_LINE = re.compile(r"^Max locked memory +(\S+) +(\S+)", re.MULTILINE)


def read(host: Host) -> Optional[Tuple[MemoryLock, ...]]:
    """Of the services that start jobs, and our own; None where there is no /proc. Raises OSError, ValueError."""
    own = host.read("/proc/self/limits")
    if own is None:
        return None
    return (*_services(host), parse(own, "brctl"))


def parse(text: str, process: str) -> MemoryLock:
    """Of /proc/PID/limits. Raises ValueError."""
    found = _LINE.search(text)
    if found is None:
        raise ValueError("the limits of {} have no `Max locked memory`".format(process))
    soft, hard = (None if word == "unlimited" else int(word) for word in found.groups())
    return MemoryLock(process, soft, hard)


def _services(host: Host) -> Iterator[MemoryLock]:
    for service in SERVICES:
        for folder in _FOLDERS:
            pids = (host.read("{}/{}.service/cgroup.procs".format(folder, service)) or "").split()
            text = host.read("/proc/{}/limits".format(pids[0])) if pids else None
            if text:
                yield parse(text, service + ".service")
                break
