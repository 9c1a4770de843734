"""Every port that the config names is of the kind that it declares: InfiniBand, RoCE, EFA, or Ethernet; another is
critical.

RoCE is Ethernet with an RDMA device, so it serves where Ethernet is declared. A bond that has an RDMA device gives its
kind to its ports, and an interface has the kind of what it stands on. Where nothing is declared, ports on one type of
card are compared, those of each bond apart, and one that differs is a warning: many cards speak either, as their
configuration says.
"""

from typing import Optional, Sequence

from ... import ports
from ...facts import Problem
from ...ports import Port
from ...report import Finding, Status
from ...request import ExpectedNics
from ...siblings import Part
from .. import Case, Check
from ..parts import Declared, judge_each

_NAMES = {"infiniband": "InfiniBand", "efa": "EFA", "roce": "RoCE", "ethernet": "Ethernet without RDMA"}
_REMEDY = (
    "InfiniBand or Ethernet is the card's own setting (`mlxconfig ... set LINK_TYPE_P1=1` or `2`, then a reset); "
    "RoCE without an RDMA device lacks the driver (mlx5_ib, bnxt_re, irdma)"
)


def run(case: Case) -> Sequence[Finding]:
    want = (case.want.nics or ExpectedNics()).kind
    unlisted = {problem.subject: problem for problem in ports.unlisted(case.seen) if problem.part == "rdma"}
    parts = [_part(port, unlisted.get(port.device)) for port in ports.expected(case.seen, case.want)]
    return judge_each(CHECK, "NICs", parts, _declared(want) if want else None, _REMEDY)


def _part(port: Port, unread: Optional[Problem]) -> Part:
    kind = None if unread else port.kind
    kin = (port.card, port.nic.master if port.nic else None)
    return port.part(kind, _NAMES[port.kind], "/sys/class/infiniband", kin, unread)


def _declared(want: str) -> Declared:
    fitting = (want, "roce") if want == "ethernet" else (want,)
    return Declared("hardware.nics.kind", want, lambda kind: None if kind in fitting else Status.CRIT)


CHECK = Check(
    id="nic-kind",
    title="Every NIC is of the declared kind",
    tags=("inventory",),
    needs=("nics",),
    run=run,
    reads=("rdma",),
    group="network",
)
