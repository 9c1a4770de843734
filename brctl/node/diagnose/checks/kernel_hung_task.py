"""No task hangs in the kernel, and no CPU is locked up.

The kernel tells of a task that waits for two minutes without a break (kernel.hung_task_timeout_secs), and of a CPU
that runs kernel code for 20 s. With NVIDIA's driver in the stack, or the driver's own tools, it is the driver that
hangs: no program can end that, and more calls to NVML would hang as well.
"""

from typing import Optional, Sequence

from ...report import Finding, Status
from .. import Case, Check, incidents
from ..incidents import Told


def run(case: Case) -> Sequence[Finding]:
    clean = "no hung task, no locked up CPU since the boot"
    return incidents.findings(CHECK, case.seen, _judge, _describe, _remedy, clean)


def _judge(one: Told) -> Status:
    return Status.CRIT if one.event.detail == "nvidia" or one.event.kind == "soft-lockup" else Status.WARN


def _describe(ones: Sequence[Told]) -> str:
    event = ones[0].event
    where = " in NVIDIA's driver" if event.detail == "nvidia" else ""
    verb = "locked up a CPU" if event.kind == "soft-lockup" else "hung"
    names = list(dict.fromkeys(one.event.process for one in ones[1:] if one.event.process != event.process))
    tail = "; so did {}".format(", ".join(map(str, names[:3]))) if names else ""
    return "{} (pid {}) {}{} ({}){}".format(event.process, event.pid, verb, where, incidents.times(event), tail)


def _remedy(ones: Sequence[Told]) -> Optional[str]:
    if ones[0].event.detail == "nvidia":
        return "drain the node and reboot it: a task that hangs in the driver cannot be ended"
    return "look at what it waits for (/proc/PID/stack): storage and network file systems first"


CHECK = Check(
    id="kernel-hung-task",
    title="No task hangs in the kernel",
    tags=("health",),
    needs=("kernel_log",),
    run=run,
    group="log",
)
