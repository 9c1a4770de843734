"""The communication environments of many nodes: the one that differs is named, before NCCL hangs over it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..node.comm.rendering import HCA
from ..node.report import HOST, Environment, Evidence, Finding, Report, Status, Subject
from .fold import node_set

CONF = Subject("file", "/etc/nccl.conf", "/etc/nccl.conf")
_UNSET = "not set"


def compared(reports: Sequence[Report]) -> tuple[Report, ...]:
    """The Reports, each with what of its environment differs from that of most, and one that says that nothing does."""
    usual = _usual([report for report in reports if _rendered(report)])
    return tuple(report._replace(findings=tuple(_judged(report, usual))) for report in reports)


class _Usual(NamedTuple):
    """What most nodes have of one variable; a tie is decided by who comes first."""

    value: str
    nodes: str
    """Those that have it, folded: worked out once, as it is told of every node that differs."""


def _usual(reports: Sequence[Report]) -> dict[str, _Usual]:
    """By variable; none of those in which all agree."""
    given = [(report.node, _values(report)) for report in reports]
    found: dict[str, _Usual] = {}
    for name in dict.fromkeys(name for _, values in given for name in values):
        nodes: dict[str, list[str]] = {}
        for node, values in given:
            nodes.setdefault(values.get(name, _UNSET), []).append(node)
        value = max(nodes, key=lambda value: len(nodes[value]))
        if len(nodes) > 1:
            found[name] = _Usual(value, node_set(nodes[value]))
    return found


def _rendered(report: Report) -> Environment | None:
    environment = report.environment
    return environment if environment and not environment.refused else None


def _values(report: Report) -> dict[str, str]:
    environment = _rendered(report)
    if environment is None:
        return {}
    given = {each.name: each.value for each in environment.variables if each.value is not None}
    return {**given, CONF.name: environment.configured or _UNSET}


def _judged(report: Report, usual: Mapping[str, _Usual]) -> Iterator[Finding]:
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
    odd = [name for name, most in usual.items() if mine.get(name, _UNSET) != most.value]
    for name in odd:
        yield _difference(name, mine.get(name, _UNSET), usual[name])
    if not odd:
        number = sum(each.value is not None for each in environment.variables)
        yield Finding("comm-equal", Status.PASS, HOST, f"{number} variables and {CONF.name}, as on most", fold="equal")


def _difference(name: str, value: str, usual: _Usual) -> Finding:
    subject = CONF if name == CONF.name else Subject("variable", name, name)
    evidence = (Evidence("here", value, subject.name), Evidence("on most", usual.value, usual.nodes))
    if name == HCA:
        text = f"{name}: {value} here, {usual.value} on most: with HCA sets that differ NCCL hangs"
        remedy = "mend the node's links, or leave the device out on all nodes at once"
        return Finding("comm-equal", Status.CRIT, subject, text, evidence, remedy, fold=text)
    other = f"differs from that of {usual.nodes}" if subject is CONF else f"{value} here, {usual.value} on most"
    text = f"{name}: {other}"
    return Finding("comm-equal", Status.WARN, subject, text, evidence, "make it equal on all nodes of a job", fold=text)
