"""The host has the memory that the config declares: less is critical, more a warning.

What is declared is what is fitted; what is seen is the kernel's MemTotal, which lacks what firmware and kernel keep.
"""

from typing import Iterator, cast

from ...facts import Memory
from ...report import Evidence, Finding, Status
from .. import Case, Check, Threshold
from ..parts import shortage

_SOURCE = "MemTotal in /proc/meminfo"
_REMEDY = (
    "see `dmidecode -t memory` and the BMC's log for a module that is missing or switched off; huge memory for crash "
    "dumps (`crashkernel=`) is missing from MemTotal too"
)


def run(case: Case) -> Iterator[Finding]:
    total, want = cast(Memory, case.seen.memory).total_bytes, case.want.memory_bytes
    if want is None:
        yield CHECK.finding(Status.NA, "{}; none declared".format(_gib(total)))
        return
    status = shortage(total, want, case.thresholds["tolerance"])
    summary = "{}, expected {}".format(_gib(total), _gib(want))
    if status is None:
        yield CHECK.finding(Status.PASS, summary)
        return
    evidence = (Evidence("memory", _gib(total), _SOURCE), Evidence("declared", _gib(want), "hardware.memory"))
    yield CHECK.finding(status, summary, evidence=evidence, remedy=_REMEDY)


def _gib(size: int) -> str:
    return "{:.1f} GiB".format(size / 2**30)


CHECK = Check(
    id="memory-size",
    title="The host has the declared memory",
    tags=("inventory",),
    needs=("memory",),
    run=run,
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
