"""`diagnose comm`: tests between pairs of nodes, and which node, path or setting they blame.

A round is one test of every pair at once, no node in two of them. Each pair is tested in all respects; then, respect
by respect from the gravest on, pairing.py finds who is bad, and asks for more rounds where it must.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..node.report import Endpoint, Evidence, Finding, PairSeen, Report, Status, Subject
from ..node.request import PairEnd
from .benchmarks import bits_per_s, latency_s
from .pairing import Outcome, Pair, find, matchings

PORTS = range(40000, 60000, 4)
"""A test takes four: the echo's, one of iperf3's for each direction, and one for RDMA's tools."""
LEAST_OF_GROUP = 3
"""Bad nodes of one group before the group is blamed: of two nobody could tell."""
_NOISE_S = 0.0002
"""Added to a round trip before it is compared: below this, what differs is the host's scheduler."""


class Respect(NamedTuple):
    """In which paths are compared."""

    name: str
    value: Callable[[PairSeen], float | None]
    """More is better; 0: it does not come through; None: not measured."""
    share: float
    """Of the usual value, below which it counts."""
    says: str
    remedy: str


def _reached(seen: PairSeen) -> float | None:
    return float(seen.connected)


def _whole(seen: PairSeen) -> float | None:
    return float(seen.large_answered) if seen.small_answered and seen.large_answered is not None else None


def _kept(seen: PairSeen) -> float | None:
    return seen.datagrams_returned / seen.datagrams_sent if seen.datagrams_sent else None


def _quickness(seen: PairSeen) -> float | None:
    return 1 / (seen.rtt_s + _NOISE_S) if seen.rtt_s is not None else None


def _inverse(value: float | None) -> float | None:
    return 1 / value if value else None


def _bandwidth(seen: PairSeen) -> float | None:
    found = [value for value in (seen.sent_bits_per_s, seen.received_bits_per_s) if value is not None]
    return min(found) if found else None


BANDWIDTH = Respect(
    "bandwidth", _bandwidth, 0.03, "is slower than its peers", "look at its link rate, PCIe width and qdisc"
)
RDMA_BANDWIDTH = Respect(
    "rdma-bandwidth",
    lambda seen: bits_per_s(seen.rdma_bandwidth) if seen.rdma_bandwidth else None,
    0.03,
    "is slower than its peers by RDMA",
    "look at the PCIe link of its NIC, at pauses and drops: brctl diagnose run --only network --level full",
)
RDMA_LATENCY = Respect(
    "rdma-latency",
    lambda seen: _inverse(latency_s(seen.rdma_latency)) if seen.rdma_latency else None,
    0.2,
    "answers later than its peers by RDMA",
    "look at its C-states, governor and relaxed ordering, and at congestion: brctl diagnose run",
)
LOADED = (BANDWIDTH, RDMA_BANDWIDTH, RDMA_LATENCY)
"""Those whose retests need the load."""
RESPECTS = (
    Respect("reach", _reached, 0.03, "does not answer its peers", "look at its link, address and firewall"),
    Respect(
        "path-mtu",
        _whole,
        0.03,
        "small packets come through, those of the full MTU do not: a path MTU black hole",
        "compare the MTU of the interface, of its switch port and of its peers: brctl tune plan --only nic-mtu",
    ),
    Respect("loss", _kept, 0.004, "loses packets", "look at the errors of its port and cable: brctl diagnose run"),
    BANDWIDTH,
    RDMA_BANDWIDTH,
    Respect("latency", _quickness, 0.67, "answers later than its peers", "look at its load, C-states and qdisc"),
    RDMA_LATENCY,
)
"""From the gravest on: who is bad in one is not judged in the next, of which it may be the cause."""


class Plan(NamedTuple):
    """What will be tested."""

    ends: Mapping[str, Endpoint]
    """By node, in order."""
    rounds: Sequence[Sequence[Pair]]
    """Those that are certain; as many as three more for each respect in which somebody is suspect."""
    mtu: int


class Verdict(NamedTuple):
    respect: Respect
    outcome: Outcome


class Result(NamedTuple):
    verdicts: tuple[Verdict, ...]
    seen: Mapping[Pair, PairSeen]
    """What was last seen of each pair."""
    tool_faults: Mapping[str, tuple[str, ...]]
    """By node: why something was not measured there."""


Ask = Callable[[Mapping[str, PairEnd]], Mapping[str, Report]]
"""Ask both ends of every pair at once."""


def plan(ends: Mapping[str, Endpoint]) -> Plan:
    """Of nodes in the order in which they stand: neighbours should be under one leaf."""
    return Plan(ends, matchings(tuple(ends)), max((end.mtu for end in ends.values()), default=1500))


