"""The host's memory has no uncorrected error since the boot, and no corrected ones at a high rate.

An uncorrected error that did not stop the machine hit a page that nobody used, or a process that was killed for it.
Corrected ones are judged by how many came within a day, and over a longer time by a day's mean; a trickle is normal.
"""

from typing import Iterator, List, Optional

from ...facts import MemoryController
from ...report import Evidence, Finding, Status
from .. import Case, Check, Threshold
from ..growth import Growth, sustained

_DAY_S = 86400.0
_REMEDY = "drain the node; find the module with `ras-mc-ctl --errors` or the BMC's log, reseat or replace it"
_PATH = "/sys/devices/system/edac/mc/{}/{}_count"


def run(case: Case) -> Iterator[Finding]:
    controllers = case.seen.memory_controllers or ()
    bad = [one for one in controllers if one.uncorrected]
    grown = [(one, growth) for one in controllers for growth in [_growth(case, one)] if growth]
    if bad:
        words = ", ".join("{} {}".format(one.uncorrected, one.name) for one in bad)
        evidence = tuple(Evidence(one.name, str(one.uncorrected), _PATH.format(one.name, "ue")) for one in bad)
        summary = "uncorrected memory errors since the boot: {}".format(words)
        yield CHECK.finding(Status.CRIT, summary, evidence=evidence, remedy=_REMEDY)
    most = case.thresholds["corrected"]
    fast = [(one, growth) for one, growth in grown if growth.amount > most * max(1.0, growth.seconds / _DAY_S)]
    for one, growth in fast:
        evidence = (Evidence(one.name, growth.text, _PATH.format(one.name, "ce")),)
        summary = "{}: {:.0f} corrected memory errors since {}".format(one.name, growth.amount, growth.since)
        yield CHECK.finding(Status.WARN, summary, evidence=evidence, remedy=_REMEDY)
    if not bad and not fast:
        yield CHECK.finding(Status.PASS, _well(list(controllers)))


def _growth(case: Case, now: MemoryController) -> Optional[Growth]:
    """The fastest, against any earlier look; None: no time between two looks is known."""
    found = [
        Growth(now.corrected - before.corrected, now.read_at_s - before.read_at_s, earlier.since)
        for earlier in case.earlier
        for before in earlier.seen.memory_controllers or ()
        if before.name == now.name and before.read_at_s is not None and now.read_at_s is not None
    ]
    return max(found, key=lambda growth: sustained(growth, _DAY_S), default=None)


def _well(controllers: List[MemoryController]) -> str:
    corrected = sum(one.corrected for one in controllers)
    return "{} memory controllers, {} corrected errors since the boot".format(len(controllers), corrected)


CHECK = Check(
    id="edac",
    title="The memory of the host makes no errors",
    tags=("health", "counter"),
    needs=("memory_controllers",),
    run=run,
    thresholds=(
        Threshold(
            "corrected",
            10,
            "errors in a day",
            "mcelog's page-error-trigger and Linux' rasdaemon take a page away at 10 to 50 in a day; more of a whole "
            "controller is a failing module.",
        ),
    ),
)
