"""How evenly the GPUs of all nodes work, and which lag behind the others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..node.monitor import GPU_LABELS, INFO, UP
from ..node.report import Report, Sample, State
from ..node.samples import of
from ..node.siblings import median

UTILIZATION, CLOCK = "brctl_gpu_utilization_ratio", "brctl_gpu_clock_hertz"
_MODEL = "name"
"""The label of INFO."""
_BUSY = 0.5
"""Median utilisation from which the GPUs are taken to work on one thing: of idle ones none lags."""
_SLOW_CLOCK, _SLOW_UTILIZATION = 0.9, 0.5
"""Of the median of the model. Boards of one model at one load differ by less than 5 % in clock; half the utilisation of
the others is another load, or a GPU that is waited for."""
_LEAST = 4
"""GPUs of a model, for a median to say what is usual."""


class Balance(NamedTuple):
    """Of one Series over all GPUs."""

    series: str
    evenness: float | None
    """H / ln n of the GPUs' shares (normalised entropy): 1 where all are equal, 0 where one does all. None where it has
    no meaning: the sum is 0, or fewer than two GPUs are measured."""
    mean: float | None
    minimum: float | None
    counted: int
    """GPUs that are measured."""
    unknown: int
    """GPUs that are not, which are left out."""


class Straggler(NamedTuple):
    """A GPU that lags behind."""

    node: str
    gpu: str
    uuid: str
    series: str
    value: float
    median: float
    """Of all GPUs of its model that are measured."""


def balance(reports: Sequence[Report], series: str = UTILIZATION) -> Balance:
    values = list(_measured(reports, series).values())
    unknown = len(_gpus(reports)) - len(values)
    if not values:
        return Balance(series, None, None, None, 0, unknown)
    return Balance(series, evenness(values), sum(values) / len(values), min(values), len(values), unknown)


def evenness(values: Sequence[float]) -> float | None:
    """H / ln n; None where that has no meaning."""
    total = sum(values)
    if len(values) < 2 or total <= 0 or min(values) < 0:
        return None
    shares = [value / total for value in values if value]
    return min(1.0, max(0.0, -sum(share * math.log(share) for share in shares) / math.log(len(values))))


def stragglers(reports: Sequence[Report]) -> tuple[Straggler, ...]:
    """Of GPUs that work, those of a lower clock or utilisation than the others of their model; none of a model of which
    fewer than four do. Those that do not tell their model are compared with each other."""
    every = _measured(reports, UTILIZATION)
    if max(every.values(), default=0.0) < _BUSY:
        return ()
    models, by_model = _models(reports), dict[str, dict[_Gpu, float]]()
    for gpu, share in every.items():
        by_model.setdefault(models.get(gpu, ""), {})[gpu] = share
    clocks = _measured(reports, CLOCK, ("sm",))
    return tuple(one for _, used in sorted(by_model.items()) for one in _lagging(used, clocks))


_Gpu = tuple[str, str, str]
"""Node, index, UUID."""


def _lagging(used: Mapping[_Gpu, float], clocks: Mapping[_Gpu, float]) -> Iterator[Straggler]:
    """Of one model."""
    if len(used) >= _LEAST and median(used.values()) >= _BUSY:
        yield from _below(used, UTILIZATION, _SLOW_UTILIZATION)
        yield from _below(
            {gpu: clocks[gpu] for gpu, share in used.items() if share >= _BUSY and gpu in clocks}, CLOCK, _SLOW_CLOCK
        )


def _models(reports: Sequence[Report]) -> dict[_Gpu, str]:
    size, found = len(GPU_LABELS), dict[_Gpu, str]()
    for report in reports:
        names = next((one.labels for one in report.series if one.name == INFO), ())
        if names[:size] != GPU_LABELS or _MODEL not in names:
            continue
        for sample in of(report.samples, INFO):
            if len(sample.labels) == len(names):
                index, uuid = sample.labels[:size]
                found[report.node, index, uuid] = sample.labels[names.index(_MODEL)]
    return found


def _below(values: Mapping[_Gpu, float], series: str, part: float) -> Iterator[Straggler]:
    if len(values) >= _LEAST:
        usual = median(values.values())
        yield from (Straggler(*gpu, series, it, usual) for gpu, it in sorted(values.items()) if it < part * usual)


def _measured(reports: Sequence[Report], series: str, more: tuple[str, ...] = ()) -> dict[_Gpu, float]:
    return {
        gpu: sample.value
        for gpu, sample in _of(reports, series, more)
        if sample.state is State.MEASURED and sample.value is not None
    }


def _gpus(reports: Sequence[Report]) -> set[_Gpu]:
    return {gpu for gpu, _ in _of(reports, UP)}


def _of(reports: Sequence[Report], series: str, more: tuple[str, ...] = ()) -> Iterator[tuple[_Gpu, Sample]]:
    size = len(GPU_LABELS)
    for report in reports:
        for sample in of(report.samples, series):
            if sample.labels[size:] == more:
                yield (report.node, *sample.labels[:size]), sample  # type: ignore[misc]  # two of them
