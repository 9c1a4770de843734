"""Errors and exit codes. The codes are a promise: docs/exit-codes.md."""

from __future__ import annotations

import sys
import traceback

CLEAN, FOUND, USAGE, INCOMPLETE, INTERRUPTED = 0, 1, 2, 3, 130
BROKEN_PIPE = 141
"""As a shell shows a program that SIGPIPE ended: the reader of our stdout went away."""


class CommandError(Exception):
    """What went wrong, what to do about it, and the exit code for it."""

    def __init__(self, what: str, hint: str | None = None, code: int = USAGE) -> None:
        super().__init__(what)
        self.what, self.hint, self.code = what, hint, code


def tell(what: str, hint: str | None = None, word: str = "error") -> None:
    """Say it on stderr, in the one form that all errors and warnings have; it may be a node's own text."""
    print(f"{word}: {printable(what)}", file=sys.stderr)
    if hint:
        print(f"hint: {printable(hint)}", file=sys.stderr)


def printable(text: str) -> str:
    """Text without what a terminal would obey."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def tell_unforeseen(error: Exception, debug: bool) -> int:
    """An error that is our own fault."""
    if debug:
        traceback.print_exception(error)
    tell(f"{type(error).__name__}: {error}", None if debug else "this is a fault of brctl; --debug shows where")
    return INCOMPLETE
