"""The end of this process when it is asked to end."""

import signal
import sys
from typing import Any


def in_order() -> None:
    """SIGTERM and SIGINT end it as the end of its stdin does: what is being written comes to its end first."""
    for number in (signal.SIGTERM, signal.SIGINT):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)


def _leave(number: int, _: Any) -> None:
    sys.exit(128 + number)
