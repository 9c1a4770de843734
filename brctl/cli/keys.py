"""The keyboard, key by key: no echo, no waiting for Enter. ^C and ^Z stay the terminal's own."""

from __future__ import annotations

import os
import sys
import termios
import tty

_SEQUENCES = {
    "[A": "up", "[B": "down", "OA": "up", "OB": "down", "[5~": "page-up", "[6~": "page-down",
    "[H": "home", "[F": "end", "OH": "home", "OF": "end", "[1~": "home", "[4~": "end", "[7~": "home", "[8~": "end",
}  # fmt: skip
_LETTERS = {"\r": "enter", "\n": "enter", "\t": "tab", "\x7f": "backspace", "\b": "backspace", "\x04": "q"}
_CHUNK = 1024


class Keyboard:
    """stdin, if it is a terminal; else a keyboard on which nobody types."""

    def __init__(self) -> None:
        self.descriptor: int | None = None
        try:
            descriptor = sys.stdin.fileno()
            self._before = termios.tcgetattr(descriptor)
            self.descriptor = descriptor
        except (OSError, ValueError, termios.error):  # a pipe, /dev/null, closed
            pass

    def enter(self) -> None:
        if self.descriptor is not None:
            tty.setcbreak(self.descriptor, termios.TCSANOW)

    def leave(self) -> None:
        """As it was found. A terminal that is gone needs nothing."""
        if self.descriptor is not None:
            try:
                termios.tcsetattr(self.descriptor, termios.TCSANOW, self._before)
            except termios.error:
                self.descriptor = None

    def read(self) -> list[str] | None:
        """The keys that were pressed, as view.press names them; None: the terminal is gone. To be called when there is
        something to read."""
        assert self.descriptor is not None  # noqa: S101  # for the type checker
        try:
            found = os.read(self.descriptor, _CHUNK)
        except OSError:
            found = b""
        return keys(found.decode("utf-8", "replace")) if found else None


def keys(text: str) -> list[str]:
    """A lone Esc is a key; with what follows at once, it is one that has no letter."""
    found: list[str] = []
    while text:
        if text[0] != "\x1b":
            found.append(_LETTERS.get(text[0], text[0]))
            text = text[1:]
            continue
        sequence = next((each for each in _SEQUENCES if text.startswith(each, 1)), None)
        if sequence:
            found.append(_SEQUENCES[sequence])
            text = text[1 + len(sequence) :]
        elif len(text) > 1 and text[1] in "[O":  # one that we have no use for
            text = text[2:].lstrip("0123456789;")[1:]
        else:
            found.append("escape")
            text = text[1:]
    return found
