"""Collectors: a machine -> samples of declared Series, each on its own cadence. One file each in collectors/; they are
found by themselves."""

import pkgutil
from functools import lru_cache
from importlib import import_module
from typing import Callable, Iterable, List, NamedTuple, Optional, Tuple

from ..accel import Accelerator
from ..host import Host
from ..report import Series
from . import collectors
from .previous import Previous

UP = "brctl_gpu_up"
"""1 of a GPU that answers, 0 of one that is lost or hangs; the only Series that every GPU has in every sample."""
GPU_LABELS = ("gpu", "uuid")
"""Of every Series of a GPU: NVML's index and the UUID; a GPU keeps both as long as the sampler runs."""


class Reading(NamedTuple):
    """One value, as a collector gives it; the sampler makes a Sample of it."""

    series: Series
    labels: Tuple[str, ...]
    """Of a GPU's collector without GPU_LABELS, which the sampler puts in front."""
    value: Optional[float]
    """None: the part does not support it."""


Readings = Iterable[Reading]


class Collector(NamedTuple):
    """Either `of_host` or `of_gpu` is given. Whatever they raise costs the values of this collector (and GPU) alone;
    a value that cannot be told yet, as a rate at first, is left out."""

    id: str
    title: str
    """What it measures: `GPU temperatures and margins`."""
    every_s: float
    """It is not run more often; `monitor.collectors.ID.every` of the config says otherwise."""
    series: Tuple[Series, ...]
    of_host: Optional[Callable[[Host, Previous], Readings]] = None
    of_gpu: Optional[Callable[[Accelerator, Previous], Readings]] = None


def gauge(collector: str, name: str, unit: str, labels: Tuple[str, ...], help: str, source: str) -> Series:  # noqa: A002
    return Series(name, unit, "gauge", labels, help, source, collector)


def counter(collector: str, name: str, unit: str, labels: Tuple[str, ...], help: str, source: str) -> Series:  # noqa: A002
    return Series(name, unit, "counter", labels, help, source, collector)


@lru_cache(maxsize=None)
def registry() -> Tuple[Collector, ...]:
    """All collectors, by id: the COLLECTOR of every module in collectors/, also where that lies in a zip."""
    names = [module.name for module in pkgutil.iter_modules(collectors.__path__)]
    found: List[Collector] = [import_module("{}.{}".format(collectors.__name__, name)).COLLECTOR for name in names]
    return tuple(sorted(found, key=lambda collector: collector.id))
