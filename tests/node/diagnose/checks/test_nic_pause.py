from typing import Any, Callable, Dict

import pytest

from brctl.node.diagnose import Earlier, engine
from brctl.node.facts import Inventory, NicCounter, NicCounters
from brctl.node.report import Status, Subject
from brctl.node.request import Expected, Override


def seen(dgx: Inventory, at_s: float, counters: Dict[str, int]) -> Inventory:
    return dgx._replace(
        nic_counters=(NicCounters("ens1np0", at_s, tuple(NicCounter(*pair) for pair in counters.items())),)
    )


def looked(dgx: Inventory, was: Dict[str, int], now: Dict[str, int], *overrides: Override, seconds: float = 2.0) -> Any:
    (check,) = engine.named(("nic-pause",))
    earlier = Earlier(seen(dgx, 100.0, was), "the first sample")
    return engine.examine(check, seen(dgx, 100.0 + seconds, now), Expected(), overrides, (earlier,))


@pytest.mark.parametrize(
    ("name", "amount", "status", "words"),
    [
        ("tx_prio3_pause_duration", 1_200_000, Status.WARN, "pauses its switch for 60 % of the time"),
        ("rx_prio3_pause_duration", 400_000, Status.WARN, "is paused by its switch for 20 % of the time"),
        ("tx_prio3_pause_duration", 100_000, Status.PASS, ""),
        ("tx_pause_storm_warning_events", 1, Status.WARN, "a pause storm by the card's own word"),
        ("tx_pause_storm_error_events", 1, Status.CRIT, "a pause storm by the card's own word"),
        ("tx_pause_storm_error_events", 0, Status.PASS, ""),
        ("rx_discards_phy", 500, Status.WARN, "drops packets"),
        ("rx_discards_phy", 200, Status.PASS, ""),
        ("link_down_events_phy", 1, Status.WARN, "its link went down"),
        ("link_down_events_phy", 0, Status.PASS, ""),
    ],
)
def test_growth(dgx: Inventory, name: str, amount: int, status: Status, words: str) -> None:
    (found,) = looked(dgx, {name: 7}, {name: 7 + amount})
    assert found.status is status
    if words:
        assert (found.subject, found.summary) == (Subject("nic", "ens1np0", "ens1np0"), "ens1np0: " + words)
        assert found.evidence[0].value == "+{} in 2.0 s, since the first sample".format(amount)
        assert found.remedy
    else:
        assert found.summary == "1 NICs: no pauses, no drops to speak of"


def test_several_are_one_finding(dgx: Inventory) -> None:
    was = {"rx_discards_phy": 0, "tx_pause_storm_error_events": 0}
    (found,) = looked(dgx, was, {"rx_discards_phy": 5000, "tx_pause_storm_error_events": 2})
    assert (found.status, found.summary) == (
        Status.CRIT,
        "ens1np0: a pause storm by the card's own word, drops packets",
    )


def test_a_driver_that_was_loaded_anew(dgx: Inventory) -> None:
    (found,) = looked(dgx, {"rx_discards_phy": 10**6}, {"rx_discards_phy": 5})
    assert found.status is Status.PASS
    (found,) = looked(dgx, {"rx_discards_phy": 0}, {"rx_discards_phy": 10**6}, seconds=0.0)
    assert found.status is Status.PASS


def test_the_thresholds(dgx: Inventory) -> None:
    (found,) = looked(
        dgx, {"rx_discards_phy": 0}, {"rx_discards_phy": 20}, Override("nic-pause", "drops_per_second", 5)
    )
    assert found.status is Status.WARN


def test_totals_are_no_verdict(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(seen(dgx, 0.0, {"rx_discards_phy": 10**9, "rx_out_of_buffer": 0}))
    assert (found.status, found.summary) == (
        Status.INFO,
        "one look is no verdict; since the driver was loaded: rx_discards_phy 1000000000",
    )
    (found,) = examine(seen(dgx, 0.0, {}))
    assert found.status is Status.NA
