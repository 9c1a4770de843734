"""What goes over each RDMA port (InfiniBand and RoCE), and an estimate of what is lost.

Loss is (packet_seq_err + local_ack_timeout_err) / packets sent, since the last look: a gap that the other side found
in the sequence of what we sent, or an acknowledgement that did not come, is at least one packet that was sent and lost.
It is an estimate: one gap may hide several packets, and a late answer is not a lost one. Where fewer than 1000 packets
were sent it is not told.

Files that a port does not have, or that say that it cannot tell, are unsupported; the others go on.
"""

from typing import Dict, Optional, Tuple

from ...host import Host, read_if_valid
from ...probe.port_counters import DATA_WORD_BYTES, read_counter
from .. import Collector, Kind, Reading, Readings
from ..previous import Previous

_RDMA = "/sys/class/infiniband"
LEAST_PACKETS = 1000
"""For a loss to be told: of fewer, one packet would be a tenth of a percent or more."""
_made = Kind("rdma", ("device", "port"))
_COUNTERS = {
    file: _made.counter("rdma_{}_total".format(name), unit, text, "{}/*/ports/*/{}".format(_RDMA, file))
    for file, name, unit, text in (
        ("counters/port_xmit_data", "transmit_bytes", "bytes", "Sent."),
        ("counters/port_rcv_data", "receive_bytes", "bytes", "Received."),
        ("counters/port_xmit_packets", "transmit_packets", "", "Packets sent."),
        ("counters/port_rcv_packets", "receive_packets", "", "Packets received."),
        ("counters/port_xmit_wait", "transmit_wait_ticks", "", "Ticks in which it had data and no credit to send."),
        ("counters/port_xmit_discards", "transmit_discards", "", "Packets that could not be sent."),
        ("counters/port_rcv_errors", "receive_errors", "", "Packets received with errors."),
        ("counters/symbol_error", "symbol_errors", "", "Errors of the physical link."),
        ("counters/link_downed", "link_downed", "", "Times that the link went down."),
        ("counters/link_error_recovery", "link_error_recoveries", "", "Times that the link was trained anew."),
        ("hw_counters/packet_seq_err", "packet_sequence_errors", "", "Gaps that the other side found."),
        ("hw_counters/local_ack_timeout_err", "ack_timeouts", "", "Acknowledgements that did not come in time."),
        ("hw_counters/out_of_sequence", "out_of_sequence_packets", "", "Packets received out of sequence."),
        ("hw_counters/out_of_buffer", "out_of_buffer_drops", "", "Packets dropped for lack of a receive buffer."),
        ("hw_counters/rnr_nak_retry_err", "rnr_naks", "", "Receivers that were not ready."),
        ("hw_counters/np_cnp_sent", "cnp_sent", "", "Congestion notifications sent."),
        ("hw_counters/rp_cnp_handled", "cnp_handled", "", "Congestion notifications obeyed."),
        ("hw_counters/np_ecn_marked_roce_packets", "ecn_marked_packets", "", "Packets that a switch had marked."),
        ("hw_counters/roce_adp_retrans", "adaptive_retransmissions", "", "Retransmissions by the adaptive timer."),
    )
}
_RATES = {
    file: _made.gauge("rdma_{}_bytes_per_second".format(way), "bytes per second", "Since the last look.", _RDMA)
    for file, way in (("counters/port_xmit_data", "transmit"), ("counters/port_rcv_data", "receive"))
}
_LOSS = _made.gauge(
    "rdma_loss_ratio",
    "ratio",
    "An estimate of the packets sent that were lost.",
    "packet_seq_err, local_ack_timeout_err",
)
_UP = _made.gauge("rdma_up", "", "1: the port is active.", _RDMA + "/*/ports/*/state")


def run(host: Host, previous: Previous) -> Readings:
    for device in host.listdir(_RDMA) or ():
        for port in host.listdir("{}/{}/ports".format(_RDMA, device)) or ():
            yield from _port(host, previous, (device, port))


def _port(host: Host, previous: Previous, labels: Tuple[str, str]) -> Readings:
    folder = "{}/{}/ports/{}/".format(_RDMA, *labels)
    state = read_if_valid(host, folder + "state")
    yield Reading(_UP, None if state is None else float("ACTIVE" in state), labels)
    seen: Dict[str, Optional[int]] = {}
    for file, series in _COUNTERS.items():
        try:
            number = read_counter(host, folder + file)
        except OSError:  # broken: it is absent, and costs the others nothing; `diagnose run` tells why
            seen[file] = None
            continue
        seen[file] = number * DATA_WORD_BYTES if number is not None and file.endswith("_data") else number
        yield Reading(series, seen[file], labels)
    for file, series in _RATES.items():
        rate = previous.rate((labels, file), seen[file], bits=66)  # 64 bits of words
        if rate is not None:
            yield Reading(series, rate, labels)
    gaps, late = seen["hw_counters/packet_seq_err"], seen["hw_counters/local_ack_timeout_err"]
    lost = None if gaps is None or late is None else gaps + late
    loss = previous.ratio("/".join(labels), lost, seen["counters/port_xmit_packets"], LEAST_PACKETS)
    if loss is not None:
        yield Reading(_LOSS, min(1.0, loss), labels)


COLLECTOR = Collector(id="rdma", title="RDMA ports and their loss", every_s=1.0, series=tuple(_made.all), of_host=run)
