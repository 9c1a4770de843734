"""What is wrong with a config, where it stands, and what to do about it."""

from collections.abc import Iterable
from typing import NamedTuple

WIDTH = 100
"""Of the excerpt that a mistake shows; a longer line is cut around the place."""
LONGEST = 500
"""Characters of a message; it may quote a value that is as long as the file."""
MOST = 50
"""Mistakes that are told at once: beyond them lies a file that is no config."""


class Place(NamedTuple):
    file: str
    line: int
    """From 1, as editors count; so is the column, in characters."""
    column: int
    text: str
    """The whole line."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def excerpt(self) -> str:
        """The line with a caret under the place."""
        start = max(0, self.column - WIDTH * 3 // 4)
        gutter = f"{self.line:5d} | "
        text = printable(self.text[start : start + WIDTH].replace("\t", " "))
        return f"{gutter}{text}\n{'| ':>{len(gutter)}}{' ' * (self.column - 1 - start)}^"


def printable(text: str) -> str:
    """The text, cut where it is endless, with `?` for each character that a terminal could obey."""
    short = text if len(text) <= LONGEST else text[:LONGEST] + "..."
    return "".join(character if character.isprintable() else "?" for character in short)


class Mistake(NamedTuple):
    message: str
    place: Place | None = None
    """None: about a file as a whole, or a word of the command line."""
    path: str = ""
    """The key: `hardware.compute.nics.speed`; empty for what is no YAML."""
    hint: str | None = None

    def show(self, label: str = "error") -> str:
        """The text for a terminal: `error: FILE:LINE:COLUMN: KEY: message`, the line, and a hint."""
        parts = [str(self.place)] if self.place else []
        parts += [self.path] if self.path else []
        lines = [printable(f"{label}: " + ": ".join([*parts, self.message]))]
        lines += [self.place.excerpt()] if self.place else []
        lines += [printable(f"hint: {self.hint}")] if self.hint else []
        return "\n".join(lines)


class ConfigError(Exception):
    """All that is wrong with a config, in the order of the file."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        ordered = sorted(mistakes, key=lambda m: (m.place.line, m.place.column) if m.place else (0, 0))
        self.mistakes: tuple[Mistake, ...] = tuple(ordered[:MOST])
        super().__init__("\n".join(mistake.show() for mistake in self.mistakes))
