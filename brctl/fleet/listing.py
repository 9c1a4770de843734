"""One row a node: what `node-manager list` shows, sorts and filters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from ..node.facts import Inventory
from ..node.patterns import natural
from ..node.report import WORST_FIRST, Finding, Report
from .drain import NodeState
from .fold import ALIKE


class Row(NamedTuple):
    node: str
    state: str
    """`up`, or the kind of error for which there is no Report: `timeout`, `refused`."""
    scheduler: str | None
    """The state there, as the scheduler's own tools write it; `absent` for a node that it does not know, null where
    none was asked or answers."""
    gpus: int | None
    """How many answer; null without a GPU, and without a Report."""
    gpus_faulty: int | None
    """How many do not: lost, hung."""
    model: str | None
    driver: str | None
    worst: str
    """The worst finding: `crit gpu-responding`, `ok`; `unknown` without a Report."""
    reason: str | None
    """Why the scheduler gives it no jobs."""
    mock: str | None = None
    """The machine that stands in for a real one, as `--mock` named it."""


FILTER = re.compile(r"([a-z_]+)(!?=)(.*)")


def row(report: Report, states: Mapping[str, NodeState] | None) -> Row:
    """The row of a node; `states` is None where no scheduler was asked."""
    seen = report.inventory or Inventory()
    faulty = sum(gpu.fault is not None for gpu in seen.gpus or ())
    models = sorted({gpu.identity.name for gpu in seen.gpus or () if gpu.identity})
    state = states.get(report.node) if states is not None else None
    return Row(
        report.node,
        report.errors[0].kind if report.errors else "up",
        None if states is None else state.word if state else "absent",
        None if seen.gpus is None else len(seen.gpus) - faulty,
        None if seen.gpus is None else faulty,
        " and ".join(models) or None,
        seen.accelerator_driver.version if seen.accelerator_driver else None,
        "unknown" if report.errors else _worst(report.findings),
        state.reason if state else None,
        report.mock.machine if report.mock else None,
    )


def chosen(rows: Iterable[Row], filters: Sequence[str]) -> list[Row]:
    """The rows that fit all of `state=up`, `worst!=ok`, `model=*H100*`: shell patterns, a missing value being `-`.

    Raises ValueError for what is no filter.
    """
    tests = [_test(text) for text in filters]
    return [each for each in rows if all(test(each) for test in tests)]


def arranged(rows: Iterable[Row], column: str) -> list[Row]:
    """The rows in the order of a column; `worst` begins with the worst. Raises ValueError where there is no such."""
    place = _column(column)
    by_node = sorted(rows, key=lambda each: natural(each.node))
    if column == "worst":
        return sorted(by_node, key=lambda each: _badness(each.worst))
    return sorted(by_node, key=lambda each: (each[place] is None, natural(str(each[place]))))


def _worst(findings: Sequence[Finding]) -> str:
    calling = [finding for finding in findings if finding.status not in ALIKE]
    if not calling:
        return "ok"
    first = min(calling, key=lambda finding: WORST_FIRST.index(finding.status))
    return f"{first.status.value} {first.check}"


def _badness(worst: str) -> int:
    """Of what `_worst` says; a node without a Report is the worst."""
    words = [status.value for status in WORST_FIRST]
    first, _, check = worst.partition(" ")
    if not check:
        return -1 if first == "unknown" else len(words)
    return words.index(first)


def _test(text: str) -> Callable[[Row], bool]:
    match = FILTER.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is no filter such as state=up, worst!=ok or model=*H100*")
    place, wanted = _column(match.group(1)), match.group(2) == "="

    def fits(each: Row) -> bool:
        shown = "-" if each[place] is None else str(each[place])
        return fnmatchcase(shown, match.group(3)) is wanted

    return fits


def _column(name: str) -> int:
    if name not in Row._fields:
        raise ValueError(f"there is no column {name!r}; there are {', '.join(Row._fields)}")
    return Row._fields.index(name)
