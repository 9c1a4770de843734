"""Transparent huge pages are given to who asks for them, or to all, but not to nobody.

`madvise` is the default of most distributions, `always` what tuned's profile for HPC sets: both suit GPU work. With
`never`, large arrays on the host and pinned buffers cost more TLB entries and time to map. It is a choice of those who
count microseconds, so that it is only noted.
"""

from typing import Sequence

from ...report import Evidence, Finding, Status
from .. import Case, Check, hosts

_PATH = "/sys/kernel/mm/transparent_hugepage/enabled"


def run(case: Case) -> Sequence[Finding]:
    value = case.seen.transparent_hugepage or ""
    if value != "never" or not hosts.serves_gpus(case.seen):
        return (CHECK.finding(Status.PASS, value),)
    evidence = (Evidence("enabled", value, _PATH),)
    return (CHECK.finding(Status.INFO, "never: large host buffers are mapped page by page", evidence=evidence),)


CHECK = Check(
    id="transparent-hugepage",
    title="Who asks for huge pages gets them",
    tags=("health",),
    needs=("transparent_hugepage",),
    run=run,
    reads=("pci",),
)
