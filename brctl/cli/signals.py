"""How a command that runs until it is told to end is told."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


class TerminatedError(BaseException):
    """SIGTERM or SIGHUP came. Of no kind that anybody catches by accident, as KeyboardInterrupt."""


def _terminate(number: int, _frame: object) -> None:
    raise TerminatedError(signal.Signals(number).name)


@contextlib.contextmanager
def ending_in_order() -> Iterator[None]:
    """SIGTERM and SIGHUP, where they would end the process, raise TerminatedError in the main thread."""
    numbers = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, _terminate)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)
