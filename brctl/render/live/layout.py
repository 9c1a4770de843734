"""Tables and lines in so many columns. What is wrong is readable in each: in another line where one is too short."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len, chop_cells, set_cell_size

from .ink import Cell, Column, Drawing, Line, Row, joined

_WRONG = ("warn", "crit")
_BESIDE = 24
"""Cells that the end of a row must have beside the rest of it to go on there in more lines; else it goes on below."""
_BELOW = "  "
_LEAST = 10
"""In fewer columns nothing can be read, and nothing is wrapped."""
_SHORTENED = 8
"""Cells that are left at least of a name that is too long for its table."""
_TALLEST = 5
"""Lines of one row: a machine's own words may be long."""


class Table(NamedTuple):
    """What is drawn of it."""

    titles: Line
    rows: Sequence[Sequence[Line]]
    """The lines of each row."""
    hidden: Sequence[str]
    """The titles of the columns that found no room."""


def laid_out(columns: Sequence[Column], rows: Sequence[Row], width: int, cut: str = "~") -> Table:
    """A table in so many cells. Columns go by their rank, but not one in which something is wrong.

    The last cell of a row that has fewer than there are columns takes the rest of the line. The end of a row that
    finds no room in it takes more lines. `cut` stands where something was left out.
    """
    whole = [row for row in rows if len(row) == len(columns)]
    sizes = [
        column.least or max([len(column.title), *(_size(row[i]) for row in whole)]) for i, column in enumerate(columns)
    ]
    shown = _shown(columns, whole, sizes, width)
    _shorten(columns, sizes, shown, width)
    spare = width - _wide(sizes, shown)
    drawn = [i for i in shown if columns[i].most > columns[i].least]
    for left, i in zip(range(len(drawn), 0, -1), drawn, strict=True):
        more = max(0, min(columns[i].most - sizes[i], spare // left))
        sizes[i] += more
        spare -= more
    titles: Row = [Cell(column.title, "dim") for column in columns]
    lines = [_lines(_line(columns, row, sizes, shown, cut), columns[shown[-1]], width, cut) for row in rows]
    hidden = [column.title for i, column in enumerate(columns) if i not in shown]
    return Table(_line(columns, titles, sizes, shown, cut), lines, hidden)


def _shown(columns: Sequence[Column], rows: Sequence[Row], sizes: Sequence[int], width: int) -> list[int]:
    ranks = [0 if any(_wrong(row[i]) for row in rows) else column.rank for i, column in enumerate(columns)]
    shown = list(range(len(columns)))
    for i in sorted(shown, key=lambda i: -ranks[i]):
        if not ranks[i] or _wide(sizes, shown) <= width:
            break
        shown.remove(i)
    return shown


def _wrong(it: Cell | Drawing) -> bool:
    return isinstance(it, Cell) and it.style in _WRONG


def _shorten(columns: Sequence[Column], sizes: list[int], shown: Sequence[int], width: int) -> None:
    """The longest names, where the table is still too wide: what stands behind them is worth more than their ends."""
    names = [i for i in shown[:-1] if not columns[i].right and not columns[i].least and sizes[i] > _SHORTENED]
    if not names or width < _LEAST:
        return
    longest = max(names, key=lambda i: sizes[i])
    over = _wide(sizes, shown) - width
    last = columns[shown[-1]]
    if not (last.right or last.least or sizes[longest] - over >= width // 2):
        over = _wide(sizes, shown[:-1]) - width  # the text at the end goes on below
    sizes[longest] = max(_SHORTENED, sizes[longest] - max(0, over))


def _size(it: Cell | Drawing) -> int:
    return cells(it.text) if isinstance(it, Cell) else 0


@lru_cache(maxsize=4096)
def cells(text: str) -> int:
    """How many of a terminal's it takes."""
    return len(text) if text.isascii() else cell_len(text)


def _wide(sizes: Sequence[int], shown: Sequence[int]) -> int:
    return sum(sizes[i] + 2 for i in shown) - 2


def _line(columns: Sequence[Column], row: Row, sizes: Sequence[int], shown: Sequence[int], cut: str) -> Line:
    line: list[Cell] = []
    for i in shown:
        if line:
            line.append(Cell("  "))
        it = row[min(i, len(row) - 1)]
        if i >= len(row) - 1 and len(row) < len(columns) and isinstance(it, Cell):
            return [*line, it]
        if not isinstance(it, Cell):
            line += it(sizes[i])
            continue
        text = it.text if cells(it.text) <= sizes[i] else set_cell_size(it.text, sizes[i] - 1) + cut
        pad = " " * (sizes[i] - cells(text))
        line.append(it._replace(text=pad + text if columns[i].right else text + pad))
    return line


def _lines(line: Line, last: Column, width: int, cut: str) -> Sequence[Line]:
    """One row: its line, or several where its end is text that finds no room in it."""
    if sum(cells(each.text) for each in line) <= width or width < _LEAST or last.least:
        return [line]
    before, end = line[:-1], line[-1]
    start = sum(cells(each.text) for each in before)
    text = end.text.rstrip()
    if cells(text) <= width - start:
        return [line]
    if width - start >= _BESIDE:
        parts = [end._replace(text=part) for part in wrapped(text, width - start, cut)]
        return [[*before, parts[0]], *([Cell(" " * start), part] for part in parts[1:])]
    parts = [end._replace(text=part) for part in wrapped(text, width - len(_BELOW), cut)]
    return [*([before] if before else []), *([Cell(_BELOW), part] for part in parts)]


def wrapped(text: str, width: int, cut: str = "~", most: int = _TALLEST) -> list[str]:
    """`text` in lines of so many cells, broken at its blanks where that can be; `cut` ends it where it is too long."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if cells(longer) <= width:
            lines[-1] = longer
        else:
            lines += chop_cells(word, width)
        if len(lines) > most:
            break
    lines = [line.rstrip() for line in lines if line.strip()] or [""]
    return lines if len(lines) <= most else [*lines[: most - 1], set_cell_size(lines[most - 1], width - len(cut)) + cut]


def flowed(pieces: Sequence[Line], gap: str, width: int, most: int) -> Sequence[Line]:
    """Pieces beside each other in at most so many lines; where there are too many, what is wrong comes first."""
    narrow = list(_narrow(pieces, width))
    lines = _flow(narrow, gap, width)
    if len(lines) > most:
        lines = _flow(sorted(narrow, key=lambda piece: not any(map(_wrong, piece))), gap, width)
    return lines[:most]


def _flow(pieces: Sequence[Line], gap: str, width: int) -> list[Line]:
    lines: list[list[Line]] = []
    for piece in pieces:
        if lines and sum(cells(each.text) for each in joined([*lines[-1], piece], gap)) <= width:
            lines[-1].append(piece)
        else:
            lines.append([piece])
    return [joined(line, gap) for line in lines]


def _narrow(pieces: Sequence[Line], width: int) -> Iterator[Line]:
    """Each of them no wider than the line, where it is one text."""
    for piece in pieces:
        if len(piece) == 1 and cells(piece[0].text) > width >= _LEAST:
            yield from ([piece[0]._replace(text=part)] for part in wrapped(piece[0].text, width))
        else:
            yield piece
