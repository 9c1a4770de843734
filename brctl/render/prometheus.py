"""Samples -> the text that Prometheus scrapes.

Written here and not by prometheus-client, which takes four times as long for the same bytes and cannot write counters
whose names do not end in `_total`; its parser is the judge of this writer in the tests. Absent is absent: what was not
measured in this tick has no line, neither NaN nor 0 nor its value of before.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, repeat
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
    lines: list[str]
    """Empty where there is nothing to tell."""


class Exposition:
    """Writes tick after tick. What stays the same of each line is kept from one to the next, and the lines of what was
    not read anew: it is most of the work."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Sequence[Series], list[_Written]]] = {}
        """By node, what it declares, and what was written, in the order of the groups."""

    def write(
        self, reports: Iterable[Report], healths: Iterable[Health], cpu_s: float, open_metrics: bool = False
    ) -> bytes:
        """What was measured in one tick, the health of every node, and what the exporter has cost so far.

        Every line has the label `node`, but for the exporter's own cost.
        """
        families = {CPU.name: Family(CPU.name, CPU.kind, CPU.help, [f"{CPU.name} {number(cpu_s)}\n"])}
        for health in healths:
            _tell(families, UP, health.node, (), float(health.up))
            if health.last_success is not None:
                _tell(families, LAST_SUCCESS, health.node, (), health.last_success)
        kept: dict[str, tuple[Sequence[Series], list[_Written]]] = {}
        for report in reports:
            if report.mock:
                _tell(families, MOCK, report.node, (report.mock.machine,), 1.0)
            series, before = self._kept.get(report.node, ((), []))
            written = _written(report, before if series == report.series else [])
            kept[report.node] = report.series, written
            _add(families, report, written)
        self._kept = kept
        return text(families.values(), open_metrics)


def _written(report: Report, before: Sequence[_Written]) -> list[_Written]:
    groups = grouped(report.samples)
    same = len(before) == len(groups) and all(known.group.alike(it) for known, it in zip(before, groups, strict=True))
    heads = [known.heads for known in before] if same else list(_heads(report, groups))
    return [
        known if known and known.group is group and known.heads == each else _Written(group, each, _lines(each, group))
        for known, group, each in zip(chain(before, repeat(None)), groups, heads, strict=False)
    ]


def _heads(report: Report, groups: Iterable[Group]) -> Iterator[list[str]]:
    """A series that is there twice makes Prometheus drop the whole scrape: the first one counts, with or without a
    value."""
    declared = {each.name: each for each in report.series}
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


def _add(families: dict[str, Family], report: Report, each: Iterable[_Written]) -> None:
    of: dict[str, list[str]] = {name: family.lines for name, family in families.items()}
    declared = {series.name: series for series in report.series}
    for group, _, lines in each:
        for sample, line in zip(group, lines, strict=True):
            if line:
                name = sample.series
                if name not in of:
                    of[name] = _family(families, declared[name]).lines
                of[name].append(line)


def measured(report: Report) -> Iterator[Sample]:
    """The samples that have a value of this tick."""
    for sample in report.samples:
        if sample.state is State.MEASURED and sample.value is not None and math.isfinite(sample.value):
            yield sample


def text(families: Iterable[Family], open_metrics: bool = False) -> bytes:
    """The exposition format of Prometheus, 0.0.4 or OpenMetrics 1.0."""
    parts: list[str] = []
    for family in families:
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
    family = families.get(series.name) or _family(families, series)
    family.lines.append(f"{_head(series, node, labels)} {number(value)}\n")


def _family(families: dict[str, Family], series: Series) -> Family:
    """Where two nodes tell it otherwise, the first one's words hold."""
    made = families[series.name] = Family(series.name, series.kind, series.help, [])
    return made


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
