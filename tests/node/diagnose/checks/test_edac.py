from typing import Any, Callable

from brctl.node.diagnose import Earlier, engine
from brctl.node.facts import Inventory, MemoryController
from brctl.node.report import Status
from brctl.node.request import Expected, Override


def seen(dgx: Inventory, corrected: int, uncorrected: int = 0) -> Inventory:
    return dgx._replace(memory_controllers=(MemoryController("mc0", corrected, uncorrected),))


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


def test_corrected_ones_that_grow(dgx: Inventory) -> None:
    (check,) = engine.named(("edac",))
    earlier = [Earlier(seen(dgx, 95), "the first sample"), Earlier(seen(dgx, 10), "the baseline")]
    (found,) = engine.examine(check, seen(dgx, 100), Expected(), (), earlier)
    assert (found.status, found.summary) == (Status.WARN, "mc0: 90 corrected memory errors since the baseline")
    (found,) = engine.examine(check, seen(dgx, 100), Expected(), (), earlier[:1])
    assert found.status is Status.PASS
    (found,) = engine.examine(check, seen(dgx, 100), Expected(), [Override("edac", "corrected", 4)], earlier[:1])
    assert found.status is Status.WARN
