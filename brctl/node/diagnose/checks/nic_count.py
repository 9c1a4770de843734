"""As many network ports are there as the config declares; where it declares interfaces without a number, at least one.

Ports are the interfaces that the declared patterns name, and InfiniBand and EFA ports that need no interface. Where no
patterns are declared, only those with RDMA are counted, if there are any, and the summary says so. A port without a
link is there: what is wrong with it is for nic-speed. Fewer than declared are critical, more a warning. Fewer are only
noted where as many cards of the kind have their driver but no interface: those are in another network namespace, lent
to a pod.
"""

from typing import Iterator, Sequence

from ... import ports
from ...facts import Inventory, PciDevice, Problem
from ...patterns import fits
from ...ports import Port
from ...report import Evidence, Finding, Status
from ...request import ExpectedNics
from .. import Case, Check, reason
from ..parts import counted

_SOURCE = "/sys/class/net and /sys/class/infiniband"
_REMEDY = (
    "compare with `lspci -nn -d ::0200` and `-d ::0207`: a card that is there without a driver needs its module, "
    "an interface of another name needs the pattern corrected, a card that is gone needs hands"
)


def run(case: Case) -> Iterator[Finding]:
    found = ports.expected(case.seen, case.want)
    want = case.want.nics or ExpectedNics()
    if want.interfaces and want.nic_count is None and not found:
        summary = "no interface fits {}".format(want.interfaces)
        evidence = (
            Evidence("interfaces", " ".join(nic.name for nic in case.seen.nics or ()) or "none", _SOURCE),
            Evidence("declared", want.interfaces, "hardware.nics.interfaces"),
        )
        finding = CHECK.finding(Status.CRIT, summary, evidence=evidence, remedy=_REMEDY)
    else:
        by_rdma = want.interfaces is None and any(port.kind != "ethernet" for port in found)
        noun = "RDMA NICs" if by_rdma else "NICs"
        finding = counted(CHECK, noun, len(found), want.nic_count, _SOURCE, "hardware.nics.count", _REMEDY)
    if finding.status is Status.CRIT:
        finding = _explained(finding, case, found, (want.nic_count or 1) - len(found))
    yield finding


def _explained(finding: Finding, case: Case, found: Sequence[Port], missing: int) -> Finding:
    """With where the missing ones may be."""
    lent, unread = _lent_alike(case.seen, found), _unread(case)
    where = [(device, "{}, in another network namespace".format(device.driver)) for device in lent]
    where += [(device, _held(device)) for device in ports.absent(case.seen) if device not in ports.lent(case.seen)]
    path = "/sys/bus/pci/devices/{}/driver"
    told = (Evidence(device.address, words, path.format(device.address)) for device, words in where)
    evidence = (*finding.evidence, *told)
    if len(lent) >= missing:
        return CHECK.finding(
            Status.INFO, "{}; {} in another network namespace".format(finding.summary, len(lent)), evidence=evidence
        )
    if len(lent) + len(unread) >= missing:
        summary = "{}; not read: {}".format(finding.summary, unread[0].message)
        return CHECK.finding(Status.UNKNOWN, summary, evidence=evidence, reason=reason(unread[0].reason))
    return finding._replace(evidence=evidence)


def _lent_alike(seen: Inventory, found: Sequence[Port]) -> Sequence[PciDevice]:
    """Those lent, of a card that is also among the ports found, if there are any of these."""
    cards = {port.card[0] for port in found} - {None}
    return [device for device in ports.lent(seen) if not cards or (device.vendor_id, device.device_id) in cards]


def _unread(case: Case) -> Sequence[Problem]:
    """Of ports that could not be read and may be meant."""
    patterns = case.want.nics.interfaces if case.want.nics else None
    carried = {nic.rdma for nic in case.seen.nics or ()}
    others = (problem for problem in ports.unlisted(case.seen) if problem.subject not in carried)
    return [problem for problem in others if patterns is None or fits(problem.subject or "", patterns)]


def _held(device: PciDevice) -> str:
    return "held by {}".format(device.driver) if device.driver else "no driver"


CHECK = Check(
    id="nic-count",
    title="All declared NICs are there",
    tags=("inventory",),
    needs=(),
    run=run,
    reads=("nics", "rdma"),
    group="network",
)
