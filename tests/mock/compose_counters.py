"""Counters of a machine as they stand at one moment, for the composed machines: all of them are our own. With the fault
`busy` they grow (brctl/mock/busy.py)."""

from collections.abc import Sequence
from typing import Any

from compose_parts import Files, Interface, with_rdma

_NET_HEAD = (
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier "
    "compressed\n"
)
_SENT, _PACKET = 84_190_310_577_132, 4105
"""Bytes over an interface of 400 Gb/s that is up, and in a packet."""
_FASTEST_MBPS = 400_000
_RDMA_COUNTERS = ("port_xmit_wait", "port_xmit_discards", "port_rcv_errors", "symbol_error", "link_downed",
                  "link_error_recovery")  # fmt: skip
_RDMA_HARDWARE = ("packet_seq_err", "local_ack_timeout_err", "out_of_sequence", "out_of_buffer", "rnr_nak_retry_err",
                  "np_cnp_sent", "rp_cnp_handled", "np_ecn_marked_roce_packets", "roce_adp_retrans")  # fmt: skip
_SNMP = """\
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs \
RetransSegs InErrs OutRsts InCsumErrors
Tcp: 1 200 120000 -1 91822 30411 211 97 164 892715104 901337286 4127 0 802 0
"""
_PRESSURE = "some avg10=0.00 avg60=0.00 avg300=0.00 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total={}\n"
_DISK = "   259       0 {} 1482306 0 88210144 311284 9023111 0 1511204480 8120117 0 4011820 8431401 0 0 0 0 0 0\n"
_TIB = 1 << 40


def counters(interfaces: Sequence[Interface], disks: Sequence[str], cpus: int) -> Files:
    """Of /proc and /sys. `cpus`: how many threads."""
    ticks = 181_440_000 * cpus // 224
    files: Files = {
        "/proc/net/dev": _NET_HEAD + "".join(map(_interface, interfaces)),
        "/proc/net/snmp": _SNMP,
        "/proc/stat": f"cpu  {ticks} 1200 {ticks // 9} {ticks * 100} 90211 0 8112 0 0 0\nctxt 81120117\n",
        "/proc/loadavg": "2.14 2.20 2.31 3/2911 88211\n",
        "/proc/vmstat": "nr_free_pages 496642937\noom_kill 0\n",
        "/proc/diskstats": "".join(map(_DISK.format, disks)),
        "/proc/pressure/cpu": _PRESSURE.format(8120117, 0),
        "/proc/pressure/memory": _PRESSURE.format(0, 0),
        "/proc/pressure/io": _PRESSURE.format(9421804, 7212093),
    }
    for number, one in enumerate(with_rdma(interfaces)):
        files |= _rdma(f"mlx5_{number}", one)
    for one in interfaces:
        if one.pci:
            files[f"{one.pci.folder}/net/{one.name}/carrier_changes"] = "3\n"
    return files


def space(mounts: str) -> dict[str, list[int]]:
    """Of the file systems on disks and servers: size, free, available, inodes, free ones."""
    found: dict[str, list[int]] = {}
    for line in mounts.splitlines():
        source, target, kind, *_ = line.split()
        if kind in ("ext4", "xfs", "vfat", "nfs4", "lustre"):
            size = 512 << 20 if kind == "vfat" else 200 * _TIB if ":" in source else 28 * _TIB
            inodes = 0 if kind == "vfat" else size >> 14
            found[target] = [size, size // 10 * 7, size // 10 * 6, inodes, inodes // 10 * 9]
    return found


def sensors() -> Files:
    """A board's management controller shows what it measures."""
    folder = "/sys/class/hwmon/hwmon0"
    values: dict[str, Any] = {
        "name": "power_meter",
        "temp1_label": "Inlet",
        "temp1_input": 24000,
        "fan1_label": "Fan 1",
        "fan1_input": 8820,
        "power1_average": 3_120_000_000,
    }
    return {f"{folder}/{name}": f"{value}\n" for name, value in values.items()}


def _interface(one: Interface) -> str:
    sent = _SENT * one.speed // _FASTEST_MBPS if one.state == "up" else 0
    packets = sent // _PACKET
    return f"{one.name:>6}: {sent} {packets} 0 0 0 0 0 0 {sent} {packets} 0 0 0 0 0 0\n"


def _rdma(name: str, interface: Interface) -> Files:
    assert interface.pci
    port = f"{interface.pci.folder}/infiniband/{name}/ports/1"
    sent = _SENT * (interface.speed or _FASTEST_MBPS) // _FASTEST_MBPS // 4 if interface.gids else 0  # 32-bit words
    values = dict.fromkeys((f"counters/{one}" for one in _RDMA_COUNTERS), 0)
    values |= dict.fromkeys((f"hw_counters/{one}" for one in _RDMA_HARDWARE), 0)
    values |= {f"counters/port_{way}_data": sent for way in ("xmit", "rcv")}
    values |= {f"counters/port_{way}_packets": sent * 4 // _PACKET for way in ("xmit", "rcv")}
    return {f"{port}/{file}": f"{value}\n" for file, value in values.items()}
