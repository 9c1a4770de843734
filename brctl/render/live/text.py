"""A tick as tables that stand still: for pipes, logs and terminals that cannot be drawn on."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence

from rich.console import Console

from ...node.report import Report
from ..terminal import columns
from .frame import Scene
from .ink import Cell, Ink, ink, joined
from .items import Section
from .layout import laid_out
from .screen import UNKNOWN_SIZE
from .view import View, arranged
from .watch import Watch

_PIPE_COLUMNS = 160
"""As of all tables: wide enough for all columns, so that grep finds what it looks for."""

_LONGEST = 1000
"""Columns; a machine's own words may be long, and are cut here."""


class Printer:
    """Prints tick after tick."""

    def __init__(self, interval_s: float) -> None:
        console = Console()
        self._width = columns(console) or UNKNOWN_SIZE[0] if console.is_terminal else _PIPE_COLUMNS
        self._ink = ink(Console(no_color=True, force_terminal=False), sys.stdout.encoding)
        self._watch = Watch(interval_s)
        self._ticks = 0

    def show(self, reports: Sequence[Report], at: float) -> None:
        """Raises OSError: nobody reads."""
        self._watch.take(reports, at)
        scene = self._watch.scene(View(), self._ink, at)
        if self._ticks:
            print()
        self._ticks += 1
        for line in text(scene, self._width, self._ink):
            print(line)
        sys.stdout.flush()


def text(scene: Scene, width: int, pen: Ink) -> Iterator[str]:
    """The lines of one tick, with no blanks at their ends."""
    yield from _wrapped(joined([scene.head, scene.now], ""), width, pen)
    yield from _wrapped(joined(scene.summary, "  "), width, pen)
    for section in scene.sections:
        yield ""
        yield from _table(section, width, pen)


def _wrapped(cells: Sequence[Cell], width: int, pen: Ink) -> Sequence[str]:
    """Nothing is cut: here a line may go on in the next."""
    return textwrap.wrap(pen.paint(cells, _LONGEST).strip(), width, break_on_hyphens=False)


def _table(section: Section, width: int, pen: Ink) -> Iterator[str]:
    kept = [place for place, column in enumerate(section.columns) if not column.moving]
    columns = [section.columns[place]._replace(most=0) for place in kept]
    rows = [
        [cells[place] for place in kept if place < len(cells)]
        for cells in (item.cells() for item in arranged(View(), section))
    ]
    table = laid_out(columns, rows, width, pen.cut)
    for line in (table.titles, *(line for row in table.rows for line in row)):
        yield pen.paint(line, width).rstrip()
    if table.hidden:
        yield from _wrapped([Cell(f"not shown at {width} columns: {', '.join(table.hidden)}")], width, pen)
