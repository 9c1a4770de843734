"""Counters of network ports, under the names that the drivers give them: the one home of those that brctl judges."""

import re
import time
from functools import partial
from typing import Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ..facts import Counter, PortCounters
from ..host import Host, if_valid
from .pci import function_above, read_physical_function
from .rows import Reading, Row, collected, run_groups

_NET, _RDMA = "/sys/class/net", "/sys/class/infiniband"

PAUSED = re.compile(
    r"(?:(?P<way>rx|tx)_prio(?P<priority>\d)_pause_duration|pfc_pri(?P<other>\d)_(?P<way2>rx|tx)_duration_us)\Z"
)
"""Microseconds of pause by priority, of mlx5 and of bnxt_en."""
PRIORITY_BYTES = re.compile(r"(?:rx|tx)_(?:prio(\d)_bytes|bytes_pri(\d))\Z")
"""Bytes by priority, of mlx5 and of bnxt_en."""
ETHTOOL = (
    "link_down_events_phy", "rx_crc_errors_phy", "rx_symbol_err_phy", "rx_discards_phy", "tx_discards_phy",
    "rx_out_of_buffer", "tx_pause_storm_warning_events", "tx_pause_storm_error_events", "link_down_events",
    "rx_fcs_err_frames", "rx_total_discard_pkts", "tx_total_discard_pkts", "bw_in_allowance_exceeded",
    "bw_out_allowance_exceeded", "pps_allowance_exceeded", "conntrack_allowance_exceeded",
)  # fmt: skip
"""Of `ethtool -S`: mlx5 (ethernet/mellanox/mlx5/counters.rst), then bnxt_en, then ena (ena.rst)."""
INTERFACE = (
    "carrier_changes", "statistics/rx_packets", "statistics/tx_packets", "statistics/rx_errors", "statistics/tx_errors",
    "statistics/rx_crc_errors", "statistics/rx_missed_errors",
)  # fmt: skip
"""Of /sys/class/net/NAME (ABI/testing/sysfs-class-net, -statistics). rx_dropped is not among them: frames that nobody
wants, such as a switch's LLDP, count there too."""
PORT = tuple("counters/" + name for name in (
    "port_xmit_data", "port_rcv_data", "port_xmit_packets", "port_rcv_packets", "port_xmit_discards",
    "port_rcv_errors", "symbol_error", "link_downed", "link_error_recovery", "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
)) + tuple("hw_counters/" + name for name in (
    "packet_seq_err", "local_ack_timeout_err", "out_of_sequence", "out_of_buffer", "rnr_nak_retry_err", "np_cnp_sent",
    "np_ecn_marked_roce_packets", "rp_cnp_handled", "rp_cnp_ignored",
    "rx_roce_discards", "tx_roce_discards", "seq_err_naks_rcvd", "to_retransmits", "oos_drop_count", "rnr_naks_rcvd",
    "tx_cnp_pkts", "rx_cnp_pkts", "rx_ecn_marked_pkts",
    "rx_drops", "rx_bytes", "tx_bytes", "rx_pkts", "tx_pkts", "retrans_pkts", "retrans_timeout_events",
    "unresponsive_remote_events",
))  # fmt: skip
"""Of /sys/class/infiniband/NAME/ports/N (ABI/stable/sysfs-class-infiniband): all drivers; mlx5_ib; bnxt_re; efa."""
_VALUE = re.compile(r"[0-9]{1,20}\Z")
DATA_WORD_BYTES = 4
"""`port_*_data` counts 32-bit words (InfiniBand specification, PortCounters)."""


def read(host: Host) -> Optional[Reading]:
    """Of each physical interface and RDMA port what its sources tell; None where there is no /sys. Raises OSError.

    Each PCI card is asked in a thread of its own: its firmware may hang.
    """
    names = host.listdir(_NET)
    if names is None:
        return None
    rows: List[Row] = []
    groups: Dict[str, List[Row]] = {}
    reads: Dict[int, _Read] = {}
    for path, port, reading in _sources(host, names):
        row = Row("port_counters", port)
        rows.append(row)
        reads[id(row)] = reading
        groups.setdefault(_card(host, path), []).append(row)
    run_groups(tuple(groups.values()), lambda row: _ask(row, reads[id(row)]))
    return collected(rows)


_Read = Callable[[], Optional[PortCounters]]


def _sources(host: Host, names: Sequence[str]) -> Iterator[Tuple[str, str, _Read]]:
    """Where each is, whose counters it has, and how they are read."""
    for name in names:
        path = "{}/{}".format(_NET, name)
        if host.readlink(path + "/device") is not None:
            yield path, name, partial(_by_ethtool, host, name)
            yield path, name, partial(_by_files, host, name, path, INTERFACE)
    for device in host.listdir(_RDMA) or ():
        path = "{}/{}".format(_RDMA, device)
        for port in host.listdir(path + "/ports") or ():
            name = device if port == "1" else "{}/{}".format(device, port)
            yield path, name, partial(_by_files, host, name, "{}/ports/{}".format(path, port), PORT)


def parse(text: str) -> Tuple[Counter, ...]:
    """Of `ethtool -S` as it was printed, those that are judged."""
    pairs = (line.strip().partition(": ") for line in text.splitlines())
    return chosen({name: int(value) for name, _, value in pairs if _VALUE.match(value)})


def parse_counter(text: str) -> Optional[int]:
    """None for `N/A (no PMA)`, which an InfiniBand port of a virtual function says."""
    text = text.strip()
    return int(text) if text.isdecimal() else None


def pause(name: str) -> Optional[Tuple[str, str]]:
    """`rx` or `tx`, and the priority, of a counter of microseconds of pause."""
    match = PAUSED.match(name)
    if match is None:
        return None
    return match.group("way") or match.group("way2"), match.group("priority") or match.group("other")


def of_priority(name: str) -> Optional[int]:
    """The priority whose bytes a counter counts."""
    match = PRIORITY_BYTES.match(name)
    return int(match.group(1) or match.group(2)) if match else None


def chosen(statistics: Mapping[str, int]) -> Tuple[Counter, ...]:
    """Those of an interface's own statistics that are judged: some 30 of 1500."""
    return tuple(
        Counter(name, value)
        for name, value in statistics.items()
        if name in ETHTOOL or pause(name) or of_priority(name) is not None
    )


def _card(host: Host, path: str) -> str:
    function = function_above(host.readlink(path) or "")
    return (read_physical_function(host, function) or function) if function else path


def _ask(row: Row, read: _Read) -> None:
    row.value = read()


def _by_ethtool(host: Host, name: str) -> Optional[PortCounters]:
    return _counted(name, "ethtool -S " + name, chosen(host.ethtool_statistics(name) or {}))


def _by_files(host: Host, port: str, folder: str, names: Sequence[str]) -> Optional[PortCounters]:
    return _counted(port, folder, tuple(_read(host, folder, names)))


def _counted(port: str, source: str, counters: Tuple[Counter, ...]) -> Optional[PortCounters]:
    return PortCounters(port, source, time.monotonic(), counters) if counters else None


def _read(host: Host, folder: str, names: Sequence[str]) -> Iterator[Counter]:
    for name in names:
        value = read_counter(host, "{}/{}".format(folder, name))
        if value is not None:
            yield Counter(name, value)


def read_counter(host: Host, path: str) -> Optional[int]:
    """None where there is none: no file, or one that the driver does not serve. Raises OSError."""
    return parse_counter(if_valid(host.reread, path) or "")
