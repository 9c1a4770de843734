"""What the nodes said, as the tables ask for it: by Series and labels, with the rates of counters and a history."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...node.report import Report, Sample, State
from .amounts import absent

HISTORY = 120
"""Ticks that are kept."""
Labels = tuple[str, ...]


class Told(NamedTuple):
    """A value as the functions of amounts.py take it."""

    value: float | None
    missing: str
    """What stands for it where it is None."""


def greatest(each: Sequence[Told]) -> Told:
    """Of those that are known."""
    return Told(max((one.value for one in each if one.value is not None), default=None), _missing(each))


def total(each: Sequence[Told]) -> Told:
    """Of those that are known."""
    known = [one.value for one in each if one.value is not None]
    return Told(sum(known) if known else None, _missing(each))


def whole(each: Sequence[Told]) -> Told:
    """None where any is: a part of the whole is not the whole."""
    return total(each) if all(one.value is not None for one in each) else Told(None, _missing(each))


def _missing(each: Sequence[Told]) -> str:
    return max((one.missing for one in each), default="-")  # `?` is the greater


class Node:
    """One node in one tick."""

    def __init__(self, report: Report, silent: bool = False) -> None:
        """`silent`: the tick is old, and so are all its values."""
        self.name, self.mock = report.node, report.mock
        self.error = report.errors[0] if report.errors else None
        self._labels = {series.name: series.labels for series in report.series}
        self._samples: dict[str, dict[Labels, Sample]] = {}
        for sample in report.samples:
            kept = sample._replace(value=None, state=State.STALE) if silent else sample
            self._samples.setdefault(sample.series, {})[sample.labels] = kept

    def value(self, name: str, labels: Labels = ()) -> float | None:
        """None: not there, or not measured in this tick."""
        found = self._samples.get(name, {}).get(labels)
        return found.value if found else None

    def state(self, name: str, labels: Labels = ()) -> State | None:
        found = self._samples.get(name, {}).get(labels)
        return found.state if found else None

    def told(self, name: str, labels: Labels = ()) -> Told:
        return Told(self.value(name, labels), absent(self.state(name, labels)))

    def each(self, name: str) -> Iterator[Labels]:
        """The labels of all samples of a Series, in the order in which they came."""
        yield from self._samples.get(name, {})

    def named(self, name: str) -> Iterator[tuple[dict[str, str], Labels]]:
        """Likewise, with their names."""
        names = self._labels.get(name, ())
        for labels in self._samples.get(name, {}):
            yield dict(zip(names, labels, strict=False)), labels


class Histories:
    """Values of the newest ticks, by whatever they are of; a tick without a value leaves a gap."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, ...], deque[float | None]] = {}

    def note(self, key: tuple[str, ...], value: float | None) -> None:
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = deque(maxlen=HISTORY)
        kept.append(value)

    def of(self, key: tuple[str, ...]) -> Sequence[float | None]:
        return tuple(self._kept.get(key, ()))
