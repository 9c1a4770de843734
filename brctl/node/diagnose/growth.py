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


def sustained(growth: Growth, least_s: float = 1.0) -> float:
    """How many a second, over `least_s` at the least: what comes in a moment is not made a rate of it."""
    return growth.amount / max(least_s, growth.seconds)


class Look(NamedTuple):
    """An earlier look at one GPU."""

    gpu: Gpu
    seconds: float
    """From that look to this one."""
    since: str


def looks(case: Case, gpu: Gpu) -> Tuple[Look, ...]:
    """The earlier looks at this GPU that can be compared: it answered, and the time between is known."""
    if gpu.fault or gpu.uuid is None or gpu.health is None:
        return ()
    found = []
    for earlier in case.earlier:
        before = next((other for other in earlier.seen.gpus or () if other.uuid == gpu.uuid), None)
        if before and before.health and not before.fault:
            found.append(Look(before, gpu.health.read_at_s - before.health.read_at_s, earlier.since))
    return tuple(look for look in found if look.seconds > 0)


def growths(case: Case, gpu: Gpu, read: Callable[[Gpu], Optional[int]]) -> Tuple[Growth, ...]:
    """What `read` gives of a GPU, against each earlier look at it."""
    found = [grown(look, read(look.gpu), read(gpu)) for look in looks(case, gpu)]
    return tuple(growth for growth in found if growth)


def grown(look: Look, was: Optional[int], now: Optional[int]) -> Optional[Growth]:
    """None where either has no value, or there is less than there was: the driver was loaded anew."""
    if was is None or now is None or now < was:
        return None
    return Growth(now - was, look.seconds, look.since)


def span(seconds: float) -> str:
    """`0.1 s`, `5 min`, `3 h`, `2 d`."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return "{:.0f} {}".format(seconds / size, unit)
    return "{:.2g} s".format(seconds) if seconds < 10 else "{:.0f} s".format(seconds)
