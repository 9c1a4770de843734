"""What has happened: the notes of the nodes, the newest first."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from ...node.report import Report
from .fleet import STARTS
from .ink import Cell, Column, cell
from .items import Item, Section

_KEPT = 200
_GPU = re.compile(r"GPU (\d+): (.*)", re.DOTALL)


class Event(NamedTuple):
    at: float
    """Seconds since the epoch, by the clock of this host."""
    node: str
    text: str


class Events:
    """Of all nodes."""

    def __init__(self) -> None:
        self._kept: deque[Event] = deque(maxlen=_KEPT)
        self._reasons: dict[str, dict[str, str]] = {}
        self._silent: dict[str, str] = {}
        self._told: dict[str, Report] = {}
        """The newest of each node: one that is slower than the view is there twice."""

    def take(self, reports: Sequence[Report]) -> None:
        """The notes of one tick; each stands in one tick alone. A node that falls silent is an event too."""
        now = time.time()
        for report in reports:
            error = report.errors[0] if report.errors else None
            if error and error.kind == STARTS:
                continue
            message = f"{error.kind}: {error.message}" if error else ""
            if message != self._silent.get(report.node, ""):
                self._silent[report.node] = message
                self._kept.append(Event(now, report.node, message or "it answers again"))
            notes = report.notes if self._told.get(report.node) is not report else ()
            self._told[report.node] = report
            for note in notes:
                self._kept.append(Event(now, report.node, note))
                about = _GPU.match(note)
                if about:
                    self._reasons.setdefault(report.node, {})[about[1]] = about[2]

    def reasons(self, node: str) -> dict[str, str]:
        """What was last said of each GPU of a node, by its index."""
        return self._reasons.get(node, {})

    def section(self, node: str | None) -> Section:
        """Of one node, or of all."""
        found = [event for event in self._kept if node in (None, event.node)]
        columns = (Column("WHEN"), *([] if node else [Column("NODE")]), Column("WHAT"))
        return Section("events", "EVENTS", columns, [_item(event, node is None) for event in found], ("when", "node"))


def _item(it: Event, told: bool) -> Item:
    when = Cell(time.strftime("%H:%M:%S", time.localtime(it.at)), "dim")
    row = [when, *([cell(it.node)] if told else []), cell(it.text, "warn")]
    return Item(f"{it.at}", (it.at, it.node), f"{it.node} {it.text}", lambda: row)
