from typing import Any, Callable, Dict

import pytest

from brctl.node.report import Status


@pytest.mark.parametrize(
    ("growth", "seconds", "status", "summary"),
    [
        ({"carrier_changes": 2}, 5, Status.INFO, "ens3np0: its link was lost 1 time since the first sample"),
        ({"link_down_events_phy": 1}, 3 * 3600, Status.INFO, "ens3np0: its link was lost 1 time since the first"),
        ({"link_down_events_phy": 2, "carrier_changes": 5}, 5, Status.INFO, "ens3np0: its link was lost 2 times since"),
        ({"link_down_events_phy": 3, "carrier_changes": 2}, 5, Status.WARN, "ens3np0: its link was lost 3 times since"),
        ({"carrier_changes": 6}, 11 * 3600, Status.WARN, "ens3np0: its link was lost 3 times since the first sample"),
        ({"link_down_events_phy": 4}, 86400, Status.INFO, "ens3np0: its link was lost 4 times since the first sample"),
        ({"link_down_events_phy": 5}, 86400, Status.INFO, "ens3np0: its link was lost 5 times since the first sample"),
        ({"link_down_events_phy": 6}, 86400, Status.WARN, "ens3np0: its link was lost 6 times since the first sample"),
        ({"carrier_changes": 1}, 5, Status.PASS, "1 of 1 ports: the link stayed"),
        ({"carrier_changes": 0, "link_down_events_phy": 0}, 5, Status.PASS, "1 of 1 ports: the link stayed"),
        ({"rx_discards_phy": 9}, 5, Status.NA, "no port tells how often its link was lost"),
    ],
)
def test_losses_by_twelve_hours(
    grow: Callable[..., Any], growth: Dict[str, int], seconds: float, status: Status, summary: str
) -> None:
    (found, *_) = grow({"ens3np0": growth}, seconds)
    assert found.status is status
    assert found.summary.startswith(summary)
    assert (found.remedy is not None) == (status is Status.WARN)


def test_an_infiniband_port_counts_for_its_interface(grow: Callable[..., Any]) -> None:
    (found,) = grow({"mlx5_2": {"counters/link_downed": 3}})
    assert (found.status, found.subject.name) == (Status.WARN, "ens3np0")
    assert found.evidence[0].value == "+3 in 5 s, since the first sample"
