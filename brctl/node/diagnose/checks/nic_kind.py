"""Every port that the config names is of the kind that it declares: InfiniBand, RoCE, or Ethernet; another is critical.

RoCE is Ethernet with an RDMA device, so it serves where Ethernet is declared. Where nothing is declared, ports on one
type of card are compared, and one that differs is a warning: many cards speak either, as their configuration says.
"""

from typing import Sequence

from ...report import Finding, Status
from ...request import ExpectedNics
from .. import Case, Check, ports
from ..parts import Declared, judge

_NAMES = {"infiniband": "InfiniBand", "roce": "RoCE", "ethernet": "Ethernet without RDMA"}
_REMEDY = (
    "InfiniBand or Ethernet is the card's own setting (`mlxconfig ... set LINK_TYPE_P1=1` or `2`, then a reset); "
    "RoCE without an RDMA device lacks the driver (mlx5_ib, bnxt_re, irdma)"
)


def run(case: Case) -> Sequence[Finding]:
    want = (case.want.nics or ExpectedNics()).kind
    found = ports.expected(case.seen, case.want)
    parts = [port.part(port.kind, _NAMES[port.kind], "/sys/class/infiniband", port.card) for port in found]
    return judge(CHECK, "NICs", parts, _declared(want) if want else None, _REMEDY)


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
)
