from typing import Any, Callable, Dict

import pytest

from brctl.node.report import Status

MARKED, SENT = "hw_counters/np_ecn_marked_roce_packets", "hw_counters/np_cnp_sent"
HANDLED, IGNORED = "hw_counters/rp_cnp_handled", "hw_counters/rp_cnp_ignored"
RECEIVED, TRANSMITTED = "counters/port_rcv_packets", "counters/port_xmit_packets"


@pytest.mark.parametrize(
    ("counts", "status", "words"),
    [
        ({MARKED: 900, SENT: 900, RECEIVED: 10**5}, Status.PASS, "hardly any congestion"),
        ({MARKED: 5000, SENT: 5000, RECEIVED: 10**5}, Status.WARN, "5.0% of what it receives was marked"),
        ({HANDLED: 5000, TRANSMITTED: 10**5}, Status.WARN, "for 5.0% of what it sends it is asked to slow down"),
        ({MARKED: 5000, SENT: 0, RECEIVED: 10**9}, Status.WARN, "it sends no notifications"),
        ({HANDLED: 0, IGNORED: 100}, Status.WARN, "notifications are ignored"),
        ({"hw_counters/rx_ecn_marked_pkts": 5000, RECEIVED: 10**5}, Status.WARN, "was marked by switches"),
        ({MARKED: 1, SENT: 1, RECEIVED: 10}, Status.PASS, "hardly any congestion"),
        ({RECEIVED: 10}, Status.NA, "no port tells of congestion"),
    ],
)
def test_marks_and_notifications(grow: Callable[..., Any], counts: Dict[str, int], status: Status, words: str) -> None:
    (found,) = grow({"mlx5_2": counts})
    assert found.status is status
    assert words in found.summary


def test_on_infiniband_it_is_of_no_interest(grow: Callable[..., Any], dgx: Any) -> None:
    ports = tuple(port._replace(link_layer="InfiniBand") for port in dgx.rdma)
    assert grow({"mlx5_2": {MARKED: 5000, SENT: 0, RECEIVED: 10**5}}, 5, rdma=ports)[0].status is Status.NA
