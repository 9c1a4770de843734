from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory, Problem
from brctl.node.report import HOST, Evidence, Finding, Status, Subject
from brctl.node.request import Override


def test_totals_are_no_verdict(grow: Callable[..., Any]) -> None:
    """10^9 errors in a life that nobody knows, none between the looks."""
    assert grow({"ens1np0": {"rx_crc_errors_phy": 0}}) == (
        Finding(
            "nic-errors",
            Status.PASS,
            HOST,
            "1 of 1 ports: no damaged packets at a rate that counts",
            fold="nic-errors pass host",
        ),
    )


def test_damaged_packets(grow: Callable[..., Any]) -> None:
    (found,) = grow({"ens3np0": {"rx_crc_errors_phy": 500}, "ens1np0": {"rx_crc_errors_phy": 50}})
    assert found._replace(remedy=None) == Finding(
        "nic-errors",
        Status.WARN,
        Subject("nic", "ens3np0", "ens3np0"),
        "ens3np0: packets arrive damaged, 100 a second (rx_crc_errors_phy)",
        (Evidence("rx_crc_errors_phy", "+500 in 5 s, since the first sample", "source of ens3np0"),),
        fold="nic-errors warn ens3np0",
    )
    assert "cable" in found.remedy


@pytest.mark.parametrize(
    ("name", "growth", "status"),
    [
        ("counters/symbol_error", 50, Status.PASS),
        ("counters/symbol_error", 51, Status.WARN),
        ("counters/port_rcv_errors", 51, Status.WARN),
        ("rx_fcs_err_frames", 51, Status.WARN),
        ("counters/link_error_recovery", 0, Status.PASS),
        ("counters/link_error_recovery", 4, Status.PASS),
        ("counters/link_error_recovery", 5, Status.WARN),
    ],
)
def test_limits(grow: Callable[..., Any], name: str, growth: int, status: Status) -> None:
    assert grow({"mlx5_2" if "/" in name else "ens3np0": {name: growth}})[0].status is status


def test_a_burst_of_a_moment_is_no_rate(grow: Callable[..., Any]) -> None:
    assert grow({"ens1np0": {"rx_crc_errors_phy": 9}}, 0.1)[0].status is Status.PASS


def test_what_is_limited_by_the_minute_is_judged_by_it(grow: Callable[..., Any]) -> None:
    assert grow({"mlx5_2": {"counters/link_error_recovery": 9}}, 120)[0].status is Status.PASS
    (found,) = grow({"mlx5_2": {"counters/link_error_recovery": 12}}, 120)
    assert found.summary == "ens3np0: the link had to recover, 0.1 a second (link_error_recovery)"


def test_another_limit(grow: Callable[..., Any]) -> None:
    (found,) = grow({"ens1np0": {"rx_crc_errors_phy": 20}}, 5, Override("nic-errors", "damaged", 2))
    assert found.status is Status.WARN


def test_one_look_tells_totals_and_no_verdict(counted: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(counted({"ens1np0": {"rx_crc_errors_phy": 9, "rx_symbol_err_phy": 0}}))
    assert (found.status, found.summary) == (
        Status.INFO,
        "one look is no verdict; since the driver was loaded: rx_crc_errors_phy 9",
    )
    (found,) = examine(counted({"ens1np0": {"rx_crc_errors_phy": 0}}))
    assert (found.status, found.summary) == (Status.NA, "one look is no verdict")


def test_a_driver_that_was_loaded_anew_counts_from_none(
    counted: Callable[..., Inventory], examine: Callable[..., Any]
) -> None:
    before = counted({"ens1np0": {"rx_crc_errors_phy": 900}})
    (found,) = examine(counted({"ens1np0": {"rx_crc_errors_phy": 3}}, 5), before=before)
    assert found.status is Status.NA


def test_counters_that_could_not_be_read(counted: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    problem = Problem("port_counters", "hung", "ethtool did not return", "ens1np0")
    (found,) = examine(counted({})._replace(problems=(problem,)), before=counted({}))
    assert (found.status, found.reason, found.summary) == (Status.UNKNOWN, "hung", "ethtool did not return")
