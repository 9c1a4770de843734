"""The kernel does not move pages between NUMA nodes by itself.

kernel.numa_balancing is a mask: 1 moves pages to who uses them, 2 to slower tiers of memory, 3 both. Any of them takes
pages away for a moment to see who touches them: threads that feed GPUs stall, and memory that RDMA pinned moves under
it. On one NUMA node there is nothing to move.
"""

from typing import Sequence

from ...report import Evidence, Finding, Status
from .. import Case, Check, hosts

_KEY = "kernel.numa_balancing"
_MODES = {"1": "between NUMA nodes", "2": "between tiers of memory", "3": "between NUMA nodes and tiers of memory"}
_REMEDY = (
    "`brctl tune apply --set numa_balancing=false`; for good, `numa_balancing=disable` on the kernel's command line"
)


def run(case: Case) -> Sequence[Finding]:
    value = hosts.sysctl(case.seen, _KEY)
    if value is None:
        return (CHECK.finding(Status.NA, "this kernel has no NUMA balancing"),)
    if value == "0":
        return (CHECK.finding(Status.PASS, "off"),)
    alone = case.seen.numa is not None and len(case.seen.numa) == 1
    status = Status.INFO if alone else hosts.unfit(case.seen)
    summary = "{} is {}: pages are moved {}".format(_KEY, value, _MODES.get(value, "in ways that brctl does not know"))
    evidence = (Evidence(_KEY, value, "/proc/sys/kernel/numa_balancing"),)
    return (CHECK.finding(status, summary, evidence=evidence, remedy=_REMEDY if status is Status.WARN else None),)


CHECK = Check(
    id="numa-balancing",
    title="Automatic NUMA balancing is off",
    tags=("health",),
    needs=("sysctls",),
    run=run,
    reads=("numa", "pci"),
)
