"""What a terminal is to the rest of this room: escaped text, colour where it is wanted, tables that fit."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.console import Console, ConsoleDimensions
from rich.segment import Segments
from rich.text import Text

from ..node.report import Status
from .clean import clean
from .headline import PIPE_COLUMNS

STYLES = {
    Status.CRIT: "bold red",
    Status.WARN: "yellow",
    Status.UNKNOWN: "magenta",
    Status.INFO: "cyan",
    Status.NA: "dim",
    Status.PASS: "green",
}
_GAP = 2
NARROWEST = 24
"""Cells that a paragraph needs to be read at all."""
_LEAST_INDENT = 4
_LEAST_COLUMNS, _UNKNOWN_COLUMNS = 10, 80


class Column(NamedTuple):
    """One column of a table."""

    title: str
    rank: int = 0
    """0 is always shown; of the others, the highest goes first where the terminal is narrow."""
    right: bool = False
    wrap: bool = False
    """Takes the width that the others leave."""
    least: int = NARROWEST
    """Cells that it needs to be read at all, if it wraps, once no other column is left to be left out."""


def columns(console: Console) -> int:
    """How wide stdout is; every dumb terminal has 80 for rich, whatever it says."""
    if not console.is_dumb_terminal:
        return console.width
    given = os.environ.get("COLUMNS", "")
    try:
        return int(given) if given.isdecimal() else os.get_terminal_size(sys.stdout.fileno()).columns
    except OSError:
        return console.width


class _Console(Console):
    """rich's own ends the program with 1 where the reader of its output went away."""

    def on_broken_pipe(self) -> None:
        raise  # it is called while the BrokenPipeError is handled


class Terminal:
    """stdout, with a width."""

    _begun = False
    """Something is printed."""

    def __init__(self) -> None:
        # legacy_windows and the like are left to rich; NO_COLOR, TERM=dumb, COLUMNS are honoured by it.
        self.console = _Console(highlight=False, markup=False, emoji=False, soft_wrap=False)
        width = columns(self.console)
        if not self.console.is_terminal and not _columns_given():
            width = PIPE_COLUMNS
        elif width < _LEAST_COLUMNS:  # a terminal that does not know, or COLUMNS=0
            width = _UNKNOWN_COLUMNS
        self.console.size = ConsoleDimensions(width, self.console.height)  # asked once, not several times a line

    def line(self, text: Text | str = "", indent: int = 0) -> None:
        """One paragraph, wrapped at the terminal's width under its own indent."""
        self.hanging(Text(), text, indent)

    def hanging(self, head: Text, text: Text | str, indent: int) -> None:
        """`head` and beside it a paragraph that wraps under itself; under `head` where there is no room beside it."""
        if indent > _LEAST_INDENT and self.console.width - indent < NARROWEST:
            self._print([_clean(head)] if head.plain.strip() else [])
            return self.line(text, indent=_LEAST_INDENT)
        lines = self._wrap(_clean(text), self.console.width - indent)
        if not (indent or head):
            return self._print(lines)
        heads = [_clean(head), *[Text()] * (len(lines) - 1)]
        return self._print([_padded(before, indent) + line for before, line in zip(heads, lines, strict=True)])

    def gap(self) -> None:
        """An empty line, where anything stands above."""
        if self._begun:
            self.line()

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[Text | str | None]]) -> None:
        """A table without frames. What does not fit is left out, and said."""
        cells = [[_cell(value) for value in row] for row in rows]
        cells.insert(0, [Text(column.title, style="bold") for column in columns])
        widths, shown = _fitting(columns, cells, self.console.width)
        self._print([line for row in cells for line in self._row(columns, row, widths, shown)])
        hidden = [column.title for i, column in enumerate(columns) if i not in shown]
        if hidden:
            self.line(Text(f"not shown at {self.console.width} columns: {', '.join(hidden)}", style="dim"))

    def _row(
        self, columns: Sequence[Column], row: Sequence[Text], widths: Sequence[int], shown: Sequence[int]
    ) -> Iterable[Text]:
        """The lines of one row: more than one where a cell wraps."""
        wrapped = {i: self._wrap(row[i], widths[i]) if columns[i].wrap else [row[i]] for i in shown}
        for number in range(max(len(lines) for lines in wrapped.values())):
            parts = [wrapped[i][number] if number < len(wrapped[i]) else Text() for i in shown]
            padded = [_padded(part, widths[i], columns[i].right) for i, part in zip(shown, parts, strict=True)]
            yield Text(" " * _GAP).join(padded)

    def _wrap(self, text: Text, width: int) -> list[Text]:
        if text.cell_len <= width and "\n" not in text.plain:  # rich would take its time to find that out
            return [text]
        return list(text.wrap(self.console, max(1, width))) or [text]

    def _print(self, lines: Iterable[Text]) -> None:
        """Lines without blanks at their ends, which only get in the way of grep; cut where nothing else helps."""
        ready: list[Text] = []
        for line in lines:
            line.rstrip()
            if not line.spans:  # rich's `render` knows of no other styles
                line.stylize(line.style)
            ready += self._wrap(line, self.console.width) if line.cell_len > self.console.width else [line]
        if ready:
            self._begun = True
            # As segments: rich would wrap and join the lines once more, which takes as long again.
            segments = (segment for line in ready for segment in line.render(self.console, end="\n"))
            self.console.print(Segments(segments), end="", soft_wrap=True)


def _padded(text: Text, width: int, right: bool = False) -> Text:
    blanks = Text(" " * (width - text.cell_len))
    return blanks + text if right else text + blanks


def _columns_given() -> bool:
    return os.environ.get("COLUMNS", "").isdecimal()


def _cell(value: Text | str | None) -> Text:
    """None is shown as `-`: not there, which is not 0."""
    return Text("-", style="dim") if value is None else _clean(value)


def _clean(value: Text | str) -> Text:
    """The one place where text gets in, so that nobody can forget to clean it."""
    text = Text(value) if isinstance(value, str) else value.copy()
    text.plain = clean(text.plain)
    return text


def _fitting(columns: Sequence[Column], cells: Sequence[Sequence[Text]], width: int) -> tuple[list[int], list[int]]:
    """The width of each column, and which of them to show."""
    widths = [max(row[i].cell_len for row in cells) for i in range(len(columns))]
    enough = [min(w, NARROWEST) if column.wrap else w for w, column in zip(widths, columns, strict=True)]

    def room(of: Sequence[int]) -> int:
        return width - sum(of[i] + _GAP for i in shown) + _GAP

    shown = list(range(len(columns)))
    for i in sorted(shown, key=lambda i: -columns[i].rank):
        if columns[i].rank == 0 or room(enough) >= 0:
            break
        shown.remove(i)
    for i in shown:
        if columns[i].wrap:
            widths[i] = max(min(widths[i], columns[i].least), widths[i] + min(0, room(widths)))
    return widths, shown
