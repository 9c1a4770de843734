"""RDMA ports of one kind use the same packet size, and it is no smaller than the interface's MTU allows.

RoCE takes the largest of 256 to 4096 bytes that fits into the interface's MTU with its headers: 1024 of 1500, 4096 of
4200 and more. Two ends that differ agree on the smaller one where they ask each other, and lose packets where not. All
ports at 1024 are only noted: the switches may not do more.
"""

from typing import Sequence

from ... import ports
from ...ports import Port
from ...report import HOST, Evidence, Finding, Status
from ...siblings import Part
from .. import Case, Check
from ..parts import judge_each

_REMEDY = (
    "give the interface an MTU of 4200 at least (9000 is usual), on both ends and the switch: `brctl tune apply`; on "
    "InfiniBand it is the subnet manager's partition that says so"
)
_SMALL = 1024


def run(case: Case) -> Sequence[Finding]:
    chosen = [port for port in ports.expected(case.seen, case.want) if port.rdma and not port.fault]
    parts = [_part(port) for port in chosen]
    values = {part.value for part in parts if part.value is not None}
    if len(values) == 1 and max(values) <= _SMALL:
        evidence = tuple(Evidence(part.subject.name, part.text, part.source) for part in parts)
        summary = "{} RDMA ports: RDMA MTU {}: each packet carries a quarter of what 4096 would".format(
            len(parts), max(values)
        )
        return (CHECK.finding(Status.INFO, summary, HOST, evidence),)
    return judge_each(CHECK, "NICs", parts, None, _REMEDY)


def _part(port: Port) -> Part:
    rdma = port.rdma
    mtu = rdma.rdma_mtu if rdma else None
    text = "RDMA MTU {}".format(mtu) if mtu else "RDMA MTU not told"
    if mtu and port.kind == "roce" and port.nic:
        text += " (interface {})".format(port.nic.mtu)
    source = "ibv_devinfo -d {}".format(rdma.device if rdma else "")
    source = port.path("mtu") if port.kind == "roce" else source
    kin = (port.kind, port.card, port.nic.master if port.nic else None)
    return port.part(mtu, text, source, kin, port.unread("rdma", "rdma_mtu"))


CHECK = Check(
    id="rdma-mtu",
    title="RDMA ports use one packet size",
    tags=("health",),
    needs=("rdma",),
    run=run,
    reads=("nics", "pci"),
    group="network",
    after=("nic-mtu",),
)
