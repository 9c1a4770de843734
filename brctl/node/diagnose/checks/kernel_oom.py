"""The kernel has not killed a process for want of memory.

Where the host as a whole had none left, any process may have been hit. Where a container reached its own limit, that is
the limit's doing and no fault of the node.
"""

from typing import Optional, Sequence

from ...report import Finding, Status
from .. import Case, Check, incidents
from ..incidents import Told


def run(case: Case) -> Sequence[Finding]:
    clean = "no process killed for want of memory since the boot"
    return incidents.findings(CHECK, case.seen, _judge, _describe, _remedy, clean)


def _judge(one: Told) -> Status:
    return Status.INFO if one.event.detail == "cgroup" else Status.WARN


def _describe(ones: Sequence[Told]) -> str:
    event = ones[0].event
    what = "a container's limit of memory was reached" if event.detail == "cgroup" else "the host had no memory left"
    names = dict.fromkeys(str(one.event.process) for one in ones)
    return "{}: {} killed ({})".format(what, ", ".join(list(names)[:4]), incidents.times(event))


def _remedy(ones: Sequence[Told]) -> Optional[str]:  # noqa: ARG001  # the same for all
    return "find what uses the memory (pinned buffers, page cache in tmpfs, data loaders); limit it with a cgroup"


CHECK = Check(
    id="kernel-oom",
    title="The kernel has killed no process for want of memory",
    tags=("health",),
    needs=("kernel_log",),
    run=run,
    group="log",
)
