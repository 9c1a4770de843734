"""By how much counters of GPUs grew between two looks. Their totals are of a life that nobody knows, and no verdict."""

from typing import Callable, NamedTuple, Optional, Tuple

from ..facts import Gpu
from . import Case


class Growth(NamedTuple):
    amount: float
    seconds: float
    """Between the looks."""
    since: str
    """`the first sample`"""

    @property
    def per_second(self) -> float:
        return self.amount / self.seconds

    @property
    def text(self) -> str:
        """`+212 in 0.1 s, since the first sample`"""
        return "+{:g} in {}, since {}".format(self.amount, span(self.seconds), self.since)


def growths(case: Case, gpu: Gpu, read: Callable[[Gpu], Optional[int]]) -> Tuple[Growth, ...]:
    """What `read` gives of a GPU, against each earlier look at that GPU. None of a look where there was no value, or a
    greater one: the driver was loaded anew."""
    now = None if gpu.fault else read(gpu)
    if now is None or gpu.uuid is None or gpu.health is None:
        return ()
    found = []
    for earlier in case.earlier:
        (before,) = [other for other in earlier.seen.gpus or () if other.uuid == gpu.uuid] or (None,)
        was = read(before) if before and not before.fault else None
        if was is None or before is None or before.health is None:
            continue
        seconds = gpu.health.read_at_s - before.health.read_at_s
        if seconds > 0 and now >= was:
            found.append(Growth(now - was, seconds, earlier.since))
    return tuple(found)


def span(seconds: float) -> str:
    """`0.1 s`, `5 min`, `3 h`, `2 d`."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return "{:.0f} {}".format(seconds / size, unit)
    return "{:.2g} s".format(seconds) if seconds < 10 else "{:.0f} s".format(seconds)
