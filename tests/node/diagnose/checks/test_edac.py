from typing import Any, Callable, Optional

import pytest

from brctl.node.diagnose import Earlier, engine
from brctl.node.facts import Inventory, MemoryController
from brctl.node.host.members import of_ids
from brctl.node.report import Status
from brctl.node.request import Expected, Override

DAY_S = 86400.0


def seen(dgx: Inventory, corrected: int, uncorrected: int = 0, at_s: Optional[float] = 0.0) -> Inventory:
    return dgx._replace(memory_controllers=(MemoryController("mc0", corrected, uncorrected, at_s),))


def test_totals_are_no_verdict(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(seen(dgx, 100_000))
    assert (found.status, found.summary) == (
        Status.PASS,
        "1 memory controllers, 100000 corrected errors since the boot",
    )


def test_an_uncorrected_one(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(seen(dgx, 0, 2))
    assert (found.status, found.summary) == (Status.CRIT, "uncorrected memory errors since the boot: 2 mc0")
    assert found.evidence[0].source == "/sys/devices/system/edac/mc/mc0/ue_count"
    assert found.remedy


@pytest.mark.parametrize(
    ("growth", "seconds", "status"),
    [
        (10, 0.1, Status.PASS),
        (11, 0.1, Status.WARN),
        (11, 3600, Status.WARN),
        (11, 30 * DAY_S, Status.PASS),
        (300, 30 * DAY_S, Status.PASS),
        (301, 30 * DAY_S, Status.WARN),
        (-5, 60, Status.PASS),
    ],
)
def test_corrected_ones_by_the_day(dgx: Inventory, growth: int, seconds: float, status: Status) -> None:
    (check,) = of_ids(engine.registry(), ("edac",))
    earlier = [Earlier(seen(dgx, 1000), "the baseline")]
    (found,) = engine.examine(check, seen(dgx, 1000 + growth, at_s=seconds), Expected(), (), earlier)
    assert found.status is status


def test_the_growth_is_told_and_not_the_total(dgx: Inventory) -> None:
    (check,) = of_ids(engine.registry(), ("edac",))
    earlier = [Earlier(seen(dgx, 95, at_s=2 * DAY_S - 5), "the first sample"), Earlier(seen(dgx, 10), "the baseline")]
    now = seen(dgx, 100, at_s=2 * DAY_S)
    (found,) = engine.examine(check, now, Expected(), (), earlier)
    assert (found.status, found.summary) == (Status.WARN, "mc0: 90 corrected memory errors since the baseline")
    (evidence,) = found.evidence
    assert (evidence.value, evidence.source) == (
        "+90 in 2 d, since the baseline",
        "/sys/devices/system/edac/mc/mc0/ce_count",
    )
    (found,) = engine.examine(check, now, Expected(), [Override("edac", "corrected", 4)], earlier[:1])
    assert found.evidence[0].value == "+5 in 5 s, since the first sample"


def test_a_look_that_does_not_tell_its_time_is_no_measure(dgx: Inventory) -> None:
    (check,) = of_ids(engine.registry(), ("edac",))
    earlier = [Earlier(seen(dgx, 0, at_s=None), "the baseline")]
    (found,) = engine.examine(check, seen(dgx, 100, at_s=5.0), Expected(), (), earlier)
    assert found.status is Status.PASS
