"""How far a run over many nodes is: one line on stderr that is written over, where somebody looks at it; and what is
wrong with a node while others are still asked."""

from __future__ import annotations

import contextlib
import os
import sys
import time

from ..fleet.order import Progress
from ..node.report import Report, Status
from .clean import clean
from .headline import headline

PATIENCE_S = 2.0
"""A run that ends sooner shows its table at once, and says nothing twice."""
_MOST = 20
"""Nodes that are told of before the table: of more the line counts."""
_LONGEST = 300
"""Letters of one: a node's own words may be long."""
_CLEAR = "\r\x1b[K"


class ProgressLine:
    """A context: call it with each Progress; at the end the line is gone. Prints nothing where stderr is no terminal,
    where the terminal is dumb, and with `quiet`. What is wrong is told with `verbose` in any place."""

    def __init__(self, quiet: bool, verbose: bool = False) -> None:
        self._on = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb" and not quiet
        self._tells = self._on or (verbose and not quiet)
        self._shown = ""
        self._wrong: list[tuple[float, str]] = []
        """What is to be told, from when on."""
        self._told = 0

    def __enter__(self) -> ProgressLine:
        return self

    def hear(self, report: Report) -> None:
        """A node's Report has come: that it gave no answer, or something critical, is told in PATIENCE_S, if others
        are still asked then."""
        verdict = headline(report)
        if self._tells and verdict.status in (None, Status.CRIT):
            text = clean(f"{report.node}: {verdict.word}  {verdict.reason}")
            self._wrong.append((time.monotonic() + PATIENCE_S, text[:_LONGEST]))

    def __call__(self, progress: Progress) -> None:
        while self._wrong and self._told < _MOST and progress.running and self._wrong[0][0] <= time.monotonic():
            self._tell(self._wrong.pop(0)[1])
        text = line(progress)
        if self._on and text != self._shown:
            self._write(_CLEAR + text[: _columns() - 1])
            self._shown = text

    def _tell(self, text: str) -> None:
        self._told += 1
        self._write((_CLEAR if self._shown else "") + text + "\n")
        self._shown = ""

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._write(_CLEAR)

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            print(text, end="", file=sys.stderr, flush=True)


def line(progress: Progress) -> str:
    """`12 of 128 done, 1 failed (gpu007: refused), 64 running, slowest gpu044 (12 s)`"""
    parts = [f"{progress.done} of {progress.total} done"]
    if progress.failed:
        last = f" ({progress.failure})" if progress.failure else ""
        parts.append(f"{progress.failed} failed{last}")
    if progress.running:
        parts.append(f"{progress.running} running")
    if progress.slowest:
        parts.append(f"slowest {progress.slowest} ({progress.slowest_s:.0f} s)")
    return ", ".join(parts)


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except OSError:
        return 80
