"""Errors and exit codes. The codes are a promise: docs/exit-codes.md."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback

from ..render.clean import clean

CLEAN, FOUND, USAGE, INCOMPLETE, INTERRUPTED = 0, 1, 2, 3, 130
BROKEN_PIPE = 141
"""As a shell shows a program that SIGPIPE ended: the reader of our stdout went away."""


class CommandError(Exception):
    """What went wrong, what to do about it, and the exit code for it."""

    def __init__(self, what: str, hint: str | None = None, code: int = USAGE) -> None:
        super().__init__(what)
        self.what, self.hint, self.code = what, hint, code


def tell(what: str, hint: str | None = None, word: str = "error") -> None:
    """Say it on stderr, in the one form that all errors and warnings have."""
    for label, text in ((word, what), ("hint", hint)):
        if text:
            say(f"{label}: {clean(text)}")


def say(text: str) -> None:
    """Lines on stderr. That it is full, or that nobody reads it, changes nothing else."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def no_config() -> CommandError:
    """Of a command that is about the nodes of one."""
    return CommandError(
        "there is no config", "name it with --config; `brctl config init > cluster-config.yaml` writes a first one"
    )


def tell_lost(error: OSError) -> int:
    """What a command or its output ran into: a file that the error names, else stdout. What is left in the buffer of
    that would make the interpreter complain at its end."""
    if isinstance(error.filename, str):
        tell(f"{error.filename}: {error.strerror}")
        return INCOMPLETE
    with contextlib.suppress(OSError):  # no more files may be open
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return BROKEN_PIPE
    tell(f"standard output: {error.strerror}" if error.strerror else str(error))
    return INCOMPLETE


def tell_unforeseen(error: Exception, debug: bool) -> int:
    """An error that is our own fault."""
    if debug:
        say("".join(traceback.format_exception(error)).rstrip())
    tell(f"{type(error).__name__}: {error}", None if debug else "this is a fault of brctl; --debug shows where")
    return INCOMPLETE
