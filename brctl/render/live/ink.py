"""Letters and colours, as far as the terminal has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style

from ..clean import clean

STYLES = {
    "": "",
    "title": "bold",
    "dim": "dim",
    "good": "green",
    "busy": "cyan",
    "past": "blue",
    "warn": "yellow",
    "crit": "bold red",
    "key": "bold cyan",
    "head": "bold white on rgb(36,70,107)",
}
_CURSOR = "on rgb(58,66,77)"
"""Under a line, whose own colours stay."""
_PLAIN = {"head": "bold reverse"}
"""Where there are no colours, or but eight, of which none is a quiet background."""
_SYSTEMS = {
    "standard": ColorSystem.STANDARD,
    "256": ColorSystem.EIGHT_BIT,
    "truecolor": ColorSystem.TRUECOLOR,
    "windows": ColorSystem.WINDOWS,
}


class Cell(NamedTuple):
    """A piece of a line."""

    text: str
    style: str = ""
    """A key of STYLES."""


Line = Sequence[Cell]
BLANK = Cell("")


def cell(text: str, style: str = "") -> Cell:
    """Of text that came from a machine."""
    return Cell(clean(text), style)


class Ink(NamedTuple):
    """What a terminal can draw."""

    bar: str
    """From empty to full, in one cell."""
    spark: str
    gap: str
    """No value."""
    cut: str
    """Something was left out here."""
    codes: dict[str, tuple[str, str]]
    """What goes before and after text of each style, and of each under the cursor (`crit@`); empty without colours."""
    rule: str
    """Leads from a title to the edge."""

    def paint(self, line: Line, width: int, under: str = "") -> str:
        """One line of at most `width` cells, with its colours. `under`: `@` for the line with the cursor, a style for
        one that has but this; such a line reaches to the edge."""
        parts: list[str] = []
        left = width
        for text, style in line if not under else (*line, Cell(" " * width)):
            size = len(text) if text.isascii() else cell_len(text)
            if size > left:
                text, size = set_cell_size(text, left), left
            left -= size
            before, after = self.codes.get(style + under if under == "@" else under or style, ("", ""))
            parts.append(before + text + after if text else "")
            if not left:
                break
        return "".join(parts)

    def meter(self, share: float | None, width: int, style: str) -> list[Cell]:
        """A bar of so many cells; without a value, a gap as wide."""
        if share is None:
            return [Cell(self.gap * width, "dim")]
        steps = len(self.bar) - 1
        filled, part = divmod(round(min(1.0, max(0.0, share)) * width * steps), steps)
        full = self.bar[-1] * filled + (self.bar[part] if part else "")
        return [Cell(full, style), Cell(self.bar[0] * (width - len(full)), "dim")]

    def history(self, shares: Sequence[float | None], width: int) -> str:
        """The newest `width` values, 0 to 1, the last one at the right; where there was none, a gap."""
        top = len(self.spark) - 1
        shown = shares[-width:] if width else ()
        drawn = [self.gap if share is None else self.spark[round(min(1.0, max(0.0, share)) * top)] for share in shown]
        return " " * (width - len(drawn)) + "".join(drawn)


def ink(console: Console, encoding: str) -> Ink:
    """For this terminal. rich honours NO_COLOR, TERM and COLORTERM."""
    letters = "━╸─▁▂▃▄▅▆▇·…"
    try:
        letters.encode(encoding)
    except (UnicodeError, LookupError):
        return Ink("-#", "_.-=*#", " ", "~", _codes(console), "-")
    return Ink("─╸━", "▁▂▃▄▅▆▇", "·", "…", _codes(console), "─")


def _codes(console: Console) -> dict[str, tuple[str, str]]:
    """NO_COLOR wants no colours; bold and reverse are none."""
    if not console.is_terminal or console.is_dumb_terminal:
        return {}
    system = _SYSTEMS.get(console.color_system or "", ColorSystem.STANDARD)
    plain = console.no_color or console.color_system is None
    many = not plain and system is not ColorSystem.STANDARD
    codes = {}
    for name, words in (STYLES if many else STYLES | _PLAIN).items():
        style = Style.parse(words)
        style = style.without_color if plain else style
        codes[name] = _around(style, system)
        codes[f"{name}@"] = _around(style + Style.parse(_CURSOR) if many else Style(reverse=True), system)
    return codes


def _around(style: Style, system: ColorSystem) -> tuple[str, str]:
    before, _, after = style.render("\0", color_system=system).partition("\0")
    return before, after


class Column(NamedTuple):
    title: str
    rank: int = 0
    """0 is always shown, and so is one that has something wrong to tell; of the others, the highest goes first where
    there is no room."""
    right: bool = False
    least: int = 0
    """Cells of a drawn column where room is short, ..."""
    most: int = 0
    """... and where it is not; 0: its cells are text, and it is as wide as the widest."""
    moving: bool = False
    """Of no use in a table that stands still."""


Drawing = Callable[[int], Line]
"""Of a width -> what is as wide."""
Row = Sequence["Cell | Drawing"]


def joined(lines: Iterable[Line], gap: str) -> Line:
    """Several on one line."""
    parts: list[Cell] = []
    for line in lines:
        parts += [Cell(gap), *line] if parts else line
    return parts
