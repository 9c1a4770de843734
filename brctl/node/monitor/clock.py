"""Whether a wall clock was set. Samples tell their times by it; how long a thing lasts is counted by the monotonic."""

from typing import Optional

STEP_S = 5.0
"""Our own. Less is no step: ticks come late by as much, and no rule counts so finely."""


class Clock:
    """The wall clock of one node, as its ticks tell it."""

    def __init__(self) -> None:
        self._ahead_s: Optional[float] = None
        """Of the monotonic clock."""

    def stepped(self, at: float, at_s: float) -> float:
        """By how many seconds it was set since this was last asked; 0 where it was not. `at`: what it shows, `at_s`:
        the monotonic clock of who asks, at that moment."""
        ahead_s = at - at_s
        by_s = 0.0 if self._ahead_s is None else ahead_s - self._ahead_s
        if self._ahead_s is not None and abs(by_s) < STEP_S:
            return 0.0
        self._ahead_s = ahead_s
        return by_s
