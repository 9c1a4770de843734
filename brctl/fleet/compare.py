"""Node against fleet: among nodes that should be alike, the odd one is named.

What the config declares is judged on the node. What it leaves open is compared here: a strict majority of the nodes of
one kin says what is usual, and a node that differs gets a Finding of a check `fleet-...`. Without a majority nobody
knows which is right, and the difference is only noted.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..node.facts import Inventory
from ..node.report import HOST, WORST_FIRST, Evidence, Finding, Report, Status, Subject
from ..node.request import Expected
from ..node.siblings import Comparison, compare
from .fold import node_set
from .traits import TRAITS, Trait, Value, interfaces

_MOST_TOLD = 4
"""Values that are named where all differ."""
_BAD = (Status.WARN, Status.CRIT, Status.UNKNOWN)


class Member(NamedTuple):
    """A node, and with whom it is compared."""

    report: Report
    kin: str
    """Equal for nodes that should be alike: `compute`."""
    expected: Expected = Expected()


class _Part(NamedTuple):
    """One part of like nodes: what it is on which."""

    comparison: Comparison | None
    """None for a part that only one node has."""
    texts: Mapping[Hashable, str]
    differ: str
    """Where no value has a majority: which nodes have which. Each node of many is told it."""
    lacking: frozenset[Hashable]
    """Those of the values that say that it is out of use."""
    nodes: int
    kin: str


def against_fleet(members: Sequence[Member]) -> tuple[Report, ...]:
    """The Reports in their order, with a Finding of each trait that a node shares with others of its kin."""
    kins: dict[str, list[Member]] = {}
    for member in members:
        if member.report.inventory is not None:
            kins.setdefault(member.kin, []).append(member)
    found: dict[str, list[Finding]] = {}
    for kin, same in kins.items():
        for node, finding in _compared(kin, same):
            found.setdefault(node, []).append(finding)
    return tuple(_with(member.report, found.get(member.report.node, ())) for member in members)


def _with(report: Report, more: Sequence[Finding]) -> Report:
    ordered = sorted((*report.findings, *more), key=lambda finding: WORST_FIRST.index(finding.status))
    return report._replace(findings=tuple(ordered)) if more else report


def _compared(kin: str, members: Sequence[Member]) -> Iterator[tuple[str, Finding]]:
    """Each node's findings: one for every odd part, or one that says that none is odd."""
    seen = [member.report.inventory or Inventory() for member in members]
    ports = [interfaces(each, member.expected) for each, member in zip(seen, members, strict=True)]
    for trait in TRAITS:
        read = [tuple(trait.read(*look)) for look in zip(seen, ports, strict=True)]
        if trait.merge:
            merged = trait.merge(value.value for values in read for value in values)
            read = [tuple(value._replace(value=merged[value.value]) for value in values) for values in read]
        parts = _parts(kin, members, read)
        for member, values in zip(members, read, strict=True):
            for finding in _judged(trait, member, values, parts):
                yield member.report.node, finding


def _parts(kin: str, members: Sequence[Member], read: Sequence[Sequence[Value]]) -> dict[Subject, _Part]:
    found: dict[Subject, list[tuple[Subject, Value]]] = {}
    for member, values in zip(members, read, strict=True):
        node = Subject("host", member.report.node, member.report.node)
        for value in values:
            found.setdefault(value.subject, []).append((node, value))
    return {subject: _part(kin, values) for subject, values in found.items()}


def _part(kin: str, found: Sequence[tuple[Subject, Value]]) -> _Part:
    texts = {value.value: value.text for _, value in found}
    lacking = frozenset(value.value for _, value in found if value.lacks)
    comparison = compare([(node, value.value) for node, value in found])
    differ = _groups(comparison, texts) if comparison and comparison.common is None else ""
    return _Part(comparison, texts, differ, lacking, len(found), kin)


def _judged(trait: Trait, member: Member, values: Sequence[Value], parts: Mapping[Subject, _Part]) -> Sequence[Finding]:
    shared = [value for value in values if parts[value.subject].comparison]
    if not shared or trait.exact(member.expected):
        return ()
    odd = [finding for value in shared for finding in _odd(trait, member, value, parts[value.subject])]
    if not odd:
        return (_pass(trait, shared, parts[shared[0].subject]),)
    return [finding for finding in odd if not _told(trait, member.report, finding.subject)]


def _told(trait: Trait, report: Report, subject: Subject) -> bool:
    """Whether the node's own checks already found this part, or any part of the host, to be bad."""
    judges = (trait.judged_by, trait.judged_too)
    own = [finding for finding in report.findings if finding.check in judges and finding.status in _BAD]
    return any(subject == HOST or finding.subject in (HOST, subject) for finding in own)


def _odd(trait: Trait, member: Member, value: Value, part: _Part) -> Iterator[Finding]:
    comparison = part.comparison
    if comparison is None or (comparison.common and comparison.common.value == value.value):
        return
    name = "" if value.subject == HOST else f"{value.subject.name}: "
    if comparison.common is None:
        summary = f"{name}nodes of {part.kin} differ: {part.differ}"
        fold = f"{trait.check} info {value.subject.name} {part.kin}"
        yield Finding(trait.check, Status.INFO, value.subject, summary, fold=fold)
        return
    common = part.texts[comparison.common.value]
    others = f"{len(comparison.common.subjects)} of {part.nodes} nodes of {part.kin}"
    more = comparison.common.value in part.lacking and not value.lacks
    status = Status.INFO if more or trait.declared(member.expected) else value.odd
    yield Finding(
        trait.check,
        status,
        value.subject,
        f"{name}{value.text}; {others}: {common}",
        (Evidence(value.subject.name, value.text, trait.source), Evidence(others, common, trait.source)),
        None if status is Status.INFO else trait.remedy,
        fold=f"{trait.check} {status.value} {value.subject.name} {value.text}",
    )


def _groups(comparison: Comparison, texts: Mapping[Hashable, str]) -> str:
    """`kernel 6.1 on gpu[001-002]; kernel 6.5 on gpu[003-004]`"""
    told = comparison.others[:_MOST_TOLD]
    pieces = [f"{texts[group.value]} on {node_set(node.name for node in group.subjects)}" for group in told]
    left = len(comparison.others) - len(told)
    return "; ".join([*pieces, f"{left} more values"] if left else pieces)


def _pass(trait: Trait, shared: Sequence[Value], part: _Part) -> Finding:
    what = shared[0].text if len(shared) == 1 else f"{len(shared)} interfaces"
    summary = f"{what}, as on most of {part.nodes} nodes of {part.kin}"
    return Finding(trait.check, Status.PASS, HOST, summary, fold=f"{trait.check} pass host")
