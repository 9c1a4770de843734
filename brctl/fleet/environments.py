"""The communication environments of many nodes: the one that differs is named, before NCCL hangs over it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ..node.comm.rendering import HCA
from ..node.report import HOST, Environment, Evidence, Finding, Report, Status, Subject
from .fold import node_set

CONF = Subject("file", "/etc/nccl.conf", "/etc/nccl.conf")
_UNSET = "not set"


def compared(reports: Sequence[Report]) -> tuple[Report, ...]:
    """The Reports, each with what of its environment differs from that of most, and one that says that nothing does."""
    usual = _usual([report for report in reports if _rendered(report)])
    return tuple(report._replace(findings=tuple(_judged(report, usual))) for report in reports)


class _Usual:
    """What most nodes have, by variable; a tie is decided by who comes first."""

    def __init__(self, values: Mapping[str, Counter[str]], nodes: Mapping[tuple[str, str], list[str]]) -> None:
        self.names = list(values)
        self._values, self._nodes = values, nodes

    def of(self, name: str) -> str:
        return self._values[name].most_common(1)[0][0]

    def who(self, name: str, value: str) -> str:
        return node_set(self._nodes[name, value])


def _usual(reports: Sequence[Report]) -> _Usual:
    names = list(dict.fromkeys(name for report in reports for name in _values(report)))
    values = {name: Counter[str]() for name in names}
    nodes: dict[tuple[str, str], list[str]] = {}
    for report in reports:
        given = _values(report)
        for name in names:
            value = given.get(name, _UNSET)
            values[name][value] += 1
            nodes.setdefault((name, value), []).append(report.node)
    return _Usual(values, nodes)


def _rendered(report: Report) -> Environment | None:
    environment = report.environment
    return environment if environment and not environment.refused else None


def _values(report: Report) -> dict[str, str]:
    environment = _rendered(report)
    if environment is None:
        return {}
    given = {each.name: each.value for each in environment.variables if each.value is not None}
    return {**given, CONF.name: environment.configured or _UNSET}


def _judged(report: Report, usual: _Usual) -> Iterator[Finding]:
    environment = report.environment
    if environment is None:
        return
    if environment.refused:
        no_gpu = not (report.inventory and report.inventory.gpus)
        remedy = None if no_gpu else "mend that first, or leave the node out"
        status = Status.NA if no_gpu else Status.CRIT
        yield Finding("comm-equal", status, HOST, environment.refused, remedy=remedy, fold=environment.refused)
        return
    mine = _values(report)
    odd = [name for name in usual.names if mine.get(name, _UNSET) != usual.of(name)]
    for name in odd:
        yield _difference(name, mine.get(name, _UNSET), usual)
    if not odd:
        number = sum(each.value is not None for each in environment.variables)
        yield Finding("comm-equal", Status.PASS, HOST, f"{number} variables and {CONF.name}, as on most", fold="equal")


def _difference(name: str, value: str, usual: _Usual) -> Finding:
    others = usual.of(name)
    subject = CONF if name == CONF.name else Subject("variable", name, name)
    evidence = (Evidence("here", value, subject.name), Evidence("on most", others, usual.who(name, others)))
    if name == HCA:
        text = f"{name}: {value} here, {others} on most: with HCA sets that differ NCCL hangs"
        remedy = "mend the node's links, or leave the device out on all nodes at once"
        return Finding("comm-equal", Status.CRIT, subject, text, evidence, remedy, fold=text)
    other = f"differs from that of {usual.who(name, others)}" if subject is CONF else f"{value} here, {others} on most"
    text = f"{name}: {other}"
    return Finding("comm-equal", Status.WARN, subject, text, evidence, "make it equal on all nodes of a job", fold=text)
