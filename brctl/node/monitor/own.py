"""What the sampler tells of itself and of the GPUs as a whole."""

import time
from typing import Dict, Iterable, List, Optional, Sequence, Tuple

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
_LATENESS = _own.gauge("monitor_tick_lateness_seconds", "seconds", "How late the last tick began.", "clock_gettime(2)")
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


class Clockwork:
    """How the ticks go."""

    def __init__(self) -> None:
        self.ticks = self.skipped = 0
        self.lateness_s = 0.0


def block(
    now: float,
    now_s: float,
    clockwork: Clockwork,
    units: Sequence[Unit],
    libraries: Sequence[LibraryLane],
    released: bool,
    least: int,
) -> Block:
    """`least`: how many GPUs there should be at least."""
    found: Dict[Slot, Optional[float]] = {}

    def tell(series: Series, value: float, *labels: str) -> None:
        found[series.name, labels] = value

    gpus = [gpu for library in libraries for gpu in library.gpus]
    for gpu in gpus:
        up = gpu.up
        if up is not None and not released:
            tell(_UP, float(up), *gpu.labels)
    visible = [library.visible for library in libraries if library.visible is not None]
    if gpus or least:
        tell(_EXPECTED, max(len(gpus), least))
    if visible and not released:
        tell(_VISIBLE, sum(visible))
    tell(_RELEASED, float(released))
    tell(_CPU, time.process_time(), "agent")
    tell(_LATENESS, clockwork.lateness_s)
    tell(_TICKS, clockwork.ticks)
    tell(_SKIPPED, clockwork.skipped)
    for name, of_it in _by_collector(units).items():
        answers = [unit.answer for unit in of_it if unit.answer]
        late = any(unit.late(now_s) for unit in of_it)
        if answers or late:
            tell(_SUCCESS, float(not late and all(answer.error is None for answer in answers)), name)
        if answers:
            tell(_DURATION, max(answer.took_s for answer in answers), name)
        tell(_TIMEOUTS, sum(unit.timeouts for unit in of_it), name)
    return Block(SAMPLER, (), tuple(found), tuple(found.values()), State.MEASURED, now)


def _by_collector(units: Iterable[Unit]) -> Dict[str, List[Unit]]:
    found: Dict[str, List[Unit]] = {}
    for unit in units:
        found.setdefault(unit.collector.id, []).append(unit)
    return found
