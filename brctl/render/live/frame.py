"""One frame: what is drawn where. It always has as many lines as the terminal, and no line is wider."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from rich.cells import set_cell_size

from .ink import Cell, Column, Ink, Line, joined
from .items import Item, Section
from .layout import Table, flowed, laid_out
from .layout import cells as _cells
from .view import KEYS, SIGNALS, View, arranged, focused

_LEAST_SECTION = 3
"""Its title, the names of its columns, one row."""
_GLIMPSE = 6
"""Lines that a table gets beside the one that the keys move in."""
_FOR_SEVERAL = 14
"""Lines from which there is room for more than the one table."""
_HINTS = ("q quit", "/ filter", "s sort", "p pause", "? help")


class Scene(NamedTuple):
    """What there is to show."""

    head: Line
    """Who is looked at."""
    now: Line
    """At the right of it: since when, how often."""
    summary: Sequence[Line]
    """Pieces of the second line."""
    sections: Sequence[Section]


class Frame(NamedTuple):
    lines: list[str]
    page: int
    """How many rows of the focused Section are seen at once; of the help, how many pages it has."""


def frame(scene: Scene, view: View, width: int, height: int, ink: Ink) -> Frame:
    """Lines with their colours, one for each of the terminal's."""
    if view.help:
        return _help(ink, view.help - 1, width, height)
    lines = [ink.paint(_between(scene.head, scene.now, width), width, "head")]
    if height > 8 and scene.summary:
        lines += [ink.paint(line, width) for line in flowed(scene.summary, "   ", width, max(1, height // 6))]
    foot = [ink.paint(_foot(view, scene.sections, width), width)] if height > 3 else []
    drawn, page = _body(scene.sections, view, width, height - len(lines) - len(foot), ink)
    body = _filled([*lines, *drawn], height - len(foot))
    return Frame(body + foot, page)


def _filled(lines: list[str], height: int) -> list[str]:
    return (lines + [""] * height)[:height]


def _between(left: Line, right: Line, width: int) -> Line:
    """What stands at the right is seen first: that what is shown is old."""
    room = width - sum(_cells(cell.text) for cell in right)
    kept: list[Cell] = []
    for cell in left:
        text = cell.text if _cells(cell.text) <= room else set_cell_size(cell.text, max(0, room))
        kept.append(cell._replace(text=text))
        room -= _cells(text)
    return [*kept, Cell(" " * max(0, room)), *right]


def _foot(view: View, sections: Sequence[Section], width: int) -> Line:
    if view.typed is not None:
        return [Cell("/", "key"), Cell(view.typed), Cell(" ", "head")]
    if view.asking is not None:
        return [Cell(view.asking, "warn"), Cell(": t SIGTERM, i SIGINT, K SIGKILL, any other key: nothing")]
    if view.said:
        return [Cell(view.said, "warn")]
    hints: list[Line] = [_hint(text) for text in _HINTS]
    help_ = hints[-1]
    if view.filter:
        hints.insert(0, [Cell("filter ", "dim"), Cell(view.filter, "key"), Cell(" (Esc drops it)", "dim")])
    if view.node:
        hints.insert(0, _hint("Esc back"))
    elif sections and sections[0].id == "nodes":
        hints.insert(0, _hint("Enter look into"))
    if len(sections) > 1:
        hints.insert(1, _hint("Tab next"))
    if (found := focused(view, sections)) and found.id == "processes":
        hints += [_hint("k signal"), _hint("t tree")]
    while len(hints) > 2 and sum(_cells(cell.text) for cell in joined(hints, "  ")) > width:
        del hints[-2 if hints[-1] == help_ else -1]  # which tells all of them
    return joined(hints, "  ")


def _hint(text: str) -> Line:
    key, _, words = text.partition(" ")
    return [Cell(key, "key"), Cell(f" {words}", "dim")]


def _help(ink: Ink, page: int, width: int, height: int) -> Frame:
    """One page of it; the last line says how to get on."""
    keys = laid_out((Column(""), Column("")), [[Cell(f" {keys}", "key"), Cell(words)] for keys, words in KEYS], width)
    signals = ", ".join(f"{key} {name}" for key, name in SIGNALS.items())
    asked = flowed([[Cell(" once a process is asked about:", "dim")], [Cell(signals, "dim")]], " ", width, 2)
    rows: list[Sequence[Line]] = [[[Cell(" keys of brctl monitor", "title")]], [[]], *keys.rows, [[]], asked]
    pages: list[list[Line]] = [[]]
    for row in rows:
        if pages[-1] and len(pages[-1]) + len(row) >= height:
            pages.append([])
        if pages[-1] or any(row):  # a page begins with no gap
            pages[-1] += row
    foot = " any key goes back"
    if len(pages) > 1:
        foot = f" {page % len(pages) + 1}/{len(pages)}: down turns, others go back"
    shown = _filled([ink.paint(line, width) for line in pages[page % len(pages)]], max(0, height - 1))
    return Frame([*shown, ink.paint([Cell(foot, "dim")], width)], len(pages))


def _body(sections: Sequence[Section], view: View, width: int, height: int, ink: Ink) -> tuple[list[str], int]:
    """The tables, and how many rows of the focused one are seen at once."""
    found = focused(view, sections)
    rows = {section.id: arranged(view, section) for section in sections}
    needs = {section.id: _need(section, rows[section.id], width, height) for section in sections}
    rooms = _rooms(sections, found, needs, height)
    lines: list[str] = []
    page = 1
    for section in sections:
        room = rooms.get(section.id, 0)
        if room <= 0:
            continue
        drawn, seen = _table(section, rows[section.id], view, section is found, width, room, ink)
        lines += drawn
        if section is found:
            page = max(1, seen)
    return lines, page


def _need(section: Section, items: Sequence[Item], width: int, height: int) -> int:
    """Lines that all of a table takes, of which no more than `height` are ever seen."""
    if not items:
        return 1
    drawn = laid_out(section.columns, [item.cells() for item in items[:height]], width)
    return 2 + sum(map(len, drawn.rows)) + max(0, len(items) - height)


def _rooms(sections: Sequence[Section], found: Section | None, needs: dict[str, int], height: int) -> dict[str, int]:
    """How many lines each table gets: the focused one what it needs, but so that the others can be seen too."""
    if found is None:
        return {}
    others = [section.id for section in sections if section is not found] if height >= _FOR_SEVERAL else []
    glimpses = sum(min(needs[id_], _GLIMPSE) for id_ in others)
    rooms = {found.id: min(needs[found.id], max(height - glimpses, height * 2 // 3))}
    left = height - rooms[found.id]
    for most in (_GLIMPSE, height):  # to each a glimpse, then what is left to the first
        for id_ in others:
            more = min(needs[id_], most) - rooms.get(id_, 0)
            more = min(more, left)
            if rooms.get(id_, 0) + more >= min(_LEAST_SECTION, needs[id_]):
                rooms[id_] = rooms.get(id_, 0) + more
                left -= more
    return rooms


def _table(
    section: Section, items: Sequence[Item], view: View, active: bool, width: int, room: int, ink: Ink
) -> tuple[list[str], int]:
    """The lines of one table in so many lines, and how many of its rows they show."""
    cursor = max(0, min(view.cursor, len(items) - 1)) if active else 0
    first, table = _page(section, items, cursor, width, room, ink)
    seen = len(table.rows)
    # In one line, how many rows there are; in two, a row below the names of its columns.
    title = _title(section, items, seen, view, active, table.hidden, ink.rule * width)
    lines = [ink.paint(title, width)] if room != 2 or not items else []
    lines.append(ink.paint(table.titles, width))
    for place, row in enumerate(table.rows, first):
        lines += [ink.paint(line, width, "@" if active and place == cursor else "") for line in row]
    if seen < len(items) and room > _LEAST_SECTION:
        rest = [*items[:first], *items[first + seen :]]
        words = section.fold(rest) if section.fold else f"{len(rest)} more"
        lines[room - 1 :] = [ink.paint([Cell(f"{ink.cut} {words}", "dim")], width)]
    return lines[:room], seen


def _page(section: Section, items: Sequence[Item], cursor: int, width: int, room: int, ink: Ink) -> tuple[int, Table]:
    """The row that is the first on the page with the cursor, and the page."""
    lines = max(1, room - 2)
    rows = lines
    while True:
        folds = rows < len(items) and lines > 1
        rows = max(1, min(rows, lines - folds))
        first = cursor // rows * rows
        table = laid_out(section.columns, [item.cells() for item in items[first : first + rows]], width, ink.cut)
        fits = sum(tall <= lines - folds for tall in accumulate(map(len, table.rows)))
        if fits == len(table.rows):
            return first, table
        if rows == 1:  # it alone is taller
            return first, table._replace(rows=[_cut(table.rows[0], lines, width, ink)])
        rows = max(1, fits)


def _cut(row: Sequence[Line], lines: int, width: int, ink: Ink) -> Sequence[Line]:
    """The first lines of a row; the last says that it goes on."""
    *before, end = row[lines - 1]
    room = max(0, width - len(ink.cut) - 1 - sum(_cells(cell.text) for cell in before))
    text = end.text if _cells(end.text) <= room else set_cell_size(end.text, room)
    return [*row[: lines - 1], [*before, end._replace(text=text), Cell(f" {ink.cut}", "dim")]]


def _title(
    section: Section, items: Sequence[Item], seen: int, view: View, active: bool, hidden: Sequence[str], rule: str
) -> Line:
    count = f" {len(items)}" if seen == len(items) else f" {seen} of {len(items)}"
    if len(items) != len(section.items):
        count += f" (of {len(section.items)}, by the filter)"
    by = view.sorts.get(section.id, section.sorts[0])
    named = f"  by {by}" if by != section.sorts[0] else ""
    order = f"{named}{'  reversed' if view.reverse else ''}" if active else ""
    more = f"  no room for {', '.join(hidden)}" if hidden else ""
    title = Cell(section.title, "title" if active else "")
    return [title, Cell(count), Cell(order, "key"), Cell(more.lower(), "dim"), Cell(f" {rule}", "dim")]
