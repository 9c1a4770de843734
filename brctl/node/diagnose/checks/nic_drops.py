"""No port drops packets, or has to send them again, at a high rate.

Judged by growth between two looks; totals since the driver was loaded say nothing. Each kind of loss has another cause,
so each has a limit and a remedy of its own: discards are for lack of buffers at this port, time-outs and gaps are the
path's, an allowance is the cloud's.
"""

from typing import Sequence

from ...report import Finding
from .. import Case, Check, Threshold
from ..port_rates import Loss, judged

_ROOM = "see nic-rings and nic-pcie, the CPUs that serve its queues, and nic-priority: a lossless class holds it back"
_PATH = "packets are lost between the two ends: see nic-lossless, nic-mtu and the switches; `brctl diagnose comm`"
_LOSSES = (
    Loss(
        "discarded",
        "packets are dropped for lack of buffers",
        ("rx_discards_phy", "tx_discards_phy", "rx_out_of_buffer", "rx_total_discard_pkts", "tx_total_discard_pkts",
         "statistics/rx_missed_errors", "counters/port_xmit_discards", "hw_counters/out_of_buffer",
         "hw_counters/rx_roce_discards", "hw_counters/tx_roce_discards", "hw_counters/rx_drops"),
        _ROOM,
    ),
    Loss(
        "timeouts",
        "acknowledgements do not come in time",
        ("hw_counters/local_ack_timeout_err", "hw_counters/to_retransmits", "hw_counters/retrans_timeout_events",
         "hw_counters/unresponsive_remote_events"),
        _PATH,
    ),
    Loss(
        "gaps",
        "packets are missing in the sequence",
        ("hw_counters/packet_seq_err", "hw_counters/out_of_sequence", "hw_counters/seq_err_naks_rcvd",
         "hw_counters/oos_drop_count"),
        _PATH,
    ),
    Loss(
        "capped",
        "the cloud holds packets back: the instance's allowance is used up",
        ("bw_in_allowance_exceeded", "bw_out_allowance_exceeded", "pps_allowance_exceeded",
         "conntrack_allowance_exceeded"),
        "spread the load, or take an instance type with more network",
    ),
)  # fmt: skip


def run(case: Case) -> Sequence[Finding]:
    return judged(CHECK, case, _LOSSES, "no drops or repeats at a rate that counts", "what it drops")


CHECK = Check(
    id="nic-drops",
    title="No port drops or repeats packets at a high rate",
    tags=("health", "counter"),
    needs=("port_counters",),
    run=run,
    thresholds=(
        Threshold("discarded", 100, "a second", "NVSentinel's NIC monitor: port_xmit_discards above 100/s"),
        Threshold("timeouts", 1, "a second", "NVSentinel's NIC monitor: local_ack_timeout_err above 1/s"),
        Threshold("gaps", 100, "a second", "As many as of discards: each is a packet that somebody discarded."),
        Threshold("capped", 100, "a second", "As many as of discards; AWS' documentation of ENA metrics gives none."),
    ),
    reads=("nics", "rdma"),
    group="network",
    after=("nic-firmware-error", "pcie-aer", "nic-flaps", "nic-errors", "nic-rings", "nic-pcie", "nic-lossless"),
)
