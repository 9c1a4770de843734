"""Unit: one collector on one part of the machine, with what it last gave."""

import time
from typing import Callable, NamedTuple, Optional, Sequence, Tuple

from ..report import Series, State
from . import Collector, Reading, Readings
from .previous import Previous
from .stream import Block, Slot

PATIENCE_S = 0.5
"""So long a run may take before its values are timed out."""

_GREATEST = 2**64
"""Of what is told at all: JSON has numbers of any size, and some that are none. No NaN is less or greater."""


class Answer(NamedTuple):
    """What came of one run; of one that failed, the values are those of nothing."""

    slots: Tuple[Slot, ...]
    values: Tuple[Optional[float], ...]
    at: float
    """Seconds since the epoch, when it began."""
    at_s: float
    """The same on the monotonic clock."""
    took_s: float
    error: Optional[Exception]


class Unit:
    def __init__(self, collector: Collector, every_s: float, labels: Tuple[str, ...], due_s: float) -> None:
        """`labels` stand before those of each reading: the GPU's."""
        self.collector = collector
        self.every_s = every_s
        self.labels = labels
        self.due_s = due_s
        """When it is to be run next, by the monotonic clock."""
        self.answer: Optional[Answer] = None
        """One tuple, written by its lane's thread and read by the sampler's."""
        self.asked_s: Optional[float] = None
        """When it was last handed to its lane."""
        self.timeouts = 0
        self.wrong = False
        """Whether it had no values, or those of before, in the last tick."""
        self._counted_s: Optional[float] = None
        self._previous = Previous()
        self._shape: Tuple[Tuple[Series, ...], Tuple[Tuple[str, ...], ...]] = (), ()
        """Series and labels of the last run that gave values; as long as they are the same so are the slots."""
        self._each: Tuple[Slot, ...] = ()
        """One for each of its readings."""
        self._slots: Tuple[Slot, ...] = ()
        """Each of these once."""
        self._told: Tuple[Optional[Answer], Optional[Block]] = (None, None)
        """The last answer that was told as it is: between two runs it stays the same block."""

    def run(self, collect: Callable[[Previous], Readings]) -> None:
        """In the lane's thread. Never raises."""
        previous, began_s, at = self._previous, time.monotonic(), time.time()
        previous.now_s, previous.now = began_s, at
        slots: Tuple[Slot, ...] = ()
        values: Tuple[Optional[float], ...] = ()
        error: Optional[Exception] = None
        try:
            values = self._values(list(collect(previous)))
            slots = self._slots
        except Exception as found:  # whatever it is, it costs these values and no others
            error = found
        self.answer = Answer(slots, values, at, began_s, time.monotonic() - began_s, error)

    def _values(self, readings: Sequence[Reading]) -> Tuple[Optional[float], ...]:
        """One for each slot: of readings of the same one the last."""
        series, values, labels = zip(*readings) if readings else ((), (), ())
        if (series, labels) != self._shape:
            self._each = tuple((one.name, self.labels + more) for one, more in zip(series, labels))
            self._slots, self._shape = tuple(dict.fromkeys(self._each)), (series, labels)
        known = [value if value is not None and -_GREATEST <= value <= _GREATEST else None for value in values]
        return tuple(known if len(self._slots) == len(known) else dict(zip(self._each, known)).values())

    def put_off(self, now_s: float) -> None:
        """It begins now: what comes next keeps to the cadence, and what was missed is not made up for."""
        self.asked_s = now_s
        self.due_s += self.every_s
        if self.due_s <= now_s:
            self.due_s = now_s + self.every_s

    def late(self, now_s: float) -> bool:
        """Whether it has been at its run for longer than is waited for."""
        since_s, answer = self.asked_s, self.answer
        if since_s is None or (answer is not None and answer.at_s >= since_s):
            return False
        return since_s + PATIENCE_S <= now_s

    def block(self, now: float, now_s: float, began_s: float) -> Optional[Block]:
        """What there is to tell in the tick that began at `began_s`, at this moment; None: nothing. A value that is too
        old, as its lane hangs in another unit, is none."""
        answer, late = self.answer, self.late(now_s)
        if late and self._counted_s != self.asked_s:
            self._counted_s = self.asked_s
            self.timeouts += 1
        failed = answer is None or answer.error is not None
        self.wrong = late or failed
        if self.wrong or self.due_s + PATIENCE_S < began_s:
            state = State.STALE if failed and not late else State.TIMEOUT
            slots = self._slots  # its lane may replace them
            return Block(self.collector.id, self.labels, slots, (None,) * len(slots), state, now) if slots else None
        assert answer is not None  # noqa: S101  # for the type checker
        if self._told[0] is not answer:
            block = Block(self.collector.id, self.labels, answer.slots, answer.values, State.MEASURED, answer.at)
            self._told = answer, block if answer.slots else None
        return self._told[1]

    @property
    def error(self) -> str:
        """Why its last run failed; empty where it did not."""
        answer = self.answer
        return str(answer.error) or type(answer.error).__name__ if answer and answer.error else ""

    def fail(self, error: Exception) -> None:
        """Whatever it told is true no longer."""
        self.answer = Answer((), (), time.time(), time.monotonic(), 0.0, error)
