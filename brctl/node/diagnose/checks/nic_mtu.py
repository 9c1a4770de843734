"""Every interface that `tune.network` names has the MTU declared there, and no port differs from its bond.

Where no MTU is declared, RDMA ports on one type of card and of one speed are compared; those of each bond apart from
others, and InfiniBand not at all, whose interface's MTU says nothing about RDMA. All are warnings: two ends that
disagree drop large frames without a word, and on RoCE the RDMA MTU follows the interface's.
"""

from typing import Iterator, List, Sequence

from ... import ports
from ...facts import Nic
from ...ports import Port
from ...report import Evidence, Finding, Status, Subject
from ...siblings import Part
from .. import Case, Check
from ..parts import Declared, judge_each

_REMEDY = "set it with `brctl tune apply` or `ip link set mtu`, and in the network configuration; the switch must match"


def run(case: Case) -> Iterator[Finding]:
    want = case.want
    declared = None
    if want.mtu is not None:
        declared = Declared("tune.network.mtu", str(want.mtu), lambda mtu: None if mtu == want.mtu else Status.WARN)
    parts = [_part(port, port.nic, bool(declared)) for port in _chosen(case) if port.nic]
    found = judge_each(CHECK, "NICs", parts, declared, _REMEDY)
    bad = [finding for finding in found if finding.status not in (Status.PASS, Status.NA)]
    bad += _unlike_bond(case.seen.nics or (), [finding.subject for finding in bad])
    yield from bad or found


def _chosen(case: Case) -> Sequence[Port]:
    if case.want.mtu_interfaces is not None:
        return ports.named(case.seen, case.want.mtu_interfaces)
    return [port for port in ports.expected(case.seen, case.want) if port.kind != "infiniband"]


def _part(port: Port, nic: Nic, declared: bool) -> Part:
    """A configured MTU holds without a link too; what nobody configured is compared only where it is in use."""
    if port.fault and (not declared or port.fault == ports.DOWN):
        return port.part(None, port.fault, port.path("mtu"))
    return port.part(nic.mtu, _text(nic.mtu), port.path("mtu"), (port.card, nic.speed_mbps, nic.master))


def _text(mtu: int) -> str:
    return "MTU {}".format(mtu)


def _unlike_bond(nics: Sequence[Nic], told: Sequence[Subject]) -> List[Finding]:
    bonds = {nic.name: nic for nic in nics if nic.kind == "bond"}
    pairs = [(nic, bonds[nic.master]) for nic in nics if nic.master in bonds]
    wrong = [(nic, bond) for nic, bond in pairs if nic.mtu != bond.mtu]
    return [_port_of(nic, bond) for nic, bond in wrong if Subject("nic", nic.name, nic.name) not in told]


def _port_of(nic: Nic, bond: Nic) -> Finding:
    summary = "{}: {}, its bond {}: {}".format(nic.name, _text(nic.mtu), bond.name, _text(bond.mtu))
    evidence = [Evidence(one.name, _text(one.mtu), "/sys/class/net/{}/mtu".format(one.name)) for one in (nic, bond)]
    return CHECK.finding(Status.WARN, summary, Subject("nic", nic.name, nic.name), tuple(evidence), _REMEDY)


CHECK = Check(
    id="nic-mtu",
    title="Every interface has the declared MTU",
    tags=("inventory",),
    needs=("nics",),
    run=run,
    reads=("rdma",),
    group="network",
)
