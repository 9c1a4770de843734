"""Collectors: a machine -> samples of declared Series, each on its own cadence. One file each in collectors/; they are
found by themselves."""

from functools import lru_cache
from typing import Callable, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from ..accel import Accelerator, Meter
from ..host import Host
from ..host.members import members
from ..report import Series
from . import collectors
from .previous import Previous

UP = "brctl_gpu_up"
"""1 of a GPU that answers, however slowly, 0 of one that is lost, refuses, or is in a call that has not returned within
its limit. Every GPU that was ever seen has it in every sample, but while it is opened at first and after a release."""
INFO, RELEASED = "brctl_gpu_info", "brctl_monitor_released"
"""Whose labels say what a GPU is; whether samplers have let go of all (release.py)."""
GPU_LABELS = ("gpu", "uuid")
"""Of every Series of a GPU: NVML's index and the UUID. A GPU keeps both as long as the sampler runs; the UUID is empty
until it has answered once."""


class Reading(NamedTuple):
    """One value, as a collector gives it; the sampler makes a Sample of it."""

    series: Series
    value: Optional[float]
    """None: the part does not support it."""
    labels: Tuple[str, ...] = ()
    """Of a GPU's collector without GPU_LABELS, which the sampler puts in front."""


Readings = Iterable[Reading]


class WatchedGpu(NamedTuple):
    """What the collectors of GPUs look at."""

    host: Host
    part: Accelerator
    meter: Meter
    driver: str
    """The version of its driver; empty where nobody tells."""


class Collector(NamedTuple):
    """One of the three functions is given. Whatever they raise costs the values of this collector (and GPU) alone; a
    value that cannot be told yet, as a rate at first, is left out."""

    id: str
    title: str
    """What it measures: `GPU temperatures and margins`."""
    every_s: float
    """It is not run more often; `monitor.collectors.ID.every` of the config says otherwise."""
    series: Tuple[Series, ...]
    of_host: Optional[Callable[[Host, Previous], Readings]] = None
    of_gpu: Optional[Callable[[WatchedGpu, Previous], Readings]] = None
    of_peers: Optional[Callable[[Host, Previous, Sequence[str]], Readings]] = None
    """It is run where the config names peers."""


class Kind:
    """Makes the Series of one collector."""

    def __init__(self, collector: str, labels: Tuple[str, ...] = ()) -> None:
        """`labels`: those that all of them have."""
        self._collector, self._labels = collector, labels
        self.all: List[Series] = []

    def gauge(self, name: str, unit: str, help_text: str, source: str, *labels: str) -> Series:
        return self._made(name, unit, "gauge", help_text, source, labels)

    def counter(self, name: str, unit: str, help_text: str, source: str, *labels: str) -> Series:
        return self._made(name, unit, "counter", help_text, source, labels)

    def _made(self, name: str, unit: str, kind: str, help_text: str, source: str, labels: Tuple[str, ...]) -> Series:
        made = Series("brctl_" + name, unit, kind, self._labels + labels, help_text, source, self._collector)
        self.all.append(made)
        return made


@lru_cache(maxsize=None)
def registry() -> Tuple[Collector, ...]:
    """All collectors, by id: the COLLECTOR of every module in collectors/."""
    found: List[Collector] = members(collectors, "COLLECTOR")
    return tuple(sorted(found, key=lambda collector: collector.id))
