"""What a collector read before: rates are made of two readings of a counter."""

from typing import Dict, Hashable, Optional, Tuple


class Previous:
    """The memory of one collector (of one GPU). `now_s` is set by the sampler before each run: the monotonic clock, so
    that a step of the wall clock changes no rate."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._seen: Dict[Hashable, Tuple[float, float]] = {}

    def increase(self, key: Hashable, value: Optional[float], bits: int = 0) -> Optional[Tuple[float, float]]:
        """How much the counter `key` has grown since it was last read, and in how many seconds.

        None at first, and where it has gone back: it was reset. `bits`: a counter of so many that goes back from
        its upper half has wrapped.
        """
        if value is None:
            self._seen.pop(key, None)
            return None
        before = self._seen.get(key)
        self._seen[key] = (value, self.now_s)
        if before is None or self.now_s <= before[1]:
            return None
        grown = value - before[0]
        if grown < 0:
            whole = float(2**bits)
            if not bits or before[0] < whole / 2:
                return None
            grown += whole
        return grown, self.now_s - before[1]

    def rate(self, key: Hashable, value: Optional[float], bits: int = 0) -> Optional[float]:
        """The growth of a counter in a second; None as of `increase`."""
        grown = self.increase(key, value, bits)
        return None if grown is None else grown[0] / grown[1]
