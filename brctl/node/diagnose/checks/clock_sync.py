"""The clock is set by somebody, and counts with the CPU's own counter.

Logs of many nodes can be put together, and tokens and certificates hold, only where clocks agree. A slow clock source
(hpet, acpi_pm) makes every look at the time a call into the kernel of a microsecond and more; the kernel takes one when
it does not trust the CPU's counter (tsc).
"""

from typing import Iterator

from ...facts import Clock
from ...report import Evidence, Finding, Status
from .. import Case, Check, hosts

_SLOW = ("hpet", "acpi_pm", "jiffies", "pit")
_PATH = "/sys/devices/system/clocksource/clocksource0/current_clocksource"


def run(case: Case) -> Iterator[Finding]:
    clock = case.seen.clock or Clock(None, None, None)
    found = [*_unset(clock), *_slow(case, clock)]
    yield from found
    if not found and clock.synchronized is None:
        yield CHECK.finding(
            Status.NA, "nothing tells whether the clock is set; it counts with {}".format(clock.clocksource)
        )
    elif not found:
        yield CHECK.finding(Status.PASS, "set, and counted with {}".format(clock.clocksource or "what is not told"))


def _unset(clock: Clock) -> Iterator[Finding]:
    if clock.synchronized is False:
        evidence = (Evidence("synchronized", "no", clock.source or ""),)
        remedy = "see `chronyc sources` or `timedatectl timesync-status`; start chronyd, or open the way to its servers"
        yield CHECK.finding(Status.WARN, "nobody sets the clock", evidence=evidence, remedy=remedy)


def _slow(case: Case, clock: Clock) -> Iterator[Finding]:
    if clock.clocksource in _SLOW:
        evidence = (Evidence("clock source", clock.clocksource or "", _PATH),)
        remedy = (
            "look for `clocksource` in the kernel log; update the BIOS, or boot with `tsc=reliable` if it is known good"
        )
        summary = "the kernel counts time with {}, which is slow to ask".format(clock.clocksource)
        yield CHECK.finding(hosts.unfit(case.seen), summary, evidence=evidence, remedy=remedy)


CHECK = Check(
    id="clock-sync",
    title="The clock is set and quick to read",
    tags=("health",),
    needs=("clock",),
    run=run,
    reads=("pci",),
)
