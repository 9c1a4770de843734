"""RDMA ports: InfiniBand and RoCE."""

from typing import Iterator, Optional, Tuple

from ..deadline import CALL_LIMIT_S
from ..facts import Gid, RdmaPort
from ..host import Host, read_if_valid
from .pci import function_above

_RDMA = "/sys/class/infiniband"
_NET = "/sys/class/net"
_MTUS = (4096, 2048, 1024, 512, 256)
_ROCE_OVERHEAD_BYTES = 96
"""GRH 40, UDP 8, BTH 12, XRC 4, atomic 28 and ICRC 4 bytes: iboe_get_mtu in include/rdma/ib_addr.h."""


def read(host: Host) -> Optional[Tuple[RdmaPort, ...]]:
    """Sorted by device and port; None where the kernel has no RDMA. Raises OSError, ValueError, HungError."""
    devices = host.listdir(_RDMA)
    if devices is None:
        return None
    return tuple(port for device in devices for port in _read_ports(host, device))


def parse_state(text: str) -> str:
    """`4: ACTIVE` is `ACTIVE`."""
    return text.partition(":")[2].strip()


def parse_rate(text: str) -> float:
    """Gb/s of `400 Gb/sec (4X NDR)`. Raises ValueError."""
    return float(text.split(" ")[0])


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


def _read_ports(host: Host, device: str) -> Iterator[RdmaPort]:
    folder = _RDMA + "/" + device
    firmware, board, hca = (host.read(folder + "/" + name) for name in ("fw_ver", "board_id", "hca_type"))
    for port in sorted(host.listdir(folder + "/ports") or (), key=int):
        here = folder + "/ports/" + port + "/"
        state, physical = host.read(here + "state"), host.read(here + "phys_state")
        link_layer, rate = host.read(here + "link_layer"), host.read(here + "rate")
        if state is None or physical is None or link_layer is None or rate is None:  # taken away just now
            continue
        netdev = _netdev(host, device, port)
        yield RdmaPort(
            device=device,
            port=int(port),
            state=parse_state(state),
            physical_state=parse_state(physical),
            rate_gbps=parse_rate(rate) if parse_state(state) == "ACTIVE" else None,
            link_layer=link_layer.strip(),
            rdma_mtu=_rdma_mtu(host, device, port, link_layer.strip(), netdev),
            firmware=firmware.strip() if firmware else None,
            board_id=board.strip() if board else None,
            hca_type=hca.strip() if hca else None,
            pci=function_above(host.readlink(folder) or ""),
            netdev=netdev,
            gids=tuple(_read_gids(host, here)),
        )


def _netdev(host: Host, device: str, port: str) -> Optional[str]:
    """The interface of a port: a bond's, where its ports are aggregated; else the one on the same PCI function."""
    named = read_if_valid(host, "{}/{}/ports/{}/gid_attrs/ndevs/0".format(_RDMA, device, port))
    if named:
        return named.strip()
    names = host.listdir("{}/{}/device/net".format(_RDMA, device)) or ()
    if len(names) == 1:
        return names[0]
    numbers = {host.read(_NET + "/" + name + "/dev_port"): name for name in names}
    return numbers.get("{}\n".format(int(port) - 1))


def _rdma_mtu(host: Host, device: str, port: str, link_layer: str, netdev: Optional[str]) -> Optional[int]:
    if link_layer == "Ethernet":
        mtu = host.read(_NET + "/" + netdev + "/mtu") if netdev else None
        return roce_mtu(int(mtu)) if mtu else None
    answer = host.run(["ibv_devinfo", "-d", device, "-i", port], CALL_LIMIT_S)
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
