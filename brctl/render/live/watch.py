"""Ticks -> what there is to show of them: one node whole, or many with a row each."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ...node.report import Mock, NodeError, Report
from . import alerts, amounts, fleet, gpus, parts
from .events import Events
from .frame import Scene
from .ink import Cell, Ink, Line, cell
from .items import Section
from .seen import Histories, Node
from .view import View

SILENT = NodeError("silent", "no tick has come for too long")


class Watch:
    """What is known after the newest tick."""

    def __init__(self, interval_s: float, here: str | None = None, parents: parts.Parents | None = None) -> None:
        """`here`: the node that this host is, of which `parents` knows the processes."""
        self.interval_s = interval_s
        self._here, self._parents = here, parents
        self._reports: Sequence[Report] = ()
        self._at = 0.0
        self._histories = Histories()
        self._events = Events()
        self._plans: dict[str, fleet.Plan] = {}
        self._summaries: list[fleet.Summary] = []
        self._firing: Sequence[Line] = ()
        self._looked_at: str | None = None

    def take(self, reports: Sequence[Report], at: float) -> None:
        """A tick has come; `at` by the monotonic clock."""
        self._reports, self._at = reports, at
        self._events.take(reports)
        if len(reports) > 1:
            self._summaries = [
                fleet.summary(report, self._plans.setdefault(report.node, fleet.Plan())) for report in reports
            ]
            fleet.note(self._summaries, self._histories)
            self._firing = alerts.counted(reports)  # here and not in each frame: 1024 nodes have a million samples
        for report in reports:
            if len(reports) <= _DETAILED or report.node == self._looked_at:
                gpus.note(Node(report), self._histories)

    def scene(self, view: View, ink: Ink, clock: float) -> Scene:
        """To be drawn now, at `clock`. Old values are none: where no tick has come for too long, none is shown."""
        age_s = clock - self._at
        silent = bool(self._reports) and not view.paused and age_s > patience_s(self.interval_s)
        now = _now(self.interval_s, view.paused, silent, age_s if self._reports else None)
        if not self._reports:
            return Scene([Cell(" brctl monitor", "")], now, [[Cell("waiting for the first tick", "dim")]], ())
        self._looked_at = view.node
        report = self._looked_into(view)
        if report is None:
            return self._fleet(ink, now, silent)
        node = Node(report, silent)
        head = [cell(f" {report.node}"), *_mocked(report.mock)]
        counted = [] if silent else alerts.counted([report])
        return Scene(head, now, [*counted, *parts.summary(node)], self._sections(node, ink))

    def refusal(self, view: View) -> str:
        """Why no process that is shown can be signalled from here; empty where one can be."""
        report = self._looked_into(view)
        if report and report.mock:
            return "a mock has no processes to signal"
        return "" if report and report.node == self._here else "only processes of this host can be signalled"

    def _looked_into(self, view: View) -> Report | None:
        if len(self._reports) == 1:
            return self._reports[0]
        return next((report for report in self._reports if report.node == view.node), None)

    def _fleet(self, ink: Ink, now: Line, silent: bool) -> Scene:
        shown = self._summaries
        if silent:
            shown = [fleet.silent(each.node, SILENT) for each in shown]
        mocks = {report.mock for report in self._reports}
        mocked = _mocked(self._reports[0].mock) if len(mocks) == 1 else [Cell("  mock machines")]
        head = [Cell(f" {len(shown)} nodes"), *mocked]
        tables = [fleet.nodes(shown, self._histories, ink), self._events.section(None)]
        counted = () if silent else self._firing
        return Scene(head, now, [*counted, *fleet.total(shown)], [table for table in tables if table.items])

    def _sections(self, node: Node, ink: Ink) -> list[Section]:
        parents = self._parents if node.name == self._here and not node.mock else None
        table = gpus.gpus(node, self._histories, ink, self._events.reasons(node.name))
        made = [table, alerts.section(node), self._events.section(node.name), *parts.sections(node, ink, parents)]
        return [section for section in made if section.items]


_DETAILED = 16
"""So many nodes have a history of every GPU; of more there is one of each node, and a node's own begins when it is
looked into."""


def patience_s(interval_s: float) -> float:
    """How long a tick may be late before what it would have replaced is old."""
    return 2 * interval_s + 1


def _now(interval_s: float, paused: bool, silent: bool, age_s: float | None) -> Line:
    """`age_s`: of what is shown; None: nothing is yet."""
    words = f"  every {interval_s:g} s  {time.strftime('%H:%M:%S')} "
    if paused:
        return [Cell("  PAUSED" if age_s is None else f"  PAUSED, {amounts.lasting(age_s)} old"), Cell(words)]
    return [Cell(f"  NO ANSWER for {amounts.lasting(age_s or 0.0)}"), Cell(words)] if silent else [Cell(words)]


def _mocked(mock: Mock | None) -> Line:
    """What every screen says of a machine that is not there."""
    from ..headline import mocked

    return [cell(f"  {mocked(mock)}")] if mock else []
