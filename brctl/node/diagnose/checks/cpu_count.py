"""As many CPU sockets and threads are on line as the config declares: fewer are critical, more a warning.

Both are one finding, for a socket that is gone takes its threads along.
"""

from typing import Iterator, List, NamedTuple, cast

from ...facts import Cpu
from ...report import Evidence, Finding, Status
from ...request import ExpectedCpu
from .. import Case, Check
from ..parts import shortage

_REMEDY = (
    "half the threads: SMT is off (BIOS, or `nosmt` on the kernel's command line); a few: CPUs are off line "
    "(/sys/devices/system/cpu/offline); a socket: see the BMC's log"
)


class _Row(NamedTuple):
    noun: str
    seen: int
    want: int
    source: str


def run(case: Case) -> Iterator[Finding]:
    cpu = cast(Cpu, case.seen.cpu)
    rows = _rows(cpu, case.want.cpu or ExpectedCpu())
    if not rows:
        yield CHECK.finding(Status.NA, "{} sockets, {} threads; none declared".format(cpu.sockets, cpu.threads))
        return
    wrong = {status for status in (shortage(row.seen, row.want) for row in rows) if status}
    seen = ", ".join("{} {}".format(row.seen, row.noun) for row in rows)
    if not wrong:
        yield CHECK.finding(Status.PASS, seen)
        return
    wanted = ", ".join("{} {}".format(row.want, row.noun) for row in rows)
    evidence = [Evidence(row.noun, str(row.seen), row.source) for row in rows]
    evidence += [Evidence("declared", str(row.want), "hardware.cpu." + row.noun) for row in rows]
    worst = Status.CRIT if Status.CRIT in wrong else Status.WARN
    yield CHECK.finding(worst, "{}; expected {}".format(seen, wanted), evidence=tuple(evidence), remedy=_REMEDY)


def _rows(cpu: Cpu, want: ExpectedCpu) -> List[_Row]:
    rows = []
    if want.sockets is not None:
        rows.append(_Row("sockets", cpu.sockets, want.sockets, "/sys/devices/system/cpu/cpu*/topology"))
    if want.threads is not None:
        rows.append(_Row("threads", cpu.threads, want.threads, "/sys/devices/system/cpu/online"))
    return rows


CHECK = Check(
    id="cpu-count",
    title="All declared CPUs are on line",
    tags=("inventory",),
    needs=("cpu",),
    run=run,
)
