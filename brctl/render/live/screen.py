"""The terminal while the live view has it: another screen, no cursor, and only what has changed is written."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from rich.console import Console

from .ink import Ink, ink

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
"""The other screen, no cursor, no wrapping at the right edge, empty."""
_LEAVE = "\x1b[?7h\x1b[0m\x1b[?25h\x1b[?1049l"
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
"""Draw all of it at once, where a terminal knows that (DEC mode 2026); others ignore it."""
UNKNOWN_SIZE = (80, 24)


def pen() -> Ink | None:
    """What can be drawn on stdout; None: it is no terminal, or a dumb one."""
    console = Console()
    drawable = sys.stdout.isatty() and console.is_terminal and not console.is_dumb_terminal
    return ink(console, sys.stdout.encoding) if drawable else None


class Screen:
    """stdout. `enter` and `leave` may be called again and again; `leave` in any case."""

    def __init__(self) -> None:
        self._shown: list[str] = []
        self._size = (0, 0)
        self._entered = False

    def enter(self) -> None:
        self._entered, self._shown = True, []
        self._write(_ENTER)

    def leave(self) -> None:
        if self._entered:
            self._entered = False
            self._write(_LEAVE)

    def size(self) -> tuple[int, int]:
        """Columns and lines, as the terminal says now."""
        try:
            columns, lines = os.get_terminal_size(sys.stdout.fileno())
        except OSError:
            return UNKNOWN_SIZE
        return columns or UNKNOWN_SIZE[0], lines or UNKNOWN_SIZE[1]

    def draw(self, lines: Sequence[str], size: tuple[int, int]) -> None:
        """Raises OSError: nobody looks any more."""
        parts: list[str] = []
        if size != self._size:
            parts, self._shown, self._size = ["\x1b[0m\x1b[2J"], [], size
        for row, line in enumerate(lines):
            if row >= len(self._shown) or self._shown[row] != line:
                parts.append(f"\x1b[{row + 1};1H{line}\x1b[0m\x1b[K")
        self._shown = list(lines)
        if parts:
            self._write(_BEGIN + "".join(parts) + _END)

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
