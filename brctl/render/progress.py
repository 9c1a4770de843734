"""How far a run over many nodes is: one line on stderr that is written over, where somebody looks at it."""

from __future__ import annotations

import os
import sys

from ..fleet.order import Progress

_CLEAR = "\r\x1b[K"


class ProgressLine:
    """A context: call it with each Progress; at the end the line is gone. Prints nothing where stderr is no terminal,
    where the terminal is dumb, and with `quiet`."""

    def __init__(self, quiet: bool) -> None:
        self._on = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb" and not quiet
        self._shown = ""

    def __enter__(self) -> ProgressLine:
        return self

    def __call__(self, progress: Progress) -> None:
        text = line(progress)
        if self._on and text != self._shown:
            self._write(_CLEAR + text[: _columns() - 1])
            self._shown = text

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._write(_CLEAR)

    def _write(self, text: str) -> None:
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
