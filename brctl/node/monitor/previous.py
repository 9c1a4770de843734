"""What a collector read before: rates are made of two readings of a counter."""

import math
from typing import Callable, Dict, Hashable, NamedTuple, Optional, Tuple, TypeVar

T = TypeVar("T")
_LEAST_S = 1e-3
KEPT_S = 60.0
"""Which CPUs and NUMA nodes there are changes where somebody plugs, or takes some offline."""


class Grown(NamedTuple):
    """How much a counter has grown, and in how many seconds."""

    by: float
    in_s: float

    @property
    def per_s(self) -> float:
        return self.by / self.in_s


class Previous:
    """The memory of one collector (of one GPU)."""

    def __init__(self) -> None:
        self.now_s = 0.0
        """Set by the sampler before each run: the monotonic clock, so that a step of the wall clock changes no rate."""
        self.now = 0.0
        """Likewise, seconds since the epoch: to say when something was last seen."""
        self.counts: Dict[Tuple[str, ...], float] = {}
        """What the collector counts by itself, for Series that nobody else counts."""
        self._seen: Dict[Hashable, Tuple[float, float]] = {}
        self._kept: Dict[str, Tuple[float, object]] = {}

    def kept(self, key: str, look: Callable[[], T]) -> T:
        """What `look` found, KEPT_S ago at most; of what hardly ever changes, and is no value that is told. That it
        found nothing is not kept."""
        at_s, found = self._kept.get(key, (-math.inf, None))
        if not found or self.now_s - at_s >= KEPT_S:
            found = look()
            self._kept[key] = self.now_s, found
        return found  # type: ignore[return-value]  # under its key is what its function gives

    def grown(self, key: Hashable, value: Optional[float], bits: int = 0) -> Optional[Grown]:
        """Of the counter `key` since it was last read.

        None at first, where it cannot be read, and where it has gone back: it was reset. `bits`: a counter of so many
        that goes back from its upper half has wrapped.
        """
        before = self._seen.pop(key, None)
        if value is None:
            return None
        self._seen[key] = (value, self.now_s)
        if before is None or self.now_s - before[1] < _LEAST_S:
            return None
        by = value - before[0]
        if by < 0:
            if not bits or before[0] < 2 ** (bits - 1):
                return None
            by += 2**bits
        return Grown(by, self.now_s - before[1])

    def rate(self, key: Hashable, value: Optional[float], bits: int = 0) -> Optional[float]:
        """The growth of a counter in a second; None as of `grown`."""
        grown = self.grown(key, value, bits)
        return None if grown is None else grown.per_s

    def share(self, key: Hashable, spent_s: Optional[float]) -> Optional[float]:
        """Of a counter of seconds: the part of the time since the last reading, at most 1."""
        rate = self.rate(key, spent_s)
        return None if rate is None else min(1.0, rate)

    def ratio(self, key: str, part: Optional[float], whole: Optional[float], least: float) -> Optional[float]:
        """Of two counters, what part the growth of one is of the other's; None where that is less than `least`."""
        of, in_all = self.grown((key, "part"), part), self.grown((key, "whole"), whole)
        if of is None or in_all is None or in_all.by < least:
            return None
        return of.by / in_all.by
