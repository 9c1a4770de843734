"""What of a series is compared with a threshold: its value, its growth, its age, ...; and whether it can be true."""

import operator
from typing import Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from ..alert_facts import Alert, Point, Rule
from ..report import Sample, State
from ..samples import grouped

_HOTTEST = 200.0
"""Celsius. No chip is soldered that hot: solder melts at 217 (SAC305)."""
_SENTINELS = (-256.0, 4294967295.0)
"""What drivers and sensors give for "unknown": the least value of hwmon drivers and i2c chips without power, and an
unsigned -1."""
_MOST_POINTS = 256
"""Of a window. Of a counter that changes more often some between are left out: its growth stays what it was, and where
the window begins is known to a hundredth of its length."""


class Read(NamedTuple):
    value: float
    points: Tuple[Point, ...]
    """What the window holds from now on."""


class Readings:
    """The samples of one tick of one node."""

    def __init__(self, rules: Iterable[Rule], samples: Sequence[Sample]) -> None:
        """Of the samples, those that the rules look at."""
        names = {name for rule in rules for name in (rule.series, rule.other, rule.unless)}
        self._of: Dict[str, List[Sample]] = {}
        for group in grouped(samples):
            for name in group.places.keys() & names:
                self._of.setdefault(name, []).extend(group[place] for place in group.places[name])
        self._by_labels: Dict[str, Dict[Tuple[str, ...], Sample]] = {}

    def of(self, series: str) -> Sequence[Sample]:
        return self._of.get(series, ())

    def beside(self, series: str, sample: Sample) -> Optional[float]:
        """The value of another series of the same part; None: it has none."""
        if series not in self._by_labels:
            self._by_labels[series] = {each.labels: each for each in self.of(series)}
        other = self._by_labels[series].get(sample.labels)
        return plausible(other) if other else None

    def excused(self, rule: Rule, sample: Sample) -> bool:
        return rule.unless is not None and bool(self.beside(rule.unless, sample))

    def read(self, rule: Rule, alert: Alert, sample: Sample, at: float) -> Optional[Read]:
        """None: there is no value, or none that can be true."""
        value = plausible(sample)
        if value is None:
            return None
        if rule.reading == "increase":
            return _increase(alert, Point(sample.at, value), rule.window_s)
        if rule.reading == "lost":
            return _lost(alert, Point(sample.at, value), rule.window_s)
        if rule.reading == "age":
            return Read(max(0.0, at - value), ())
        if rule.other is None:
            return Read(value, ())
        other = self.beside(rule.other, sample)
        if other is None or (rule.reading == "ratio" and other <= 0):
            return None
        return Read(value / other if rule.reading == "ratio" else other - value, ())


def plausible(sample: Sample) -> Optional[float]:
    """The value of this tick, if it is one; None for one that no such part can have: an idle GPU is not at 0 C."""
    value = sample.value
    if sample.state is not State.MEASURED or value is None or value in _SENTINELS:
        return None
    if sample.series.endswith("_temperature_celsius"):
        return value if 0 < value <= _HOTTEST else None
    if sample.series.endswith("_celsius"):  # a margin, which may be below 0
        return value if -_HOTTEST <= value <= _HOTTEST else None
    return value


def _increase(alert: Alert, now: Point, window_s: float) -> Read:
    """Of a counter, in the window. One that goes back was reset, and has grown by what it is since."""
    points = alert.points
    if not points or now.value != points[-1].value:
        points = (*points, now)
    inside = next((i for i, point in enumerate(points) if point.at > now.at - window_s), len(points))
    points = points[max(0, inside - 1) :]  # one before the window, which the first one inside grew from
    points = _thinned(points) if len(points) > _MOST_POINTS else points
    pairs = zip(points, points[1:])
    return Read(sum(b.value - a.value if b.value >= a.value else b.value for a, b in pairs), points)


def _thinned(points: Tuple[Point, ...]) -> Tuple[Point, ...]:
    """Without the one that stands closest between its neighbours. One where the counter went back is needed; where it
    always does, the oldest goes."""
    each = enumerate(zip(points, points[1:], points[2:]), 1)
    gaps = [(after.at - before.at, i) for i, (before, it, after) in each if before.value <= it.value <= after.value]
    least = min(gaps)[1] if gaps else 0
    return points[:least] + points[least + 1 :]


def _lost(alert: Alert, now: Point, window_s: float) -> Read:
    """0 of what was 1 within the window; 1 of all else: what has never been there is not missed."""
    points = (now,) if now.value else alert.points
    lost = not now.value and bool(points) and now.at - points[0].at <= window_s
    return Read(float(not lost), points)


def compared(value: float, comparison: str, threshold: float) -> bool:
    return _COMPARED[comparison](value, threshold)


_COMPARED: Dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}


def shown(value: Optional[float], unit: str) -> str:
    """`85 C`, `0.001 %`, `4`; `?` where there is none."""
    if value is None:
        return "?"
    if unit == "ratio":
        return "{:.4g} %".format(value * 100)
    return "{:.6g}{}".format(value, " " + _UNITS.get(unit, unit) if unit else "")


_UNITS = {"celsius": "C", "watts": "W", "seconds": "s"}


def duration(seconds: float) -> str:
    """`10m`, `90s`, `1d`; whole milliseconds."""
    for unit, worth in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds and seconds % worth == 0:
            return "{:.0f}{}".format(seconds / worth, unit)
    return "{:.0f}s".format(seconds) if seconds == int(seconds) else "{:.0f}ms".format(seconds * 1000)
