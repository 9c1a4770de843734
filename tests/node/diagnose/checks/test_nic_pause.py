from typing import Any, Callable

import pytest

from brctl.node.report import Status

TX = "it tells its switch to pause for 60 % of the time (priority {}): it is the slow receiver"
RX = "its switch tells it to pause for 60 % of the time (priority {}): a receiver elsewhere is slow"


@pytest.mark.parametrize(
    ("name", "summary"),
    [
        ("tx_prio3_pause_duration", TX.format(3)),
        ("rx_prio3_pause_duration", RX.format(3)),
        ("pfc_pri5_tx_duration_us", TX.format(5)),
    ],
)
def test_the_share_of_time_and_who_is_slow(grow: Callable[..., Any], name: str, summary: str) -> None:
    (found,) = grow({"ens3np0": {name: 3_000_000}})
    assert (found.status, found.summary) == (Status.WARN, "ens3np0: " + summary)
    assert [each.value for each in found.evidence] == ["+3e+06 in 5 s, since the first sample", "60.0%"]


def test_short_pauses_are_what_it_works_by(grow: Callable[..., Any]) -> None:
    (found,) = grow({"ens3np0": {"tx_prio3_pause_duration": 249_000, "tx_prio3_pause": 90_000}})
    assert (found.status, found.summary) == (Status.PASS, "1 of 1 ports: hardly any pause")


def test_a_storm_that_the_card_noticed(grow: Callable[..., Any]) -> None:
    (found,) = grow({"ens3np0": {"tx_pause_storm_warning_events": 1, "tx_prio3_pause_duration": 100}})
    assert found.summary == "ens3np0: a pause storm: the card was stalled for so long that its firmware says so"


def test_a_driver_that_counts_no_time(grow: Callable[..., Any]) -> None:
    (found,) = grow({"ens3np0": {"rx_discards_phy": 0}})
    assert (found.status, found.summary) == (Status.NA, "no port tells how long it pauses")


def test_one_look_is_no_verdict(counted: Callable[..., Any], examine: Callable[..., Any]) -> None:
    (found,) = examine(counted({"ens1np0": {"tx_prio3_pause_duration": 9, "rx_discards_phy": 4}}))
    assert found.summary == "one look is no verdict; since the driver was loaded: tx_prio3_pause_duration 9"
