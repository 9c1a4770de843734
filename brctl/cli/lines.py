"""Text to stdout tick after tick, until somebody ends it: what is written is whole."""

from __future__ import annotations

import signal
import sys
from types import FrameType, TracebackType

_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ToldError(BaseException):
    """A signal came that ends such a command in order. Of no kind that anybody catches by accident."""


class Lines:
    """While it is entered, the first signal waits for the text that is being written; the second one, which comes when
    nobody reads that, waits for nothing. A signal that the caller has ignored stays so."""

    def __init__(self) -> None:
        self._before: dict[int, object] = {}
        self._writing = self._told = False

    def __enter__(self) -> Lines:
        for number in _NUMBERS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._tell)
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # it was one

    def write(self, text: str) -> None:
        """At once: who follows a log wants to see each tick when it comes. Raises ToldError, OSError."""
        if not text:  # every node is silent
            return
        self._writing = True
        rest = memoryview((text + "\n").encode(errors="replace"))
        while rest:  # a signal makes Python's own loop over a long text end early
            rest = rest[sys.stdout.buffer.write(rest) :]
        sys.stdout.flush()
        self._writing = False
        if self._told:
            raise ToldError

    def _tell(self, _number: int, _frame: FrameType | None) -> None:
        wait, self._told = self._writing and not self._told, True
        if not wait:
            raise ToldError