class Search:
    """Runs rounds; what a pair showed in one is not measured again for another respect."""

    def __init__(self, given: Plan, ask: Ask, limit_s: float, load_s: float) -> None:
        self._plan, self._ask, self._limit_s, self._load_s = given, ask, limit_s, load_s
        self._first = {frozenset(pair) for matching in given.rounds for pair in matching}
        self._chance = random.Random(secrets.randbits(64))  # noqa: S311  # ports; the nonce is no secret of this
        self.seen: dict[Pair, PairSeen] = {}
        self.faults: dict[str, list[str]] = {}

    def run(self) -> Result:
        for matching in self._plan.rounds:
            self._round(matching, self._load_s)
        verdicts, spared = [], frozenset[str]()
        for respect in RESPECTS if len(self._plan.ends) > 1 else ():
            outcome = self._judge(respect, spared)
            verdicts.append(Verdict(respect, outcome))
            spared |= frozenset(outcome.bad) | {node for pair in outcome.ambiguous for node in pair}
            if outcome.common:
                break
        return Result(
            tuple(verdicts), self.seen, {node: tuple(dict.fromkeys(each)) for node, each in self.faults.items()}
        )

    def _judge(self, respect: Respect, spared: frozenset[str]) -> Outcome:
        asked: set[Pair] = set()

        def measure(pairs: Sequence[Pair]) -> Mapping[Pair, float | None]:
            known = frozenset(map(frozenset, pairs)) <= self._first and not asked & set(pairs)
            asked.update(pairs)
            if not known:
                self._round(pairs, self._load_s if respect in LOADED else 0.0)
            return {pair: self._value(respect, pair, spared) for pair in pairs}

        return find(tuple(self._plan.ends), measure, share=respect.share)

    def _value(self, respect: Respect, pair: Pair, spared: frozenset[str]) -> float | None:
        seen = self.seen.get(pair)
        return None if seen is None or spared & set(pair) else respect.value(seen)

    def _round(self, pairs: Sequence[Pair], load_s: float) -> None:
        ends: dict[str, PairEnd] = {}
        for pair in pairs:
            port, nonce = self._chance.choice(PORTS), secrets.token_hex(16)
            own, peer = (self._plan.ends[node].address or "" for node in pair)
            for node, address, other in ((pair.a, own, peer), (pair.b, peer, None)):
                ends[node] = PairEnd(address, port, nonce, self._limit_s, other, self._plan.mtu, load_s)
                if all(self._plan.ends[each].rdma for each in pair):
                    end = self._plan.ends[node]
                    ends[node] = ends[node]._replace(rdma=end.rdma, gid_index=end.gid_index)
        reports = self._ask(ends)
        for pair in pairs:
            self._note(pair, reports.get(pair.a), reports.get(pair.b))

    def _note(self, pair: Pair, tested: Report | None, echoed: Report | None) -> None:
        self.seen.pop(pair, None)
        for node, report in ((pair.a, tested), (pair.b, echoed)):
            for error in report.errors if report else ():  # a node that does not answer us says nothing of the path
                self.faults.setdefault(node, []).append(error.message)
            if report and report.pair and report.pair.tool_fault:
                self.faults.setdefault(node, []).append(report.pair.tool_fault)
        if tested and tested.pair and echoed and not echoed.errors:
            self.seen[pair] = tested.pair


Groups = Mapping[str, Sequence[str]]


def findings(result: Result, nodes: Sequence[str], groups: Groups) -> Mapping[str, tuple[Finding, ...]]:
    """What is to be said of each node. `groups` of nodes may share a switch."""
    found: dict[str, list[Finding]] = {node: [] for node in nodes}
    for verdict in result.verdicts:
        for node, finding in _of(verdict, result, _shared(verdict.outcome, groups, len(nodes))):
            found[node].append(finding)
    for node in (node for node in nodes if not found[node]):
        tested = [pair for pair in result.seen if node in pair]
        why = "".join(f": {fault}" for fault in result.tool_faults.get(node, ())[:1])
        summary = f"{_count(len(tested), 'pair')} as its peers" if tested else f"not tested{why}"
        status = Status.PASS if tested else Status.UNKNOWN
        reason = None if tested else "error"
        found[node].append(Finding("comm", status, _subject(node), summary, reason=reason, fold="well"))
    for node, faults in result.tool_faults.items():
        if any(node in pair for pair in result.seen):
            found.setdefault(node, []).extend(tool_finding(node, fault) for fault in faults)
    return {node: tuple(each) for node, each in found.items()}


