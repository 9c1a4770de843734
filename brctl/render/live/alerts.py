"""What fires: a table of one node, a word of many."""

from __future__ import annotations

from collections.abc import Sequence

from ...fleet.alert_series import FIRING
from ...node.report import Report
from ...node.samples import of
from .ink import Cell, Column, Line, cell
from .items import Item, Section
from .seen import Node

_RANKS = {"critical": 0.0, "warning": 1.0, "info": 2.0}
_STYLES = {"critical": "crit", "warning": "warn"}


def section(node: Node) -> Section:
    """Without rows where nothing fires."""
    firing = (labels for labels in node.each(FIRING.name) if node.value(FIRING.name, labels))
    items = [_item(*labels) for labels in firing if len(labels) == len(FIRING.labels)]
    columns = (Column("ALERT"), Column("SEVERITY"), Column("OF"))
    return Section("alerts", "ALERTS", columns, items, ("severity", "alert"), frozenset({"severity"}))


def _item(alert: str, severity: str, part: str) -> Item:
    row = [cell(alert, _STYLES.get(severity, "")), cell(severity), cell(part or "the node")]
    words = f"{alert} {severity} {part}"
    return Item(f"{alert} {part}", (_RANKS.get(severity, 3.0), alert), words, lambda: row)


def counted(reports: Sequence[Report]) -> list[Line]:
    """A piece of the line that sums many nodes up; nothing where nothing fires."""
    firing = [one.labels for report in reports for one in of(report.samples, FIRING.name) if one.value]
    critical = sum(labels[1:2] == ("critical",) for labels in firing)
    if not firing:
        return []
    word = f"{len(firing)} alert{'s' if len(firing) > 1 else ''}"
    return [[Cell(f"{word}, {critical} critical" if critical else word, "crit" if critical else "warn")]]
