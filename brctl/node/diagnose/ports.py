"""Network ports as parts that a check judges."""

from fnmatch import fnmatchcase
from typing import Any, NamedTuple, Optional, Sequence, Tuple

from ..facts import Inventory, Nic, RdmaPort
from ..report import Subject
from ..request import Expected, ExpectedNics
from .parts import Part

DOWN = "administratively down"


class Port(NamedTuple):
    """An interface of the kernel, the RDMA port on it, or both: InfiniBand needs no interface."""

    nic: Optional[Nic]
    rdma: Optional[RdmaPort]
    card: Any
    """Equal for ports of one type of card: PCI ids, board id, driver."""

    @property
    def subject(self) -> Subject:
        if self.nic:
            return Subject("nic", self.nic.name, self.nic.name)
        return Subject("rdma", self.device, self.device)

    @property
    def device(self) -> str:
        """The RDMA device, its port added where that is not the first; empty where there is none."""
        if self.rdma is None:
            return (self.nic.rdma if self.nic else None) or ""
        return self.rdma.device if self.rdma.port == 1 else "{}/{}".format(self.rdma.device, self.rdma.port)

    @property
    def kind(self) -> str:
        """`infiniband`, `roce`, or `ethernet` without RDMA."""
        if self.rdma and self.rdma.link_layer == "InfiniBand":
            return "infiniband"
        return "roce" if self.device else "ethernet"

    @property
    def fault(self) -> Optional[str]:
        """Why there is no link; None where there is one. InfiniBand's is the port's: its interface may well be down."""
        if self.kind == "infiniband" and self.rdma:
            up = self.rdma.state == "ACTIVE"
            return None if up else "no link ({}, {})".format(self.rdma.state, self.rdma.physical_state)
        if self.nic is None or self.nic.carrier is None:
            return DOWN
        return None if self.nic.carrier else "no link"

    @property
    def speed_mbps(self) -> Optional[int]:
        if self.kind == "infiniband" and self.rdma:
            return None if self.rdma.rate_gbps is None else int(self.rdma.rate_gbps * 1000)
        return self.nic.speed_mbps if self.nic else None

    def path(self, attribute: str, of_port: str = "") -> str:
        """Where the kernel shows an attribute of the interface; of the port, where InfiniBand is judged by that."""
        if self.rdma and of_port and self.kind == "infiniband":
            return "/sys/class/infiniband/{}/ports/{}/{}".format(self.rdma.device, self.rdma.port, of_port)
        return "/sys/class/net/{}/{}".format(self.subject.name, attribute)

    def part(self, value: Any, text: str, source: str, kin: Any = None) -> Part:
        """With a value of None, `text` says why this port is not judged."""
        return Part(self.subject, value, text, source, kin)


def ports(seen: Inventory) -> Tuple[Port, ...]:
    """All interfaces, then the InfiniBand ports that have none."""
    rdma = seen.rdma or ()
    found = [Port(nic, _rdma_of(nic, rdma), None) for nic in seen.nics or ()]
    taken = [port.rdma for port in found]
    found += [Port(None, port, None) for port in rdma if port.link_layer == "InfiniBand" and port not in taken]
    return tuple(port._replace(card=_card(port, seen)) for port in found)


def named(seen: Inventory, patterns: str) -> Tuple[Port, ...]:
    """Ports whose interface or RDMA device fits one of the patterns, comma between them.

    A pattern names hardware and bonds; what else fits it (a VLAN `ens1np0.7`, a veth) must be named in full.
    """
    wanted = [pattern.strip() for pattern in patterns.split(",")]
    return tuple(port for port in ports(seen) if any(_fits(port, pattern) for pattern in wanted))


def expected(seen: Inventory, want: Expected) -> Tuple[Port, ...]:
    """The ports of `hardware.nics`. Where it names none: the physical ones with RDMA; without any, and if something is
    declared of them, every physical one. So a laptop's or a virtual machine's interfaces are judged by nobody."""
    nics = want.nics or ExpectedNics()
    if nics.interfaces is not None:
        return named(seen, nics.interfaces)
    physical = [port for port in ports(seen) if port.nic is None or port.nic.kind == "physical"]
    with_rdma = tuple(port for port in physical if port.device)
    return with_rdma or (tuple(physical) if want.nics else ())


def rate(speed_mbps: int) -> str:
    """`400 Gb/s`"""
    return "{:g} Gb/s".format(speed_mbps / 1000) if speed_mbps >= 1000 else "{} Mb/s".format(speed_mbps)


def _rdma_of(nic: Nic, rdma: Sequence[RdmaPort]) -> Optional[RdmaPort]:
    for port in rdma:
        # A port of a bond belongs to the bond's interface, not to the cards under it.
        if port.netdev == nic.name or (port.netdev is None and port.device == nic.rdma):
            return port
    return None


def _card(port: Port, seen: Inventory) -> Any:
    address = port.nic.pci if port.nic else port.rdma.pci if port.rdma else None
    ids = [(device.vendor_id, device.device_id) for device in seen.pci or () if device.address == address]
    board = port.rdma.board_id if port.rdma else None
    return tuple(ids), board, port.nic.driver if port.nic else None


def _fits(port: Port, pattern: str) -> bool:
    names = [name for name in (port.nic.name if port.nic else "", port.device) if name]
    hardware = port.nic is None or port.nic.kind in ("physical", "bond")
    return any(name == pattern or (hardware and fnmatchcase(name, pattern)) for name in names)
