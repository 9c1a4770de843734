"""What the sampler tells of itself and of the GPUs as a whole."""

import math
import time
from typing import Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

from ..report import Series, State
from . import GPU_LABELS, UP, Kind
from .gpus import LibraryLane
from .stream import Block, Slot
from .unit import Unit

SAMPLER = "sampler"
"""In the place of a collector's id."""

_own = Kind(SAMPLER)
_UP = _own.gauge(UP[len("brctl_") :], "", "1: the GPU answers; 0: it is lost, hangs or refuses.", "NVML", *GPU_LABELS)
_EXPECTED = _own.gauge(
    "gpus_expected", "", "GPUs that the config declares, or that were seen, whichever are more.", "config"
)
_VISIBLE = _own.gauge("gpus_visible", "", "GPUs that the driver lists now.", "nvmlDeviceGetCount_v2")
_RELEASED = _own.gauge("monitor_released", "", "1: every GPU handle is let go.", "/run/brctl/release")
_CPU = _own.counter(
    "monitor_cpu_seconds_total", "seconds", "CPU time that brctl has taken, by process.", "clock_gettime(2)", "process"
)
_LATENESS = _own.gauge(
    "monitor_tick_lateness_seconds", "seconds", "How late a tick began, at most, since this was last told.",
    "clock_gettime(2)",
)  # fmt: skip
_TICKS = _own.counter("monitor_ticks_total", "", "Ticks so far.", "brctl")
_SKIPPED = _own.counter("monitor_skipped_ticks_total", "", "Ticks left out, as the one before took too long.", "brctl")
_SUCCESS = _own.gauge(
    "monitor_collector_success", "", "1: its last run gave values; 0: it failed or hangs.", "brctl", "collector"
)
_DURATION = _own.gauge(
    "monitor_collector_duration_seconds", "seconds", "Of its last run; of GPUs the longest.", "brctl", "collector"
)
_TIMEOUTS = _own.counter("monitor_collector_timeouts_total", "", "Runs that hung.", "brctl", "collector")
SERIES: Tuple[Series, ...] = tuple(_own.all)


_EVERY_S = 4.9
"""Where nothing has gone wrong, what it costs is not told more often: that would be a good part of it."""


class Clockwork:
    """How the ticks go, and what they cost."""

    def __init__(self) -> None:
        self.ticks = self.skipped = 0
        self.lateness_s = 0.0
        """The greatest since it was told."""
        self._block: Optional[Block] = None
        self._told_s = -math.inf
        self._troubles: List[int] = []
        """How many ticks were skipped, and whether each unit is wrong."""

    def block(self, now: float, now_s: float, units: Sequence[Unit]) -> Block:
        """After those of the units in the same tick."""
        troubles = [self.skipped, *(unit.wrong for unit in units)]
        if self._block is None or now_s - self._told_s >= _EVERY_S or troubles != self._troubles:
            self._block = _block("clockwork", now, self._found(now_s, units))
            self._told_s, self._troubles, self.lateness_s = now_s, troubles, 0.0
        return self._block

    def _found(self, now_s: float, units: Sequence[Unit]) -> Iterator[Tuple[Slot, float]]:
        yield _slot(_CPU, "agent"), time.process_time()
        yield _slot(_LATENESS), self.lateness_s
        yield _slot(_TICKS), self.ticks
        yield _slot(_SKIPPED), self.skipped
        for name, of_it in _by_collector(units).items():
            answers = [unit.answer for unit in of_it if unit.answer]
            late = any(unit.late(now_s) for unit in of_it)
            if answers or late:
                yield _slot(_SUCCESS, name), float(not late and all(answer.error is None for answer in answers))
            if answers:
                yield _slot(_DURATION, name), max(answer.took_s for answer in answers)
            yield _slot(_TIMEOUTS, name), sum(unit.timeouts for unit in of_it)


def block(now: float, libraries: Sequence[LibraryLane], released: bool, least: int) -> Block:
    """Which GPUs there are. `least`: how many there should be at least."""
    return _block(SAMPLER, now, _of_gpus(libraries, released, least))


def _of_gpus(libraries: Sequence[LibraryLane], released: bool, least: int) -> Iterator[Tuple[Slot, float]]:
    gpus = [gpu for library in libraries for gpu in library.gpus]
    for gpu in gpus:
        up = gpu.up
        if up is not None and not released:
            yield _slot(_UP, *gpu.labels), float(up)
    visible = [library.visible for library in libraries if library.visible is not None]
    if gpus or least:
        yield _slot(_EXPECTED), max(len(gpus), least)
    if visible and not released:
        yield _slot(_VISIBLE), sum(visible)
    yield _slot(_RELEASED), float(released)


def _slot(series: Series, *labels: str) -> Slot:
    return series.name, labels


def _block(name: str, now: float, found: Iterable[Tuple[Slot, float]]) -> Block:
    slots, values = zip(*dict(found).items())  # GPUs of two vendors that never answered have one name
    return Block(name, (), slots, values, State.MEASURED, now)


def _by_collector(units: Iterable[Unit]) -> Dict[str, List[Unit]]:
    found: Dict[str, List[Unit]] = {}
    for unit in units:
        found.setdefault(unit.collector.id, []).append(unit)
    return found
