"""Many Reports -> few groups: nodes that say the same are told once."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet

from ..node.report import WORST_FIRST, Finding, NodeError, Report, Status

ALIKE = (Status.PASS, Status.NA)
"""These call for nobody: nodes that differ in them alone are one group."""


class Group(NamedTuple):
    """Nodes whose Reports say the same."""

    nodes: str
    """The folded node set: `gpu[001-126]`."""
    reports: tuple[Report, ...]
    """In the order of the nodes' names."""

    @property
    def worst(self) -> Status | None:
        """The worst status; None where a node gave no Report."""
        if self.reports[0].errors:
            return None
        return worst(self.reports[0])


class Silence(NamedTuple):
    """Nodes that could not be asked, for one reason."""

    nodes: str
    node_count: int
    error: NodeError
    """Of the first of them."""
    speaker: str | None
    """That first node, where the others' messages differ: they may name addresses."""


class Telling(NamedTuple):
    """One finding of a group, in the words of its nodes: they may name serial numbers, and so differ."""

    nodes: str
    node_count: int
    finding: Finding


def node_set(names: Iterable[str]) -> str:
    """`gpu[001-126,128]`"""
    found = list(names)
    return found[0] if len(found) == 1 else str(NodeSet.fromlist(found, resolver=RESOLVER_NOGROUP))


def ordered(names: Iterable[str]) -> tuple[str, ...]:
    """Each name once, gpu2 before gpu10."""
    return tuple(NodeSet.fromlist(list(names), resolver=RESOLVER_NOGROUP))


def stem(name: str) -> str:
    """`gpu*` of gpu001: like names stand for like nodes where nothing else does."""
    return re.sub("[0-9]+", "*", name)


def worst(report: Report) -> Status:
    """The worst status of a Report's findings; PASS where there are none."""
    return min((finding.status for finding in report.findings), key=WORST_FIRST.index, default=Status.PASS)


def fold(reports: Sequence[Report], everything: bool = False) -> tuple[Group, ...]:
    """Groups by what is wrong, worst first, and of equally bad ones the smallest first: the outliers.

    Errors come before all findings: a silent node is worse than a sick one. With `everything`, what is well counts too.
    """
    groups = group(reports, lambda report: _content(report, everything))
    return tuple(sorted(groups, key=lambda group: (_rank(group.worst), len(group.reports))))


def group(reports: Sequence[Report], content: Callable[[Report], Hashable]) -> tuple[Group, ...]:
    """Reports of equal content; the smallest group first, of equal ones the one with the first node."""
    found: dict[Hashable, list[Report]] = {}
    by_name = {report.node: report for report in reports}
    for report in (by_name[name] for name in ordered(by_name)):
        found.setdefault(content(report), []).append(report)
    groups = [Group(node_set(report.node for report in same), tuple(same)) for same in found.values()]
    return tuple(sorted(groups, key=lambda group: len(group.reports)))


def silences(reports: Sequence[Report]) -> tuple[Silence, ...]:
    """The nodes that gave errors, by their kind and hint; the fewest first."""
    found: dict[tuple[str, str | None], list[tuple[str, NodeError]]] = {}
    for report in reports:
        for error in report.errors[:1]:  # what else went wrong came of it
            found.setdefault((error.kind, error.hint), []).append((report.node, error))
    return tuple(sorted(map(_silence, found.values()), key=lambda silence: silence.node_count))


def tellings(group: Group, chosen: Callable[[Finding], bool]) -> tuple[tuple[Telling, ...], ...]:
    """The group's findings as the first node orders them, each in its different wordings, the most frequent first."""
    found: dict[str, dict[str, list[tuple[str, Finding]]]] = {}
    for report in group.reports:
        for finding in filter(chosen, report.findings):
            found.setdefault(key(finding), {}).setdefault(finding.summary, []).append((report.node, finding))
    return tuple(tuple(_wordings(by_summary.values())) for by_summary in found.values())


def key(finding: Finding) -> str:
    """Equal where the same thing is wrong with the same part."""
    return finding.fold or f"{finding.check} {finding.status.value} {finding.subject.name}"


def _silence(same: Sequence[tuple[str, NodeError]]) -> Silence:
    name, error = same[0]
    alike = all(other == error for _, other in same)
    return Silence(node_set(name for name, _ in same), len(same), error, None if alike else name)


def _wordings(same: Iterable[Sequence[tuple[str, Finding]]]) -> list[Telling]:
    told = [Telling(node_set(name for name, _ in each), len(each), each[0][1]) for each in same]
    return sorted(told, key=lambda telling: -telling.node_count)


def _content(report: Report, everything: bool) -> Hashable:
    errors = tuple(sorted({error.kind for error in report.errors}))
    chosen = (finding for finding in report.findings if everything or finding.status not in ALIKE)
    return errors, frozenset(map(key, chosen))


def _rank(status: Status | None) -> int:
    if status is None:
        return -1
    return len(WORST_FIRST) if status in ALIKE else WORST_FIRST.index(status)
