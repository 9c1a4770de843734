"""Every port that the config names has the firmware that it declares: versions or shell patterns.

Where none is declared, ports on one type of card are compared, and one that differs is named. Both are warnings: a node
of mixed firmware works, but shows other counters, defaults and defects at each port.
"""

from typing import Sequence

from ... import ports
from ...ports import Port
from ...report import Finding, Status
from ...request import ExpectedNics
from ...siblings import Part
from .. import Case, Check
from ..parts import judge_each, pattern


def run(case: Case) -> Sequence[Finding]:
    want = (case.want.nics or ExpectedNics()).firmware
    return judge_each(
        CHECK,
        "NICs",
        [_part(port) for port in ports.expected(case.seen, case.want)],
        pattern("hardware.nics.firmware", want, Status.WARN) if want else None,
        "drain the node, update with the card vendor's tool (mlxfwmanager, niccli), then reset the card or power-cycle",
    )


def _part(port: Port) -> Part:
    by_interface = port.nic.firmware if port.nic else None
    if by_interface:
        return port.part(by_interface, "firmware " + by_interface, "ethtool -i " + port.subject.name, port.card)
    by_rdma = port.rdma.firmware if port.rdma else None
    source = "/sys/class/infiniband/{}/fw_ver".format(port.rdma.device if port.rdma else "")
    text = "firmware {}".format(by_rdma) if by_rdma else "no value"
    unread = port.unread("nics", "firmware") or port.unread("rdma", "firmware")
    return port.part(by_rdma, text, source, port.card, unread)


CHECK = Check(
    id="nic-firmware",
    title="Every NIC has the declared firmware",
    tags=("inventory",),
    needs=("nics",),
    run=run,
    reads=("rdma",),
    group="network",
)
