"""RoCE ports have flow control on a priority, take priorities from the DSCP, and are all set alike.

Without PFC on any priority RDMA loses packets wherever a queue is full. A port that trusts the VLAN tag (PCP) puts what
has no tag, which is all that is routed, on priority 0, whatever its DSCP. Fabrics that do without PFC are right too:
that no port has it is only noted.
"""

from typing import Iterator, List, Optional, Sequence, Tuple

from ...facts import LinkSettings
from ...ports import Port
from ...report import HOST, Evidence, Finding, Status
from .. import Case, Check
from ..link_parts import compared, settings_of

_REMEDY = "`mlnx_qos -i PORT --trust dscp --pfc 0,0,0,1,0,0,0,0` (or `dcb`) and at boot; the switch must match"


def run(case: Case) -> Sequence[Finding]:
    known = [(port, one) for port, one in settings_of(case) if port.kind == "roce" and _told(one)]
    if not known:
        return (CHECK.finding(Status.NA, "no RoCE port tells its priorities: mlnx_qos or dcb is needed"),)
    bad = [*_by_tag(known), *_without(known)]
    told = {finding.subject for finding in bad}
    bad += [finding for finding in _unlike(case) if finding.subject not in told]
    return bad or (CHECK.finding(Status.PASS, "{} RoCE ports: {}".format(len(known), _text(known[0][1]))),)


def _told(one: LinkSettings) -> bool:
    return one.lossless is not None or one.trust is not None


def _by_tag(known: "Sequence[Tuple[Port, LinkSettings]]") -> Iterator[Finding]:
    for port, one in known:
        if one.trust == "pcp" and one.lossless:
            summary = "{}: it takes priorities from the VLAN tag: RoCE by its DSCP goes to priority 0".format(
                one.interface
            )
            yield CHECK.finding(Status.WARN, summary, port.subject, (_evidence(one),), _REMEDY)


def _without(known: "Sequence[Tuple[Port, LinkSettings]]") -> Iterator[Finding]:
    if all(one.lossless == () for _, one in known):
        summary = "no RoCE port has PFC on any priority: the fabric must do without, or RDMA loses packets under load"
        yield CHECK.finding(Status.INFO, summary, HOST, tuple(_evidence(one) for _, one in known))


def _unlike(case: Case) -> Sequence[Finding]:
    found: List[Finding] = []
    for finding in compared(CHECK, case, _value, _text, "mlnx_qos -i {}", _REMEDY, kinds=("roce",)):
        found += [finding] if finding.status is Status.WARN else []
    return found


def _value(one: LinkSettings) -> Optional[Tuple[object, ...]]:
    return (one.lossless, one.trust) if _told(one) else None


def _text(one: LinkSettings) -> str:
    if one.lossless is None:
        return "trust {}".format(one.trust)
    pfc = "PFC on " + ", ".join(map(str, one.lossless)) if one.lossless else "no PFC"
    return "{}, trust {}".format(pfc, one.trust) if one.trust else pfc


def _evidence(one: LinkSettings) -> Evidence:
    return Evidence(one.interface, _text(one), "mlnx_qos -i {0}, dcb pfc show dev {0}".format(one.interface))


CHECK = Check(
    id="nic-priority",
    title="RoCE ports have a lossless priority and are set alike",
    tags=("health",),
    needs=("link_settings",),
    run=run,
    reads=("nics", "rdma", "pci"),
    group="network",
)
