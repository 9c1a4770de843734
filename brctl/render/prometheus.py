"""Samples -> the text that Prometheus scrapes.

Written here and not by prometheus-client, which takes four times as long for the same bytes and cannot write counters
whose names do not end in `_total`; its parser is the judge of this writer in the tests. Absent is absent: what was not
measured in this tick has no line, neither NaN nor 0 nor its value of before.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..fleet.alert_series import NODE_UP as UP
from ..node.report import Report, Sample, Series, State
from ..node.samples import Group, grouped

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

LAST_SUCCESS = Series(
    "brctl_node_last_success_timestamp_seconds", "seconds", "gauge", (), "When the node last answered.", "time(2)",
    "exporter",
)  # fmt: skip
MOCK = Series(
    "brctl_mock_info", "", "gauge", ("machine",), "This node is no real one: the machine that stands in for it.",
    "--mock", "exporter",
)  # fmt: skip
CPU = Series(
    "brctl_exporter_cpu_seconds_total", "seconds", "counter", (),
    "What the exporter has used itself, without the agents.", "times(2)", "exporter",
)  # fmt: skip
OWN = (UP, LAST_SUCCESS, MOCK, CPU)
"""What the exporter says itself, also of a node that says nothing."""

_NAME = re.compile("[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile("(?!__)[a-zA-Z_][a-zA-Z0-9_]*")
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_HELP_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})

MOST_FAMILIES = 10_000
"""Names are kept that nobody tells any more; beyond so many all begins anew."""
_OWN_NAMES = {series.name for series in OWN}


class Health(NamedTuple):
    """Of one node."""

    node: str
    up: bool
    last_success: float | None
    """Seconds since the epoch; None before the first answer."""


class Family(NamedTuple):
    """All that is exposed under one name."""

    name: str
    kind: str
    help: str
    lines: list[str]


class _Written(NamedTuple):
    """A group as it was last written."""

    group: Group
    heads: list[str]
    """Of each sample all of its line but the value; empty where it cannot be told."""
    homes: list[tuple[list[str], Series | None]]
    """Where the line of each goes, the lines of its Family, and what it is of; None where it cannot be told."""
    lines: list[str]
    """Empty where there is nothing to tell."""


class Exposition:
    """Writes tick after tick. What stays the same of each line is kept from one to the next, and the lines of what was
    not read anew: it is most of the work."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Sequence[Series], list[_Written]]] = {}
        """By node, what it declares, and what was written, in the order of the groups."""
        self._families: dict[str, Family] = {}

    def write(
        self, reports: Iterable[Report], healths: Iterable[Health], cpu_s: float, open_metrics: bool = False
    ) -> bytes:
        """What was measured in one tick, the health of every node, and what the exporter has cost so far.

        Every line has the label `node`, but for the exporter's own cost.
        """
        families = self._families
        if len(families) > MOST_FAMILIES:
            families.clear()
            self._kept = {}
        for family in families.values():
            family.lines.clear()
        _lines_of(families, CPU).append(f"{CPU.name} {number(cpu_s)}\n")
        for health in healths:
            _tell(families, UP, health.node, (), float(health.up))
            if health.last_success is not None:
                _tell(families, LAST_SUCCESS, health.node, (), health.last_success)
        kept: dict[str, tuple[Sequence[Series], list[_Written]]] = {}
        for report in reports:
            if report.mock:
                _tell(families, MOCK, report.node, (report.mock.machine,), 1.0)
            series, before = self._kept.get(report.node, ((), []))
            written = _written(report, before if series == report.series else [], families)
            kept[report.node] = report.series, written
            _fill(families, written)
        self._kept = kept
        return text(families.values(), open_metrics)


def _written(report: Report, before: Sequence[_Written], families: dict[str, Family]) -> list[_Written]:
    groups = grouped(report.samples)
    if len(before) == len(groups) and all(known.group.alike(it) for known, it in zip(before, groups, strict=True)):
        return [
            known if known.group is group else known._replace(group=group, lines=_lines(known.heads, group))
            for known, group in zip(before, groups, strict=True)
        ]
    declared = {series.name: series for series in report.series}
    found = []
    for group, heads in zip(groups, _heads(report, declared, groups), strict=True):
        of_each = [declared[one.series] if head else None for one, head in zip(group, heads, strict=True)]
        homes = [(_lines_of(families, its) if its else [], its) for its in of_each]
        found.append(_Written(group, heads, homes, _lines(heads, group)))
    return found


