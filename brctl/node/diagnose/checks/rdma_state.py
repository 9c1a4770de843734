"""Every RDMA port that is in use has a link, and an InfiniBand port a subnet manager.

Ports that the config names are for nic-speed. Of the others one without a link is critical where most ports of its card
type have one, and noted where they have not: then nobody may have meant it to be used, as where it is switched off
(`Disabled` on InfiniBand, an interface that is down on Ethernet). A physical link that is not active (`INIT`, `ARMED`)
waits for the subnet manager. In the first minutes after boot all that is only noted. The rate of a port without a link
is a placeholder, and is not judged.
"""

from typing import Iterator, List, Sequence, Tuple

from ... import ports
from ...ports import Port
from ...report import Evidence, Finding, Status
from .. import Case, Check
from ..hosts import BOOT_GRACE, is_booting

_NO_LINK = "see `ethtool -m` or `mlxlink -m` for light and module; swap cable or module, then look at the switch port"
_NO_MANAGER = "see that a subnet manager runs and sees the port: `sminfo`, `ibdiagnet`; then the switch's log"


def run(case: Case) -> Iterator[Finding]:
    known = [port for port in ports.ports(case.seen) if port.rdma and port.rdma.state and not port.is_virtual]
    declared = ports.expected(case.seen, case.want) if case.want.nics and case.want.nics.interfaces else ()
    named = {port.subject for port in declared}
    mine = [port for port in known if port.subject not in named and not _off(port)]
    if not mine:
        yield CHECK.finding(Status.NA, "no RDMA port beside those that the config names")
        return
    found = [(port, *_fault(port)) for port in mine]
    bad = [(port, text, remedy) for port, text, remedy in found if text]
    yield from (_finding(case, known, port, text, remedy) for port, text, remedy in bad)
    if not bad:
        yield CHECK.finding(Status.PASS, "{} RDMA ports are active".format(len(mine)))


def _off(port: Port) -> bool:
    """Whether somebody switched it off, or nobody on."""
    if port.kind == "infiniband":
        return bool(port.rdma and port.rdma.physical_state == "Disabled")
    return port.nic is not None and port.nic.carrier is None


def _fault(port: Port) -> Tuple[str, str]:
    rdma = port.rdma
    if rdma is None or rdma.state == "ACTIVE":
        return "", ""
    if rdma.physical_state == "LinkUp" and port.kind == "infiniband":
        return "it has a link and waits for a subnet manager ({})".format(rdma.state), _NO_MANAGER
    return "no link ({}, {})".format(rdma.state, rdma.physical_state), _NO_LINK


def _finding(case: Case, known: Sequence[Port], port: Port, text: str, remedy: str) -> Finding:
    kin: List[Port] = [other for other in known if other.card == port.card]
    active = [other for other in kin if other.rdma and other.rdma.state == "ACTIVE"]
    booting = is_booting(case)
    meant = 2 * len(active) > len(kin) or remedy == _NO_MANAGER
    status = Status.CRIT if meant and not booting else Status.INFO
    summary = "{}: {}{}".format(port.subject.name, text, ", within minutes of the boot" if booting else "")
    path = "/sys/class/infiniband/{}/ports/{}/state".format(port.rdma.device, port.rdma.port) if port.rdma else ""
    evidence = (
        Evidence("state", "{}, {}".format(port.rdma.state, port.rdma.physical_state) if port.rdma else "", path),
        Evidence("like ports", "{} of {} active".format(len(active), len(kin)), "/sys/class/infiniband"),
    )
    return CHECK.finding(status, summary, port.subject, evidence, remedy if status is Status.CRIT else None)


CHECK = Check(
    id="rdma-state",
    title="Every RDMA port in use has a link",
    tags=("health",),
    needs=("rdma",),
    run=run,
    thresholds=(BOOT_GRACE,),
    reads=("nics", "pci", "kernel"),
    group="network",
    after=("nic-speed", "nic-firmware-error", "pcie-aer"),
)
