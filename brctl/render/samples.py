"""Samples for programs: JSON, JSON lines, CSV."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ..fleet.balance import balance, stragglers
from ..fleet.xid_events import XidEvents
from ..node.codec import encode
from ..node.report import SCHEMA_VERSION, Report, Sample
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


_FEW = 1000
"""Heads of lines that cost nothing to keep."""


class Lines:
    """JSON lines: one a node and tick. What stands before a value is made once, as is the text of a sample that comes
    again: ten times a second most do."""

    def __init__(self) -> None:
        self._heads: dict[tuple[str, tuple[str, ...]], str] = {}
        self._xids = XidEvents()
        self._texts: dict[str, dict[int, tuple[Sample, str]]] = {}
        """By node, and by the sample's address, which says nothing unless it is the same sample."""

    def lines(self, found: Sequence[Report]) -> Iterator[str]:
        if len(self._heads) > 4 * sum(len(report.samples) for report in found) + _FEW:
            self._heads.clear()  # processes come and go
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
            samples = ",".join(self._samples(report))
            yield f'{json.dumps(rest, separators=(",", ":"))[:-1]},"samples":[{samples}]}}'

    def _samples(self, report: Report) -> list[str]:
        before = self._texts.get(report.node, {})
        self._texts[report.node] = now = {}
        names: dict[str, tuple[str, ...]] = {}
        texts = []
        tail, of = "", None
        for sample in report.samples:
            key = id(sample)
            known = before.get(key)
            if known is None or known[0] is not sample:
                series, labels, value, state, at = sample
                head = self._heads.get((series, labels))
                if head is None:
                    names = names or {one.name: one.labels for one in report.series}
                    head = self._heads[series, labels] = _head(series, names.get(series, ()), labels)
                if of != (state, at):  # most are as the one before
                    of, tail = (state, at), f',"state":"{state.value}","at":{at:.3f}}}'
                known = sample, f"{head}{'null' if value is None else repr(value)}{tail}"
            now[key] = known
            texts.append(known[1])
        return texts


def _head(series: str, names: Sequence[str], labels: Sequence[str]) -> str:
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
