"""By how much counters of network ports grew between two looks, and what is said of ports that are judged by that.

An interface and its RDMA device are one port, whatever source counts.
"""

from typing import Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .. import ports
from ..facts import Inventory, PortCounters
from ..ports import Port
from ..report import Evidence, Finding, Status, Subject
from . import Case, Check, reason
from .growth import Growth
from .verdicts import Verdict


class Look(NamedTuple):
    """What counters of one port grew by since an earlier look."""

    port: Port
    since: str
    grown: Mapping[str, Growth]
    sources: Mapping[str, str]
    """Of the counters, by name."""

    def amount(self, *names: str) -> Optional[float]:
        """Of these counters together; None: the port has none of them."""
        found = [self.grown[name].amount for name in names if name in self.grown]
        return sum(found) if found else None

    def evidence(self, *names: str) -> Tuple[Evidence, ...]:
        """Of those of these counters that the port has."""
        return tuple(Evidence(name, self.grown[name].text, self.sources[name]) for name in names if name in self.grown)


_MOST_TOLD = 8


def looks(case: Case) -> Tuple[Sequence[Look], ...]:
    """Of each port that counts, against each earlier look, the nearest first. Not of virtual functions, which are a
    virtual machine's, and of counters that fell: the driver was loaded anew."""
    whose = {name: port for port in ports.ports(case.seen) if not port.is_virtual for name in _names(port)}
    found: Dict[Subject, List[Look]] = {}
    for earlier in case.earlier:
        before = {(one.port, one.source): one for one in earlier.seen.port_counters or ()}
        of_port: Dict[Subject, Look] = {}
        for now in case.seen.port_counters or ():
            was, port = before.get((now.port, now.source)), whose.get(now.port)
            if was and port:
                look = of_port.setdefault(port.subject, Look(port, earlier.since, {}, {}))
                grown = _grown(now, was, earlier.since)
                sources = dict.fromkeys(grown, now.source)
                merged = look._replace(grown={**look.grown, **grown}, sources={**look.sources, **sources})
                of_port[port.subject] = merged
        for subject, look in of_port.items():
            found.setdefault(subject, []).append(look)
    return tuple(found.values())


def _names(port: Port) -> Iterator[str]:
    if port.nic and port.nic.kind == "physical":
        yield port.nic.name
    if port.device and (port.nic is None or port.nic.kind == "physical"):
        yield port.device


def _grown(now: PortCounters, was: PortCounters, since: str) -> Dict[str, Growth]:
    seconds = now.read_at_s - was.read_at_s
    old = {counter.name: counter.value for counter in was.counters}
    return {
        one.name: Growth(one.value - old[one.name], seconds, since)
        for one in now.counters
        if seconds > 0 and one.value >= old.get(one.name, one.value + 1)
    }


def judge(
    check: Check, case: Case, look: Callable[[Look], Optional[Verdict]], well: str, lacking: str
) -> Tuple[Finding, ...]:
    """What `look` says of each port, by the nearest look that shows something bad; None: this port does not tell."""
    told = [(found[0].port, _worst([verdict for verdict in map(look, found) if verdict])) for found in looks(case)]
    known = [(port, verdict) for port, verdict in told if verdict]
    if not known:
        return (_untold(check, case.seen, lacking),)
    bad = [(port, verdict) for port, verdict in known if verdict.status is not Status.PASS]
    findings = [_finding(check, port, verdict) for port, verdict in bad]
    if all(finding.status is Status.INFO for finding in findings):
        good = len(known) - len(bad)
        findings += [check.finding(Status.PASS, "{} of {} ports: {}".format(good, len(known), well))] if good else []
    return tuple(findings)


def totals(check: Check, case: Case, names: Sequence[str]) -> Finding:
    """What there is to say by one look alone, as of a saved output: totals, and no verdict."""
    known = [one for port in case.seen.port_counters or () for one in port.counters if one.name in names]
    shown = ["{} {}".format(one.name, one.value) for one in known if one.value]
    told = "; since the driver was loaded: " + ", ".join(shown[:_MOST_TOLD]) if shown else ""
    return check.finding(Status.INFO if shown else Status.NA, "one look is no verdict" + told)


def _worst(verdicts: Sequence[Verdict]) -> Optional[Verdict]:
    return max(verdicts, key=lambda verdict: list(Status).index(verdict.status), default=None)


def _finding(check: Check, port: Port, verdict: Verdict) -> Finding:
    summary = "{}: {}".format(port.subject.name, verdict.text)
    return check.finding(verdict.status, summary, port.subject, verdict.evidence, verdict.remedy)


def _untold(check: Check, seen: Inventory, lacking: str) -> Finding:
    problem = next((one for one in seen.problems if one.part == "port_counters"), None)
    if problem:
        return check.finding(Status.UNKNOWN, problem.message, reason=reason(problem.reason))
    return check.finding(Status.NA, "no port tells {}".format(lacking))
