"""Network ports: an interface, the RDMA port on it, or both; and which of them a pattern or the config means."""

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .facts import Inventory, Nic, PciDevice, Problem, RdmaPort
from .patterns import fits, words
from .report import Subject
from .request import Expected, ExpectedNics
from .siblings import Part

DOWN = "administratively down"

_KINDS = {"InfiniBand": "infiniband", "Ethernet": "roce"}
"""By link layer. AWS's adapter, EFA, has neither."""
_IPOIB_ADDRESS_OCTETS = 20  # RFC 4391
_NOT_THE_KERNELS = ("vfio-pci", "uio_pci_generic", "igb_uio", "pci-stub", "xen-pciback")
"""Drivers that hand a device to a virtual machine or to a program."""


class Port(NamedTuple):
    """An interface of the kernel, the RDMA port on it, or both: InfiniBand and EFA need no interface."""

    nic: Optional[Nic]
    rdma: Optional[RdmaPort]
    kind: str
    """`infiniband`, `efa`, `roce`, or `ethernet` without RDMA."""
    card: Any = None
    """Equal for ports of one type of card: PCI ids, board id, driver."""
    is_virtual: bool = False
    """A virtual function (SR-IOV), which is a virtual machine's or a pod's."""
    problems: Tuple[Problem, ...] = ()

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
        return _name(self.rdma)

    @property
    def judged(self) -> Optional[RdmaPort]:
        """The RDMA port, where that has the link and not the interface, which may well be down."""
        return self.rdma if self.kind in ("infiniband", "efa") else None

    @property
    def fault(self) -> Optional[str]:
        """Why there is no link; None where there is one, or where that could not be read."""
        if self.judged:
            up = self.judged.state in ("ACTIVE", None)
            return None if up else "no link ({}, {})".format(self.judged.state, self.judged.physical_state)
        if self.nic is None or self.nic.carrier is None:
            return None if self.unread("nics", "carrier") else DOWN
        return None if self.nic.carrier else "no link"

    @property
    def speed_mbps(self) -> Optional[int]:
        if self.judged:
            return None if self.judged.rate_gbps is None else int(self.judged.rate_gbps * 1000)
        return self.nic.speed_mbps if self.nic else None

    def unread(self, part: str, *fields: str) -> Optional[Problem]:
        """Why one of these fields of the interface (`nics`) or the RDMA port (`rdma`) could not be read."""
        mine = (problem for problem in self.problems if problem.part == part)
        return next((problem for problem in mine if problem.field in (None, *fields)), None)

    def path(self, attribute: str, of_port: str = "") -> str:
        """Where the kernel shows an attribute of the interface; of the RDMA port, where that is judged."""
        if self.judged and of_port:
            return "/sys/class/infiniband/{}/ports/{}/{}".format(self.judged.device, self.judged.port, of_port)
        return "/sys/class/net/{}/{}".format(self.subject.name, attribute)

    def part(self, value: Any, text: str, source: str, kin: Any = None, unread: Optional[Problem] = None) -> Part:
        """With a value of None, `text` says why this port is not judged, unless it is that it could not be read."""
        if value is None and unread:
            return Part(self.subject, None, unread.message, source, kin, unread.reason)
        return Part(self.subject, value, text, source, kin)


def ports(seen: Inventory) -> Tuple[Port, ...]:
    """All interfaces, then the RDMA ports that need none and have none."""
    facts = _Facts(seen)
    found = [facts.of_nic(nic) for nic in seen.nics or ()]
    taken = {port.device for port in found if port.rdma}
    bare = [port for port in seen.rdma or () if port.link_layer != "Ethernet" and _name(port) not in taken]
    return (*found, *map(facts.of_rdma, bare))


def named(seen: Inventory, patterns: str) -> Tuple[Port, ...]:
    """Ports whose interface or RDMA device fits one of the patterns, comma between them.

    A pattern names hardware and bonds; what else fits it (a VLAN `ens1np0.7`, a veth) must be named in full. Virtual
    functions are meant where a pattern fits nothing else.
    """
    every = ports(seen)
    on_hardware = {port.device for port in every if port.nic is None or port.nic.rdma}
    found = [port for port in every if any(_fits(port, name, patterns) for name in _names(port, on_hardware))]
    whole = [port for port in found if not port.is_virtual or port.subject.name in words(patterns)]
    return tuple(whole or found)


def expected(seen: Inventory, want: Expected) -> Tuple[Port, ...]:
    """The ports of `hardware.nics`. Where it names none: the physical ones with RDMA, without virtual functions;
    without any, and if something is declared of them, every physical one, unless ports are lent. So a laptop's or a
    virtual machine's interfaces are judged by nobody."""
    nics = want.nics or ExpectedNics()
    if nics.interfaces is not None:
        return named(seen, nics.interfaces)
    whole = [port for port in ports(seen) if not port.is_virtual]
    physical = [port for port in whole if port.nic is None or port.nic.kind == "physical"]
    with_rdma = tuple(port for port in physical if port.kind != "ethernet")
    return with_rdma or (tuple(physical) if want.nics and not lent(seen) else ())