def _fill(families: dict[str, Family], written: Iterable[_Written]) -> None:
    for one in written:
        for (home, series), line in zip(one.homes, one.lines, strict=True):
            if line:
                if not home and series:
                    _lines_of(families, series)
                home.append(line)


def _heads(report: Report, declared: Mapping[str, Series], groups: Iterable[Group]) -> Iterator[list[str]]:
    """A series that is there twice makes Prometheus drop the whole scrape: the first one counts, with or without a
    value."""
    seen = {""}
    for group in groups:
        heads = []
        for one in group:
            series = declared.get(one.series)
            head = _checked_head(series, report.node, one.labels) if series else ""
            heads.append("" if head in seen else head)
            seen.add(head)
        yield heads


def _lines(heads: Iterable[str], group: Group) -> list[str]:
    measured, finite = State.MEASURED, math.isfinite
    return [
        f"{head} {number(value)}\n" if head and state is measured and value is not None and finite(value) else ""
        for head, (_, _, value, state, _) in zip(heads, group, strict=True)
    ]


def measured(report: Report) -> Iterator[Sample]:
    """The samples that have a value of this tick."""
    for sample in report.samples:
        if sample.state is State.MEASURED and sample.value is not None and math.isfinite(sample.value):
            yield sample


def text(families: Iterable[Family], open_metrics: bool = False) -> bytes:
    """The exposition format of Prometheus, 0.0.4 or OpenMetrics 1.0."""
    parts: list[str] = []
    for family in families:
        if not family.lines:
            continue
        parts.append(_metadata(family.name, family.kind, family.help, open_metrics))
        parts += family.lines
    if open_metrics:
        parts.append("# EOF\n")
    return "".join(parts).encode("utf-8", "replace")


@lru_cache(maxsize=4096)
def _metadata(name: str, kind: str, help_text: str, open_metrics: bool) -> str:
    if open_metrics and kind == "counter" and name.endswith("_total"):
        name = name[: -len("_total")]
    return f"# HELP {name} {help_text.translate(_HELP_ESCAPES)}\n# TYPE {name} {kind}\n"


def number(value: float) -> str:
    """As short as it can be read back: `8`, `0.25`, `6.4e+10`."""
    if type(value) is int:  # as most are
        return str(value)
    whole = int(value)
    return str(whole) if whole == value and abs(whole) < 2**53 else repr(value)


def label_pairs(names: Sequence[str], values: Sequence[str]) -> str:
    """`a="1",b="2"`, with what a node sent escaped."""
    return ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in zip(names, values, strict=True))


def _tell(families: dict[str, Family], series: Series, node: str, labels: tuple[str, ...], value: float) -> None:
    _lines_of(families, series).append(f"{_head(series, node, labels)} {number(value)}\n")


def _lines_of(families: dict[str, Family], series: Series) -> list[str]:
    """Where two nodes tell it otherwise, the words of the first one in this text hold."""
    known = families.get(series.name)
    lines = known.lines if known else []
    if not known or (not lines and (known.kind, known.help) != (series.kind, series.help)):
        families[series.name] = Family(series.name, series.kind, series.help, lines)
    return lines


def _checked_head(series: Series, node: str, labels: tuple[str, ...]) -> str:
    return _head(series, node, labels) if len(series.labels) == len(labels) and _is_sound(series) else ""


def _head(series: Series, node: str, labels: tuple[str, ...]) -> str:
    return f"{series.name}{{{label_pairs(('node', *series.labels), (node, *labels))}}}"


@lru_cache(maxsize=4096)
def _is_sound(series: Series) -> bool:
    """Whether it can be exposed: one bad name of one node would cost all of them the scrape."""
    return (
        _NAME.fullmatch(series.name) is not None
        and series.name not in _OWN_NAMES
        and series.kind in ("gauge", "counter")
        and all(_LABEL.fullmatch(label) and label != "node" for label in series.labels)
        and len(set(series.labels)) == len(series.labels)
        and (series.kind == "gauge" or series.name.endswith("_total"))
    )
