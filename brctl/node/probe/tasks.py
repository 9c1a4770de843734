"""Processes that hang in the kernel or are dead and not buried."""

from typing import List, Optional

from ..facts import Task, Tasks
from ..host import Host

_STATE, _START = 0, 19
"""Places behind the name in /proc/PID/stat (proc_pid_stat(5))."""


def read(host: Host) -> Optional[Tasks]:
    """None where there is no /proc. Raises OSError. One that ends meanwhile is passed over."""
    names = host.listdir("/proc")
    if names is None:
        return None
    processes = zombies = 0
    blocked: List[Task] = []
    for pid in (int(name) for name in names if name.isdecimal()):
        text = host.read("/proc/{}/stat".format(pid))
        name, _, rest = (text or "").partition("(")[2].rpartition(")")
        fields = rest.split()
        if len(fields) <= _START:
            continue
        processes += 1
        zombies += fields[_STATE] == "Z"
        if fields[_STATE] == "D":
            blocked.append(Task(pid, name, int(fields[_START])))
    return Tasks(processes, zombies, tuple(blocked))
