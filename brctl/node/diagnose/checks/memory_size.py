"""The host has the memory that the config declares: less is critical, more a warning.

What is declared is what is fitted; what is seen is the kernel's MemTotal, which lacks what firmware and kernel keep.
Memory on a NUMA node without CPUs is not counted: it is a GPU's (Grace Hopper) or on CXL.
"""

from typing import Iterator, Optional, Sequence, cast

from ...facts import Memory, NumaNode
from ...report import Evidence, Finding, Status
from ...units import size
from .. import Case, Check, Threshold
from ..parts import shortage

_SOURCE = "MemTotal in /proc/meminfo"
_APART = "MemTotal of the NUMA nodes without CPUs"
_REMEDY = (
    "see `dmidecode -t memory` and the BMC's log for a module that is missing or switched off; huge memory for crash "
    "dumps (`crashkernel=`) is missing from MemTotal too"
)


def run(case: Case) -> Iterator[Finding]:
    seen, want = cast(Memory, case.seen.memory), case.want.memory_bytes
    other = apart(case.seen.numa)
    total = seen.total_bytes - other
    if want is None:
        yield CHECK.finding(Status.NA, "{}; none declared".format(size(total)))
        return
    tolerance = case.thresholds["tolerance"]
    status = shortage(total, want, tolerance)
    summary = "{}, expected {}".format(size(total), size(want))
    if status is None:
        yield CHECK.finding(Status.PASS, "{} (within {:g} %)".format(summary, tolerance))
        return
    evidence = [Evidence("memory", size(seen.total_bytes), _SOURCE)]
    evidence += [Evidence("not counted", size(other), _APART)] if other else []
    evidence += [Evidence("declared", size(want), "hardware.memory")]
    yield CHECK.finding(status, summary, evidence=tuple(evidence), remedy=_REMEDY)


def apart(nodes: Optional[Sequence[NumaNode]]) -> int:
    """Bytes of MemTotal on NUMA nodes without CPUs.

    Those with CPUs are not added up instead: where memory was plugged in later, their own figures may be too small.
    """
    return sum(node.memory_bytes for node in nodes or () if not node.cpus)


CHECK = Check(
    id="memory-size",
    title="The host has the declared memory",
    tags=("inventory",),
    needs=("memory",),
    run=run,
    reads=("numa",),
    thresholds=(
        Threshold(
            "tolerance",
            5,
            "percent",
            "MemTotal is 1 to 2 % less than what is fitted: usable RAM, less reserved bits and kernel code (the "
            "kernel's Documentation/filesystems/proc.rst). One module of 16 is 6 %.",
        ),
    ),
)
