"""A table that is drawn again and again: in place on a terminal, elsewhere one below the other."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from rich.text import Text

from .terminal import Terminal

_BACK, _CLEAR = "\x1b[{}F", "\r\x1b[J"
_KEPT_LINES = 2
"""One for the line that says what is not shown, and one for the cursor."""


class Screen:
    """A context. What stood above it on the terminal stays there, and so does the last table."""

    def __init__(self) -> None:
        self._in_place = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._drawn: list[str] = []

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        if self._in_place:
            print(_CLEAR, end="", flush=True)  # the ^C that the terminal wrote

    def draw(self, paint: Callable[[Terminal], None]) -> None:
        """Show what `paint` prints."""
        terminal = Terminal()
        with terminal.console.capture() as capture:
            paint(terminal)
        text = capture.get()
        if not self._in_place:
            return print(f"{text}\n", end="", flush=True)
        lines = _cut(text.splitlines(), terminal.console.height - _KEPT_LINES)
        back = _height(self._drawn, terminal.console.width)
        print((_BACK.format(back) if back else "") + _CLEAR + "\n".join(lines), flush=True)
        self._drawn = lines
        return None


def _cut(lines: list[str], room: int) -> list[str]:
    if len(lines) <= room + 1:
        return lines
    room = max(1, room)
    return [*lines[:room], f"and {len(lines) - room} more lines: --sort worst, --filter or a taller terminal"]


def _height(lines: list[str], width: int) -> int:
    """The lines of the terminal that these take: it may have become narrower since they were drawn."""
    return sum(max(1, -(-Text.from_ansi(line).cell_len // max(1, width))) for line in lines)
