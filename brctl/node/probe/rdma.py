"""RDMA ports: InfiniBand and RoCE."""

import errno
import os
from functools import partial
from typing import Dict, Iterator, List, Optional

from ..deadline import CALL_LIMIT_S
from ..facts import Gid, RdmaPort
from ..host import Host, read_if_valid
from ..units import finite
from .net import is_partition
from .pci import function_above, read_physical_function
from .rows import Reading, Row, collected, run_groups

_RDMA = "/sys/class/infiniband"
_NET = "/sys/class/net"
_MTUS = (4096, 2048, 1024, 512, 256)
_ROCE_OVERHEAD_BYTES = 96
"""GRH 40, UDP 8, BTH 12, XRC 4, atomic 28 and ICRC 4 bytes: iboe_get_mtu in include/rdma/ib_addr.h."""


def read(host: Host) -> Optional[Reading]:
    """Sorted by device and port; None where the kernel has no RDMA. Raises OSError.

    First what the kernel knows by itself; then each card is asked in a thread of its own, for its firmware may hang.
    """
    devices = host.listdir(_RDMA)
    if devices is None:
        return None
    rows: List[Row] = []
    groups: Dict[str, List[Row]] = {}
    for device in devices:
        ports = _rows(host, device)
        rows += ports
        for row in ports:
            if row.value:
                groups.setdefault(_thread_of(row.value, host), []).append(row)
    run_groups(tuple(groups.values()), lambda row: _ask(row, host))
    return collected(rows)


def parse_state(text: str) -> str:
    """`4: ACTIVE` is `ACTIVE`."""
    return text.partition(":")[2].strip()


def parse_rate(text: str) -> float:
    """Gb/s of `400 Gb/sec (4X NDR)`. Raises ValueError."""
    return finite(text.split(" ")[0])


def parse_active_mtu(text: str) -> Optional[int]:
    """Bytes, of the line `active_mtu: 4096 (5)` that ibv_devinfo prints for a port."""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "active_mtu":
            return int(value.split()[0])
    return None


def roce_mtu(interface_mtu: int) -> Optional[int]:
    """The RDMA MTU over an interface, by the kernel's rule; None where not even the least one fits."""
    return next((mtu for mtu in _MTUS if mtu <= interface_mtu - _ROCE_OVERHEAD_BYTES), None)


def is_link_local(gid: Gid) -> bool:
    return gid.gid.lower().startswith("fe80")


def roce_v2_index(port: RdmaPort) -> Optional[int]:
    """The GID that RoCE v2 with IPv4 uses, else the first of RoCE v2 that is not link-local."""
    routable = [gid for gid in port.gids if gid.type == "RoCE v2" and not is_link_local(gid)]
    own = [gid for gid in routable if gid.netdev in (None, port.netdev)] or routable
    mapped = [gid for gid in own if gid.gid.startswith("0000:0000:0000:0000:0000:ffff")]
    return next((gid.gid_index for gid in (*mapped, *own)), None)


def _rows(host: Host, device: str) -> List[Row]:
    """One for each port, with what is known without asking the card."""
    first = Row("rdma", device)
    try:
        ports = sorted(host.listdir(_RDMA + "/" + device + "/ports") or (), key=int)
        pci = function_above(host.readlink(_RDMA + "/" + device) or "")
    except (OSError, ValueError) as error:
        first.note(error)
        return [first]
    rows = [first if port == "1" else Row("rdma", device + "/" + port) for port in ports]
    for row, port in zip(rows, ports):
        row.run(partial(_start, host=host, device=device, port=port, pci=pci))
    return rows


def _start(row: Row, host: Host, device: str, port: str, pci: Optional[str]) -> None:
    folder = _RDMA + "/" + device
    link_layer = host.read(folder + "/ports/" + port + "/link_layer")
    if link_layer is None:  # taken away just now
        return
    row.value = RdmaPort(
        device=device,
        port=int(port),
        state=None,
        physical_state=None,
        rate_gbps=None,
        link_layer=link_layer.strip(),
        rdma_mtu=None,
        firmware=None,
        board_id=None,
        hca_type=None,
        pci=pci,
        netdev=None,
        gids=(),
    )
    row.fill(
        firmware=lambda: _read_word(host, folder + "/fw_ver"),
        board_id=lambda: _read_word(host, folder + "/board_id"),
        hca_type=lambda: _read_word(host, folder + "/hca_type"),
        netdev=lambda: _netdev(host, device, port),
        gids=lambda: tuple(_read_gids(host, folder + "/ports/" + port + "/")),
    )


def _thread_of(port: RdmaPort, host: Host) -> str:
    """Ports of an equal answer share a thread: a device's, and those of the virtual functions of one card."""
    return (read_physical_function(host, port.pci) if port.pci else None) or port.device


def _ask(row: Row, host: Host) -> None:
    port: RdmaPort = row.value
    here = "{}/{}/ports/{}/".format(_RDMA, port.device, port.port)
    row.fill(
        state=lambda: parse_state(_read_needed(host, here + "state")),
        physical_state=lambda: parse_state(_read_needed(host, here + "phys_state")),
        rate_gbps=lambda: parse_rate(_read_needed(host, here + "rate")) if row.value.state == "ACTIVE" else None,
        rdma_mtu=lambda: _rdma_mtu(host, port),
    )


def _read_word(host: Host, path: str) -> Optional[str]:
    return (host.read(path) or "").strip() or None


def _read_needed(host: Host, path: str) -> str:
    text = host.read(path)
    if text is None:
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return text


def _netdev(host: Host, device: str, port: str) -> Optional[str]:
    """The interface of a port: a bond's, where its ports are aggregated; else the one on the same PCI function."""
    named = read_if_valid(host, "{}/{}/ports/{}/gid_attrs/ndevs/0".format(_RDMA, device, port))
    if named:
        return named.strip()
    names = host.listdir("{}/{}/device/net".format(_RDMA, device)) or ()
    names = tuple(name for name in names if not is_partition(host, name))
    if len(names) == 1:
        return names[0]
    wanted = "{}\n".format(int(port) - 1)
    of_port = [name for name in names if host.read(_NET + "/" + name + "/dev_port") == wanted]
    return min(of_port, key=len, default=None)


def _rdma_mtu(host: Host, port: RdmaPort) -> Optional[int]:
    if port.link_layer == "Ethernet":
        mtu = host.read(_NET + "/" + port.netdev + "/mtu") if port.netdev else None
        return roce_mtu(int(mtu)) if mtu else None
    answer = host.run(["ibv_devinfo", "-d", port.device, "-i", str(port.port)], CALL_LIMIT_S)
    return parse_active_mtu(answer.stdout) if answer and answer.returncode == 0 else None


def _read_gids(host: Host, port: str) -> Iterator[Gid]:
    """Those in use: an unused one is all zeros, and its attributes answer EINVAL."""
    for index in sorted(host.listdir(port + "gids") or (), key=int):
        gid = read_if_valid(host, port + "gids/" + index)
        if gid is None or not gid.strip("0:\n"):
            continue
        kind = read_if_valid(host, port + "gid_attrs/types/" + index)
        netdev = read_if_valid(host, port + "gid_attrs/ndevs/" + index)
        yield Gid(int(index), gid.strip(), kind.strip() if kind else None, netdev.strip() if netdev else None)
