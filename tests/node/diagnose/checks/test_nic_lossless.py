from typing import Any, Callable, Dict, Optional, Tuple

import pytest

from brctl.node.facts import LinkSettings
from brctl.node.report import Status

MB = 10**6


def traffic(rdma_mb: int, **priorities: int) -> Dict[str, Dict[str, int]]:
    """Counters of one rail, by `prio3=100` in MB."""
    by_priority = {"rx_{}_bytes".format(name): amount * MB for name, amount in priorities.items()}
    return {"ens3np0": by_priority, "mlx5_2": {"counters/port_rcv_data": rdma_mb * MB // 4}}


@pytest.mark.parametrize(
    ("counts", "pfc", "status"),
    [
        (traffic(500, prio0=500, prio3=0), None, Status.WARN),
        (traffic(500, prio0=500, prio3=0), (3,), Status.WARN),
        (traffic(500, prio0=0, prio3=500), None, Status.PASS),
        (traffic(500, prio0=5000, prio3=500), (3,), Status.PASS),
        (traffic(500, prio5=500, prio3=0), (5,), Status.PASS),
        (traffic(500, prio5=500, prio3=0), (3,), Status.WARN),
        (traffic(500, prio3=500), (), Status.WARN),
        (traffic(0, prio0=500, prio3=0), None, Status.NA),
    ],
)
def test_where_the_traffic_is(
    grow: Callable[..., Any], counts: Any, pfc: Optional[Tuple[int, ...]], status: Status
) -> None:
    (found,) = grow(counts, 5, link_settings=(LinkSettings("ens3np0", lossless=pfc),))
    assert found.status is status
    if status is Status.WARN:
        assert found.summary.startswith("ens3np0: RoCE traffic is not on the PFC priority, but on priority ")
        assert "DSCP" in found.remedy
        assert "MTU" not in found.remedy


def test_infiniband_has_no_priorities_of_ethernet(grow: Callable[..., Any], dgx: Any) -> None:
    ports = tuple(port._replace(link_layer="InfiniBand") for port in dgx.rdma)
    assert grow(traffic(500, prio0=500), 5, rdma=ports)[0].status is Status.NA


def test_names_of_bnxt(grow: Callable[..., Any]) -> None:
    counts = {
        "ens3np0": {"rx_bytes_pri0": 500 * MB, "rx_bytes_pri3": 0},
        "mlx5_2": {"counters/port_xmit_data": 100 * MB},
    }
    (found,) = grow(counts)
    assert (found.status, found.evidence[-1].value) == (Status.WARN, "not told; 3 is usual")
