"""What a terminal is to the rest of this room: escaped text, colour where it is wanted, tables that fit."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from ..node.report import Mock, Status

STYLES = {
    Status.CRIT: "bold red",
    Status.WARN: "yellow",
    Status.UNKNOWN: "magenta",
    Status.INFO: "cyan",
    Status.NA: "dim",
    Status.PASS: "green",
}
_GAP = 2
_NARROWEST = 24
"""Cells that a paragraph needs to be read at all."""
_PIPE_COLUMNS = 160
"""Where there is no terminal, no width is known: wide enough for all columns, so that grep finds what it looks for."""

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_NUMBER = re.compile("([0-9]+)")
_FILLING = re.compile(r" +((?:\x1b\[[0-9;]*m)*)$", re.MULTILINE)


def clean(text: str) -> str:
    """Text from a machine without what a terminal would obey: control characters, also those that turn text around."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def natural(name: str) -> list[tuple[int, str]]:
    """A key that sorts mlx5_2 before mlx5_10."""
    return [(int(piece), "") if piece.isdigit() else (-1, piece) for piece in _NUMBER.split(name)]


def mocked(mock: Mock) -> str:
    """What every screen says of a machine that is not there."""
    origin = "recorded from hardware" if mock.recorded else "composed"
    return f"  mock machine {clean(mock.machine)}, {origin}"


class Column(NamedTuple):
    """One column of a table."""

    title: str
    rank: int = 0
    """0 is always shown; of the others, the highest goes first where the terminal is narrow."""
    right: bool = False
    wrap: bool = False
    """Takes the width that the others leave."""


class Terminal:
    """stdout, with a width."""

    def __init__(self) -> None:
        # legacy_windows and the like are left to rich; NO_COLOR, TERM=dumb, COLUMNS are honoured by it.
        self.console = Console(highlight=False, markup=False, emoji=False, soft_wrap=False)
        if not self.console.is_terminal and not _columns_given():
            self.console.width = _PIPE_COLUMNS

    def line(self, text: Text | str = "", indent: int = 0) -> None:
        """One paragraph, wrapped at the terminal's width under its own indent."""
        whole = Text(text) if isinstance(text, str) else text
        for line in whole.wrap(self.console, max(1, self.console.width - indent)) or [whole]:
            line.rstrip()
            self.console.print(Text(" " * indent).append_text(line), no_wrap=True, overflow="ignore", crop=False)

    def hanging(self, head: Text, text: str, indent: int) -> None:
        """`head` and beside it a paragraph that wraps under itself; under `head` where there is no room beside it."""
        if self.console.width - indent < _NARROWEST:
            self.line(head)
            self.line(text, indent=4)
            return
        grid = Table.grid()
        grid.add_column(width=indent, no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(head, Text(text))
        self._print(grid)

    def _print(self, table: Table) -> None:
        """Without the blanks that fill a table's right side: they only wrap and get in the way of grep."""
        with self.console.capture() as capture:
            self.console.print(table)
        self.console.file.write(_FILLING.sub(r"\1", capture.get()))

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[Text | str | None]]) -> None:
        """A table without frames. What does not fit is left out, and said."""
        cells = [[_cell(value) for value in row] for row in rows]
        shown = _fitting(columns, cells, self.console.width)
        table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="bold", show_edge=False)
        for i in shown:
            column = columns[i]
            justify: JustifyMethod = "right" if column.right else "left"
            table.add_column(column.title, justify=justify, no_wrap=not column.wrap, overflow="fold")
        for row in cells:
            table.add_row(*(row[i] for i in shown))
        self._print(table)
        hidden = [column.title for i, column in enumerate(columns) if i not in shown]
        if hidden:
            self.line(Text(f"not shown at {self.console.width} columns: {', '.join(hidden)}", style="dim"))


def _columns_given() -> bool:
    return os.environ.get("COLUMNS", "").isdigit()


def _cell(value: Text | str | None) -> Text:
    """None is shown as `-`: not there, which is not 0."""
    if value is None:
        return Text("-", style="dim")
    return value if isinstance(value, Text) else Text(clean(value))


def _fitting(columns: Sequence[Column], cells: Sequence[Sequence[Text]], width: int) -> list[int]:
    """Which columns to show."""

    def need(i: int) -> int:
        widest = max([cell_len(columns[i].title), *(row[i].cell_len for row in cells)])
        return (min(widest, _NARROWEST) if columns[i].wrap else widest) + _GAP

    shown = list(range(len(columns)))
    for i in sorted(shown, key=lambda i: -columns[i].rank):
        if columns[i].rank == 0 or sum(need(j) for j in shown) - _GAP <= width:
            break
        shown.remove(i)
    return shown