def lent(seen: Inventory) -> Tuple[PciDevice, ...]:
    """Network controllers with their driver, and neither an interface nor an RDMA device here: those are in another
    network namespace, most likely a pod's."""
    return tuple(
        device
        for device in absent(seen)
        if device.driver
        and device.driver not in _NOT_THE_KERNELS
        and (device.pci_class == "0200" or seen.rdma is not None)  # else InfiniBand's modules are not loaded
    )


def absent(seen: Inventory) -> Tuple[PciDevice, ...]:
    """Network controllers of which the kernel shows neither an interface nor, but for Ethernet, an RDMA port."""
    shown = {nic.pci for nic in seen.nics or ()}
    shown |= {port.pci for port in seen.rdma or () if port.link_layer != "Ethernet"}
    return tuple(
        device
        for device in seen.pci or ()
        if device.pci_class.startswith("02") and not device.physical_function and device.address not in shown
    )


def unlisted(seen: Inventory) -> Tuple[Problem, ...]:
    """Why interfaces or RDMA ports that are there have no row."""
    listed = {("nics", nic.name) for nic in seen.nics or ()} | {("rdma", _name(port)) for port in seen.rdma or ()}
    return tuple(
        problem
        for problem in seen.problems
        if problem.part in ("nics", "rdma") and problem.subject and (problem.part, problem.subject) not in listed
    )


class _Facts:
    """What a port is told from, found by name."""

    def __init__(self, seen: Inventory) -> None:
        self.nics = {nic.name: nic for nic in seen.nics or ()}
        self.devices = {device.address: device for device in seen.pci or ()}
        self.of_netdev: Dict[str, List[RdmaPort]] = {}
        self.of_device: Dict[str, RdmaPort] = {}
        for port in seen.rdma or ():
            if port.netdev is None:
                self.of_device.setdefault(port.device, port)
            else:
                self.of_netdev.setdefault(port.netdev, []).append(port)
        self.problems: Dict[Tuple[str, Optional[str]], List[Problem]] = {}
        for problem in seen.problems:
            self.problems.setdefault((problem.part, problem.subject), []).append(problem)

    def rdma_of(self, nic: Nic) -> Optional[RdmaPort]:
        """A port of a bond belongs to the bond's interface, not to the cards under it."""
        for port in self.of_netdev.get(nic.name, ()):
            if nic.pci is None or port.pci in (None, nic.pci):  # a pod's interface may have a name of ours
                return port
        return self.of_device.get(nic.rdma) if nic.rdma else None

    def of_nic(self, nic: Nic) -> Port:
        rdma = self.rdma_of(nic)
        device = self.devices.get(nic.pci or "")
        ids = (device.vendor_id, device.device_id) if device else None
        return Port(
            nic,
            rdma,
            self.kind_of(nic),
            card=(ids, rdma.board_id if rdma else None, nic.driver),
            is_virtual=bool(device and device.physical_function),
            problems=self._problems("nics", nic.name) + self._problems("rdma", _name(rdma) if rdma else nic.rdma),
        )

    def of_rdma(self, rdma: RdmaPort) -> Port:
        device = self.devices.get(rdma.pci or "")
        ids = (device.vendor_id, device.device_id) if device else None
        virtual = bool(device and device.physical_function)
        return Port(None, rdma, _kind(rdma), (ids, rdma.board_id, None), virtual, self._problems("rdma", _name(rdma)))

    def kind_of(self, nic: Nic) -> str:
        """That of its RDMA port; without one, that of its bond's, or of what it stands on."""
        of_bond = self.of_netdev.get(nic.master or "", ())
        for rdma in (self.rdma_of(nic), *of_bond):
            if rdma:
                return _kind(rdma)
        if nic.mac and nic.mac.count(":") == _IPOIB_ADDRESS_OCTETS - 1:
            return "infiniband"
        if nic.rdma or nic.kind in ("physical", "bridge"):
            return "roce" if nic.rdma else "ethernet"
        below = (self.kind_of(self.nics[name]) for name in nic.lower if name in self.nics)
        return next((kind for kind in below if kind != "ethernet"), "ethernet")

    def _problems(self, part: str, subject: Optional[str]) -> Tuple[Problem, ...]:
        return tuple(self.problems.get((part, subject), ())) if subject else ()


def _kind(port: RdmaPort) -> str:
    return _KINDS.get(port.link_layer, "efa")


def _name(port: RdmaPort) -> str:
    return port.device if port.port == 1 else "{}/{}".format(port.device, port.port)


def _names(port: Port, on_hardware: "set[str]") -> List[str]:
    """A bond's RDMA device is called after the card that it is on, which is a port too."""
    names = [port.nic.name] if port.nic else []
    if port.device and (port.nic is None or port.nic.rdma or port.device not in on_hardware):
        names.append(port.device)
    return names


def _fits(port: Port, name: str, patterns: str) -> bool:
    hardware = port.nic is None or port.nic.kind in ("physical", "bond")
    return fits(name, patterns) if hardware else name in words(patterns)