def tool_finding(node: str, fault: str) -> Finding:
    """A tool that is missing is n/a, and one that fails unknown: neither says anything of the path."""
    missing = fault.endswith("is not installed")
    status, reason = (Status.NA, None) if missing else (Status.UNKNOWN, "error")
    return Finding("comm-tool", status, _subject(node), f"not measured: {fault}", reason=reason, fold=fault)


def _shared(outcome: Outcome, groups: Groups, nodes: int) -> str:
    """What the bad nodes, or the bad paths, have in common, if there are three of them: a group."""
    parts = [{node} for node in outcome.bad] or [set(pair) for pair in outcome.paths]
    for name, members in groups.items() if len(parts) >= LEAST_OF_GROUP else ():
        if len(members) < nodes and all(part & set(members) for part in parts):
            return f"; all of it is about the group {name}: look at its switch"
    return ""


def _of(verdict: Verdict, result: Result, shared: str) -> Iterator[tuple[str, Finding]]:
    respect, outcome = verdict
    check = f"comm-{respect.name}"
    together = len(outcome.bad) if outcome.common else 0
    for node in outcome.bad:
        summary, remedy = respect.says, respect.remedy
        if together:
            summary = f"{respect.says}, as {together} nodes do: look for what they have in common"
            remedy = "compare what they share: configuration, firmware, switch; no node of them is to blame alone"
        summary += shared
        evidence = tuple(_evidence(respect, result, node))
        yield node, Finding(check, Status.WARN, _subject(node), summary, evidence, remedy, fold=summary)
    for pair in outcome.paths:
        summary = f"the path to {pair.b} {_of_path(respect)}, and neither end does with others{shared}"
        evidence = (_shown(result, pair),)
        remedy = "look at the switches and cables between them; the next run takes another path with another port"
        yield pair.a, Finding(check, Status.WARN, _subject(pair.a), summary, evidence, remedy, fold=summary)
    for pair in outcome.ambiguous:
        summary = f"it or {pair.b}: {respect.says}, and nobody else is there to tell which"
        remedy = f"test {pair.a} or {pair.b} with a third node, or swap their cables and see whether the fault moves"
        evidence = (_shown(result, pair),)
        yield pair.a, Finding(check, Status.WARN, _subject(pair.a), summary, evidence, remedy, fold=summary)


def _of_path(respect: Respect) -> str:
    return {"reach": "is closed", "path-mtu": "swallows large packets"}.get(respect.name, respect.says)


def _evidence(respect: Respect, result: Result, node: str) -> Iterator[Evidence]:
    """Its pairs, and what is usual."""
    mine = [pair for pair in result.seen if node in pair]
    yield from (_shown(result, pair) for pair in mine[:4])
    others = [seen for pair, seen in result.seen.items() if node not in pair]
    usual = sorted(value for seen in others if (value := respect.value(seen)) is not None)
    if usual:
        middle = next(seen for seen in others if respect.value(seen) == usual[len(usual) // 2])
        yield Evidence("usual among the others", told(middle), f"{len(usual)} pairs")


def _shown(result: Result, pair: Pair) -> Evidence:
    seen = result.seen.get(pair)
    return Evidence(f"{pair.a} - {pair.b}", told(seen) if seen else "no answer", "echo, iperf3")


def told(seen: PairSeen) -> str:
    """`0.05 ms, 0 of 1000 lost, 47 Mb/s out, 47 Mb/s in`"""
    if not seen.connected:
        return f"not reached: {seen.fault}"
    parts = [f"{seen.rtt_s * 1000:.3g} ms"] if seen.rtt_s is not None else [seen.fault or "no round trip"]
    if seen.large_answered is False:
        parts.append("full-size packets lost")
    if seen.datagrams_sent:
        parts.append(f"{seen.datagrams_sent - seen.datagrams_returned} of {seen.datagrams_sent} lost")
    parts += _by_rdma(seen)
    for value, way in ((seen.sent_bits_per_s, "out"), (seen.received_bits_per_s, "in")):
        if value is not None:
            parts.append(f"{_rate(value)} {way}")
    return ", ".join(parts)


def _by_rdma(seen: PairSeen) -> Iterator[str]:
    late = latency_s(seen.rdma_latency or "")
    fast = bits_per_s(seen.rdma_bandwidth or "")
    if late is not None:
        yield f"{late * 1e6:.3g} us by RDMA"
    if fast is not None:
        yield f"{_rate(fast)} by RDMA"


def _rate(bits_per_s: float) -> str:
    return f"{bits_per_s / 1e9:.3g} Gb/s" if bits_per_s >= 1e9 else f"{bits_per_s / 1e6:.3g} Mb/s"


def _subject(node: str) -> Subject:
    return Subject("host", "", node)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
