"""Samples for programs: JSON, JSON lines, CSV."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, repeat
from typing import NamedTuple

from ..fleet.balance import balance, stragglers
from ..fleet.xid_events import XidEvents
from ..node.codec import encode
from ..node.report import SCHEMA_VERSION, Report, Sample, Series
from ..node.samples import Group, grouped
from .clean import clean
from .data import dump, reports


def document(found: Sequence[Report]) -> str:
    """One tick as JSON, as docs/json.md has it, with how evenly the GPUs work; a sample a line."""
    bare = [report._replace(samples=()) for report in found]
    plain = {**reports("monitor", bare), "balance": encode(balance(found)), "stragglers": encode(stragglers(found))}
    for report, samples in zip(plain["reports"], found, strict=True):
        report["samples"] = _MARK if samples.samples else []
    head, *rest = dump(plain, "json").split(f'"{_MARK}"')
    texts = (_indented(report.samples) for report in found if report.samples)
    return head + "".join(text + after for text, after in zip(texts, rest, strict=True))


_MARK = os.urandom(16).hex()
"""Stands where samples will. No node can know it."""
_quoted = lru_cache(maxsize=4096)(json.dumps)


def _indented(samples: Sequence[Sample]) -> str:
    """As `json.dumps` would with an indent, but for the lines of each sample, and in a tenth of the time."""
    rows = ",\n        ".join(map(_row, samples))
    return f"[\n        {rows}\n      ]"


def _row(sample: Sample) -> str:
    series, labels, value, state, at = sample
    head = f'{{"series": {_quoted(series)}, "labels": {_quoted(labels)}, "value": '
    return f'{head}{"null" if value is None else repr(value)}, "state": "{state.value}", "at": {at!r}}}'


class _Text(NamedTuple):
    """Of a group, and what stands before each value."""

    group: Group
    heads: list[str]
    text: str


class Lines:
    """JSON lines: one a node and tick. What stands before a value is made once, and what was read before and not anew
    keeps its text: ten times a second most does."""

    def __init__(self) -> None:
        self._xids = XidEvents()
        self._kept: dict[str, tuple[Sequence[Series], list[_Text]]] = {}
        """By node, what it declares, and what was written, in the order of the groups."""

    def lines(self, found: Sequence[Report]) -> Iterator[str]:
        for report in found:
            rest = {
                "schema_version": SCHEMA_VERSION,
                "node": report.node,
                "time": report.time,
                "mock": encode(report.mock),
                "errors": encode(report.errors),
                "notes": encode(report.notes),
                "xids": encode(self._xids.of(report)),
            }
            series, before = self._kept.get(report.node, ((), []))
            texts = list(_texts(before if series == report.series else [], report))
            self._kept[report.node] = report.series, texts
            samples = ",".join(one.text for one in texts if one.text)
            yield f'{json.dumps(rest, separators=(",", ":"))[:-1]},"samples":[{samples}]}}'


def _texts(before: Sequence[_Text], report: Report) -> Iterator[_Text]:
    names: dict[str, tuple[str, ...]] = {}
    for known, group in zip(chain(before, repeat(None)), grouped(report.samples), strict=False):
        if known and known.group is group:
            yield known
            continue
        if known and known.group.alike(group):
            heads = known.heads
        else:
            names = names or {one.name: one.labels for one in report.series}
            heads = [_head(one.series, names.get(one.series, ()), one.labels) for one in group]
        yield _Text(group, heads, ",".join(_values(heads, group)))


def _values(heads: Sequence[str], group: Group) -> Iterator[str]:
    tail, state, at = "", None, 0.0
    for head, (_, _, value, its, its_at) in zip(heads, group, strict=True):
        if its is not state or its_at != at:  # most are as the one before
            state, at, tail = its, its_at, f',"state":"{its.value}","at":{its_at:.3f}}}'
        yield f"{head}{value}{tail}" if value is not None else f"{head}null{tail}"


def _head(series: str, names: tuple[str, ...], labels: tuple[str, ...]) -> str:
    plain = {"series": series, "labels": dict(zip(names, labels, strict=False))}
    return json.dumps(plain, separators=(",", ":"))[:-1] + ',"value":'


CSV_HEADER = "at,node,series,labels,value,state,unit"


class Rows:
    """CSV: a row a sample, labels as `gpu=0;uuid=GPU-...`."""

    def __init__(self) -> None:
        import csv  # of no use to the others
        import io

        self._text = io.StringIO()
        self._writer = csv.writer(self._text, lineterminator="\n")

    def lines(self, found: Sequence[Report]) -> Iterator[str]:
        for report in found:
            of = {one.name: one for one in report.series}
            for sample in report.samples:
                series = of.get(sample.series)
                labels = _pairs(series.labels if series else (), sample)
                value = "" if sample.value is None else repr(sample.value)
                unit = clean(series.unit) if series else ""
                self._writer.writerow(
                    (f"{sample.at:.3f}", report.node, clean(sample.series), labels, value, sample.state.value, unit)
                )
            yield self._text.getvalue()[:-1]
            self._text.seek(0)
            self._text.truncate()


def _pairs(names: Sequence[str], sample: Sample) -> str:
    return ";".join(f"{name}={clean(value)}" for name, value in zip(names, sample.labels, strict=False))
