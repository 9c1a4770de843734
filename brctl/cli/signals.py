"""How a command that runs until it is told to end is told."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
"""Those that people and programs send, and that would else end it on the spot: a terminal stays as it was drawn on."""


class TerminatedError(BaseException):
    """Such a signal came. Of no kind that anybody catches by accident, as KeyboardInterrupt."""


def _terminate(number: int, _frame: object) -> None:
    raise TerminatedError(signal.Signals(number).name)


@contextlib.contextmanager
def ending_in_order() -> Iterator[None]:
    """^C, ^\\, SIGTERM, SIGHUP and the like, where the caller has not ignored them, raise TerminatedError in the main
    thread: they are how such a command ends, and no interruption of anything."""
    before = {number: signal.getsignal(number) for number in _NUMBERS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _terminate)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
