"""Congestion control of RoCE works, and has little to do.

A switch marks packets (ECN) where its queue grows, the receiver answers with a notification (CNP), and the sender slows
down. Many marks say that receivers or links are overloaded. Marks without notifications, or notifications that are
ignored, say that the control is off at this port, and then queues grow until PFC or drops stop them.
"""

from typing import Optional, Sequence

from ...report import Finding, Status
from .. import Case, Check, Threshold
from ..growth import sustained
from ..port_looks import Look, judge
from ..verdicts import WELL, Verdict

_MARKED = ("hw_counters/np_ecn_marked_roce_packets", "hw_counters/rx_ecn_marked_pkts")
_ANSWERED = ("hw_counters/np_cnp_sent", "hw_counters/tx_cnp_pkts")
_HANDLED = ("hw_counters/rp_cnp_handled", "hw_counters/rx_cnp_pkts")
_IGNORED = ("hw_counters/rp_cnp_ignored",)
_RECEIVED, _SENT = ("counters/port_rcv_packets",), ("counters/port_xmit_packets",)
_LEAST = 1000
"""Packets, or marks, of which a share is told: of fewer, one would be a tenth of a percent or more."""
_ENABLE = "enable it on the RDMA priority: /sys/class/net/PORT/ecn/roce_np/enable/3 and roce_rp/enable/3, and at boot"


def run(case: Case) -> Sequence[Finding]:
    return judge(CHECK, case, lambda look: _look(look, case), "hardly any congestion", "of congestion")


def _look(look: Look, case: Case) -> Optional[Verdict]:
    marked, answered = look.amount(*_MARKED), look.amount(*_ANSWERED)
    if look.port.kind != "roce" or (marked is None and look.amount(*_HANDLED) is None):
        return None
    ignored = next((name for name in _IGNORED if name in look.grown), None)
    if ignored and sustained(look.grown[ignored]) > case.thresholds["ignored"]:
        text = "congestion notifications are ignored: it does not slow down"
        return Verdict(Status.WARN, text, look.evidence(ignored, *_HANDLED), _ENABLE)
    if marked and marked > _LEAST and answered == 0:
        text = "packets are marked (ECN), and it sends no notifications: senders do not slow down"
        return Verdict(Status.WARN, text, look.evidence(*_MARKED, *_ANSWERED), _ENABLE)
    limit = case.thresholds["share"] / 100
    for names, all_packets, says in ((_MARKED, _RECEIVED, _INCAST), (_HANDLED, _SENT, _SLOWED)):
        share = _share(look.amount(*names), look.amount(*all_packets))
        if share is not None and share > limit:
            told = look.evidence(*names, *all_packets)
            return Verdict(Status.WARN, says.format(share), told, _REMEDY)
    return WELL


_INCAST = "{:.1%} of what it receives was marked by switches: more comes to it than its link takes"
_SLOWED = "for {:.1%} of what it sends it is asked to slow down: a receiver or link on the way is overloaded"
_REMEDY = (
    "find what shares the path: `brctl diagnose comm`; spread flows (NCCL_IB_QPS_PER_CONNECTION, adaptive routing), "
    "and compare the switch's ECN limits with its maker's for RoCE"
)


def _share(part: Optional[float], whole: Optional[float]) -> Optional[float]:
    return part / whole if part is not None and whole and whole >= _LEAST else None


CHECK = Check(
    id="nic-congestion",
    title="Congestion control of RoCE works and has little to do",
    tags=("health", "counter"),
    needs=("port_counters",),
    run=run,
    thresholds=(
        Threshold(
            "share",
            1,
            "percent of packets",
            "Our own, as no maker names one: DCQCN (SIGCOMM 2015) halves a rate for a mark in 50 us, which is one in "
            "some 600 packets at 400 Gb/s; at six times that, senders never reach the link's rate.",
        ),
        Threshold("ignored", 1, "a second", "A port that obeys ignores none (mlx5 counters.rst, rp_cnp_ignored)."),
    ),
    reads=("nics", "rdma"),
    group="network",
    after=("nic-pcie", "nic-pause"),
)
