"""The processes of this host, for the one at the keys: whose children they are, and signals for them."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from ..render.live.parts import Parent
from ..render.live.view import Order

_STAT = re.compile(r"\((?P<name>.*)\) . (?P<parent>\d+) ", re.DOTALL)
"""Of proc_pid_stat(5): a name may have blanks and parentheses in it."""
_MOST_PARENTS = 16


def parents(pid: int) -> list[Parent]:
    """Those above a process, the nearest first, without init and the kernel; none where it cannot be seen."""
    found: list[Parent] = []
    seen = _stat(pid)
    while seen and (above := int(seen["parent"])) > 1 and len(found) < _MOST_PARENTS:
        seen = _stat(above)
        if seen:
            found.append(Parent(above, seen["name"]))
    return found


def send(order: Order) -> str:
    """Send a signal; what came of it, in a line. The row says `PID NAME`: a process of another name is another one that
    has got the number since."""
    number, _, name = order.process.partition(" ")
    pid = int(number)
    try:
        descriptor = os.pidfd_open(pid)  # from here on it is this one, whatever becomes of the number
    except OSError as error:
        return f"{number}: {error.strerror}"
    try:
        seen = _stat(pid)
        if not seen or seen["name"] != name:
            return f"{number} is another process by now: nothing was sent"
        signal.pidfd_send_signal(descriptor, signal.Signals[order.signal])
    except OSError as error:
        return f"{order.signal} to {order.process}: {error.strerror}"
    finally:
        os.close(descriptor)
    return f"{order.signal} was sent to {order.process}"


def _stat(pid: int) -> re.Match[str] | None:
    try:
        return _STAT.search(Path(f"/proc/{pid}/stat").read_text("utf-8", "replace"))
    except OSError:
        return None
