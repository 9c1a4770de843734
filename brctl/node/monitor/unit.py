"""Unit: one collector on one part of the machine, with what it last gave."""

import time
from typing import Callable, Dict, NamedTuple, Optional, Tuple

from ..report import Sample, State
from . import Collector, Readings
from .previous import Previous

PATIENCE_S = 0.5
"""So long a run may take before its values are timed out."""

Slot = Tuple[str, Tuple[str, ...]]
"""Where a value belongs: the name of its Series, and its labels."""


class Answer(NamedTuple):
    """What came of one run; of one that failed, `values` is empty."""

    values: Dict[Slot, Optional[float]]
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
        self._counted_s: Optional[float] = None
        self._previous = Previous()
        self._known: Dict[Slot, None] = {}
        """The places of values that it once gave."""
        self._told: Tuple[Optional[Answer], Tuple[Sample, ...]] = (None, ())
        """The last answer that was told as it is, and its samples: between two runs they stay the same object."""

    def run(self, collect: Callable[[Previous], Readings]) -> None:
        """In the lane's thread. Never raises."""
        previous, began_s, at = self._previous, time.monotonic(), time.time()
        previous.now_s, previous.now = began_s, at
        values: Dict[Slot, Optional[float]] = {}
        error: Optional[Exception] = None
        try:
            for series, value, labels in collect(previous):
                values[series.name, self.labels + labels] = value
        except Exception as found:  # whatever it is, it costs these values and no others
            values, error = {}, found
        self.answer = Answer(values, at, began_s, time.monotonic() - began_s, error)

    def put_off(self, now_s: float) -> None:
        """It begins now: what comes next keeps to the cadence, and what was missed is not made up for."""
        self.asked_s = now_s
        self.due_s += self.every_s
        if self.due_s <= now_s:
            self.due_s = now_s + self.every_s

    def samples(self, now: float, now_s: float, began_s: float) -> Tuple[Sample, ...]:
        """What there is to tell in the tick that began at `began_s`, at this moment. A value that is too old, as its
        lane hangs in another unit, is none."""
        answer, since_s = self.answer, self.asked_s
        waiting = since_s is not None and (answer is None or answer.at_s < since_s)
        late = waiting and (since_s or 0.0) + PATIENCE_S <= now_s
        if late and self._counted_s != since_s:
            self._counted_s = since_s
            self.timeouts += 1
        failed = answer is None or answer.error is not None
        if late or failed or self.due_s + PATIENCE_S < began_s:
            state = State.STALE if failed and not late else State.TIMEOUT
            return tuple(Sample(name, labels, None, state, now) for name, labels in self._known)
        assert answer is not None  # noqa: S101  # for the type checker
        if self._told[0] is not answer:
            self._known = dict.fromkeys(answer.values)
            self._told = (
                answer,
                tuple(
                    Sample(name, labels, value, State.UNSUPPORTED if value is None else State.MEASURED, answer.at)
                    for (name, labels), value in answer.values.items()
                ),
            )
        return self._told[1]

    @property
    def error(self) -> str:
        """Why its last run failed; empty where it did not."""
        answer = self.answer
        return str(answer.error or type(answer.error).__name__) if answer and answer.error else ""

    def fail(self, error: Exception) -> None:
        """Whatever it told is true no longer."""
        self.answer = Answer({}, time.time(), time.monotonic(), 0.0, error)
