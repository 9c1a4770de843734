"""Every RDMA card's PCIe link is as wide and fast as the card can, and carries what its network links do.

A link that lost lanes or trained at a lower generation is a warning; so is one that is narrower than the sum of the
card's network links: the slot, and no cable, is then the limit. PCIe's own headers take about a tenth.
"""

from typing import Dict, Iterator, List, Optional, Sequence

from ... import ports
from ...facts import PciDevice
from ...ports import Port
from ...report import Evidence, Finding, Status, Subject
from ...units import rate
from .. import Case, Check, Threshold

_ENCODING = {2.5: 0.8, 5.0: 0.8}
"""8b/10b; 128b/130b from 8 GT/s on, and FLITs of PCIe 6 lose as little (PCI Express Base Specification)."""
_LATER = 128 / 130
_REMEDY = "reseat the card, see the kernel log for AER of the port above, and the BIOS for the slot's bifurcation"
_SLOT = "move it to a slot of more lanes or a later generation, or use one of its ports alone"


def run(case: Case) -> Iterator[Finding]:
    devices = {device.address: device for device in case.seen.pci or ()}
    cards: Dict[str, List[Port]] = {}
    for port in ports.ports(case.seen):
        address = (port.nic.pci if port.nic else None) or (port.rdma.pci if port.rdma else None)
        if address in devices and port.rdma and not port.is_virtual:
            cards.setdefault(str(address).rpartition(".")[0], []).append(port)
    told = [(devices[_address(mine)], mine) for mine in cards.values() if devices[_address(mine)].link_width]
    if not told:
        yield CHECK.finding(Status.NA, "no RDMA card tells its PCIe link")
        return
    bad = [finding for device, mine in told for finding in [_judge(case, device, mine)] if finding]
    yield from bad
    if not bad:
        kinds = sorted({_text(device) for device, _ in told})
        yield CHECK.finding(Status.PASS, "{} RDMA cards: PCIe {}".format(len(told), ", ".join(kinds)))


def _address(mine: Sequence[Port]) -> str:
    first = mine[0]
    return (first.nic.pci if first.nic else None) or (first.rdma.pci if first.rdma else None) or ""


def _judge(case: Case, device: PciDevice, mine: Sequence[Port]) -> Optional[Finding]:
    name, subject = mine[0].subject.name, mine[0].subject
    narrow = (device.link_width or 0) < (device.max_link_width or 0)
    slow = (device.link_speed_gts or 0) < (device.max_link_speed_gts or 0)
    if narrow or slow:
        summary = "{}: PCIe {}, and the card can {}".format(name, _text(device), _text(device, most=True))
        return _finding(summary, subject, device, (), _REMEDY)
    network = sum(port.speed_mbps or 0 for port in mine if not port.fault)
    room = _mbps(device) * case.thresholds["efficiency"] / 100
    if not room or network <= room:
        return None
    form = "{}: its network links of {} want more than PCIe {} carries ({:.0f} Gb/s)"
    summary = form.format(name, rate(network), _text(device), room / 1000)
    links = tuple(Evidence(port.subject.name, rate(port.speed_mbps or 0), port.path("speed", "rate")) for port in mine)
    return _finding(summary, subject, device, links, _SLOT)


def _finding(summary: str, subject: Subject, device: PciDevice, more: "Sequence[Evidence]", remedy: str) -> Finding:
    source = "/sys/bus/pci/devices/{}/current_link_speed, current_link_width".format(device.address)
    return CHECK.finding(Status.WARN, summary, subject, (Evidence("PCIe link", _text(device), source), *more), remedy)


def _mbps(device: PciDevice) -> float:
    speed = device.link_speed_gts or 0.0
    return speed * _ENCODING.get(speed, _LATER) * (device.link_width or 0) * 1000


def _text(device: PciDevice, most: bool = False) -> str:
    speed, width = device.link_speed_gts, device.link_width
    if most:
        speed, width = device.max_link_speed_gts, device.max_link_width
    return "x{} at {:g} GT/s".format(width, speed or 0)


CHECK = Check(
    id="nic-pcie",
    title="Every RDMA card's PCIe link carries its network links",
    tags=("health",),
    needs=("pci",),
    run=run,
    thresholds=(
        Threshold(
            "efficiency",
            90,
            "percent",
            "With the usual payload of 256 bytes, headers and acknowledgements take 24 and more of 280 bytes (PCI "
            "Express Base Specification, TLP header, sequence number, LCRC, framing).",
        ),
    ),
    reads=("nics", "rdma"),
    group="network",
    after=("pcie-aer",),
)
