"""No process hangs in the kernel, and the dead are buried.

A process in state D waits for a disk, a server or a driver, and no signal reaches it. For a moment that is normal; what
was so at both looks, and has a name of NVIDIA's, hangs in the GPU's driver. What others wait for is told by the load
(`uninterruptible`), and after two minutes by the kernel (kernel-hung-task). Zombies cost a PID each.
"""

from typing import Iterator, List, Tuple

from ...facts import Task
from ...report import Evidence, Finding, Status
from .. import Case, Check, Threshold

_DRIVERS = ("nvidia", "nv_", "irq/nvidia", "UVM")
_REMEDY = "drain the node and reboot it: a process that hangs in the driver cannot be ended"
_MANY = "see what they wait for: /proc/PID/stack; storage and network file systems first"
_BURY = "find who does not wait for its children: `ps -eo ppid,stat | grep Z | sort | uniq -c`; restart it"


def run(case: Case) -> Iterator[Finding]:
    tasks = case.seen.tasks
    assert tasks  # noqa: S101  # it is needed
    stuck = _stuck(case)
    of_driver = [task for task in stuck if task.name.startswith(_DRIVERS)]
    evidence = tuple(Evidence(task.name, "state D", "/proc/{}/stat".format(task.pid)) for task in stuck[:5])
    found: List[Finding] = []
    if of_driver:
        names = ", ".join("{} ({})".format(task.name, task.pid) for task in of_driver[:3])
        found.append(
            CHECK.finding(Status.WARN, "hangs in NVIDIA's driver: " + names, evidence=evidence, remedy=_REMEDY)
        )
    elif len(stuck) >= case.thresholds["blocked"]:
        summary = "{} processes wait in the kernel at both looks".format(len(stuck))
        found.append(CHECK.finding(Status.WARN, summary, evidence=evidence, remedy=_MANY))
    if tasks.zombies >= case.thresholds["zombies"]:
        dead = (Evidence("zombies", str(tasks.zombies), "/proc/PID/stat"),)
        found.append(CHECK.finding(Status.WARN, "{} zombies".format(tasks.zombies), evidence=dead, remedy=_BURY))
    text = "{} processes, {} in state D at both looks, {} zombies".format(tasks.processes, len(stuck), tasks.zombies)
    yield from found or [CHECK.finding(Status.PASS, text)]


def _stuck(case: Case) -> Tuple[Task, ...]:
    """In state D now and at the first look; nobody where there was only one."""
    now = case.seen.tasks.blocked if case.seen.tasks else ()
    nearest = case.earlier[0].seen.tasks if case.earlier else None
    return tuple(task for task in now if nearest and task in nearest.blocked)


CHECK = Check(
    id="host-d-state",
    title="No process hangs in the kernel",
    tags=("health", "counter"),
    needs=("tasks",),
    run=run,
    thresholds=(
        Threshold("zombies", 1000, "processes", "gpud warns from 1,000 on; Linux has 32,768 PIDs by default."),
        Threshold(
            "blocked",
            50,
            "processes",
            "Ours: a node whose storage is well has a handful at a time, one whose server is gone has all its jobs.",
        ),
    ),
    after=("kernel-hung-task", "gpu-responding"),
)
