"""One fault, one finding: what merely follows from another finding is told under it.

A check names in `after` the checks whose findings explain its own, or in a finding's `cause` the one that does. A cause
explains what is bad about the same part of the machine, about any part where it concerns the host as a whole, and about
a device where it concerns a PCI port above that; what is bad about all GPUs alike follows from what is about each. A
chain is told as one: everything in it is a consequence of its first
cause.
"""

from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from ..facts import Inventory
from ..report import HOST, Cause, Finding, Status
from . import Check, fold

_BAD = (Status.UNKNOWN, Status.WARN, Status.CRIT)


def attributed(findings: Sequence[Finding], checks: Sequence[Check], seen: Inventory) -> Tuple[Finding, ...]:
    """The findings in their order; each that follows from another is an info and names its cause, which becomes as bad
    as the worst of its consequences. What could not be read explains nothing but what could not be read either."""
    after = {check.id: check.after for check in checks}
    bad = [finding for finding in findings if finding.status in _BAD]
    known = {Cause(finding.check, finding.subject): finding for finding in bad}
    ports = _ports(seen)
    direct: Dict[Finding, Finding] = {}
    for finding in findings:
        cause = known.get(finding.cause) if finding.cause else None  # one that was not looked for explains nothing
        if cause is None and finding.status in _BAD:
            cause = _cause(finding, bad, after.get(finding.check, ()), ports)
            cause = cause or _common_cause(finding, bad, after.get(finding.check, ()), seen)
        if cause:
            direct[finding] = cause
    roots = {finding: _root(finding, direct) for finding in direct}
    return tuple(_told(finding, roots) for finding in findings)


def _cause(
    effect: Finding, bad: Sequence[Finding], after: Sequence[str], ports: Mapping[str, Sequence[str]]
) -> Optional[Finding]:
    for check in after:
        for finding in bad:
            if finding.check == check and _explains(finding, effect, ports):
                return finding
    return None


def _common_cause(effect: Finding, bad: Sequence[Finding], after: Sequence[str], seen: Inventory) -> Optional[Finding]:
    """Of what is bad about all GPUs alike: a check that found each of them bad by itself. The first of these."""
    answering = sum(gpu.fault is None for gpu in seen.gpus or ())
    if effect.subject != HOST:
        return None
    for check in after:
        same = [finding for finding in bad if finding.check == check and finding.subject.kind == "gpu"]
        if len(same) == answering > 1 and same[0].status is not Status.UNKNOWN:
            return same[0]
    return None


def _explains(cause: Finding, effect: Finding, ports: Mapping[str, Sequence[str]]) -> bool:
    if effect.status is Status.UNKNOWN:
        if effect.subject == HOST:  # a part that could not be read hides what all of them are
            return True
    elif cause.status is Status.UNKNOWN:
        return False
    return cause.subject in (HOST, effect.subject) or cause.subject.id in ports.get(effect.subject.id, ())


def _ports(seen: Inventory) -> Dict[str, Sequence[str]]:
    """The PCI ports above each device, by what a Subject of it has as its id."""
    found: Dict[str, Sequence[str]] = {device.address: device.ancestors for device in seen.pci or ()}
    parts = [(gpu.uuid, gpu.pci) for gpu in seen.gpus or ()] + [(nic.name, nic.pci) for nic in seen.nics or ()]
    found.update((name, (address, *found.get(address, ()))) for name, address in parts if name and address)
    return found


def _root(finding: Finding, direct: Mapping[Finding, Finding]) -> Finding:
    passed: List[Finding] = []
    while finding in direct and finding not in passed:  # two checks that name each other are no cause
        passed.append(finding)
        finding = direct[finding]
    return finding


def _told(finding: Finding, roots: Mapping[Finding, Finding]) -> Finding:
    root = roots.get(finding)
    if root and root is not finding:
        fold_ = fold(finding.check, Status.INFO, finding.subject)
        return finding._replace(status=Status.INFO, cause=Cause(root.check, root.subject), fold=fold_)
    alone = finding._replace(cause=None)
    grave = [effect.status for effect, cause in roots.items() if cause is finding]
    worst = max([finding.status, *grave], key=list(Status).index)
    return alone._replace(status=worst, fold=fold(finding.check, worst, finding.subject)) if grave else alone
