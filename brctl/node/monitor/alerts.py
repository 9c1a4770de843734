"""Samples and rules -> alerts: pure, and the same on a node, in the exporter and in `brctl monitor alerts`.

A value that is missing, or that no such part can have, neither fires an alert nor ends one.
"""

import math
import re
from functools import lru_cache
from typing import Dict, Iterable, List, NamedTuple, Optional, Protocol, Sequence, Tuple

from ..alert_facts import ActionRecord, Alert, Event, Happening, Label, Phase, Rule
from ..report import Sample, Series
from .alert_readings import Readings, compared, plausible, shown

MISSING_S = 60.0
"""After so long without a value that is said. As long as Prometheus' longest usual scrape interval: what is read once a
minute is not missing in between."""
FORGET_S = 86400.0
"""After so long without a value an alert that fires ends: nobody knows any more whether it is true. Of a part that is
gone nothing is kept from then on: it has a new name if it comes back."""


class Evaluated(NamedTuple):
    """One tick of one node."""

    alerts: Tuple[Alert, ...]
    """Of every series that a rule is about."""
    events: Tuple[Event, ...]


class Action(Protocol):
    """One way to act. It is called for alerts of rules whose `action` is its name, from one thread."""

    name: str

    def begin(self, event: Event, rule: Rule) -> ActionRecord:
        """An alert has fired. Must come back soon: what takes long is done elsewhere, and `tick` tells of it."""

    def undo(self, event: Event, rule: Rule, begun: ActionRecord) -> Sequence[ActionRecord]:
        """An alert is over: take back what `begin` did, perhaps before a restart; `begun` as it now stands, with
        `undone_at` where it is undone, and whatever else was done. Where it has FAILED and is not undone it is called
        again."""

    def tick(self, alerts: Iterable[Alert], at: float) -> Sequence[ActionRecord]:
        """After each tick: further steps, and records that have changed."""

    def close(self) -> Sequence[ActionRecord]:
        """The program ends: take back what must not outlive it."""


def evaluate(
    rules: Sequence[Rule], before: Sequence[Alert], node: str, series: Sequence[Series], samples: Sequence[Sample],
    at: float, stepped_s: float = 0.0,
) -> Evaluated:  # fmt: skip
    """What the samples of a tick make of the alerts of `node` as they were `before` it. `at`: seconds since the epoch;
    `stepped_s`: by how much that clock was set since the last tick (clock.py). Where it is not known that it was set
    back, what must hold for a time begins anew."""
    before = [_moved(alert, stepped_s) for alert in before] if stepped_s else before
    names = {one.name: one.labels for one in series}
    readings = Readings(rules, samples)
    known = _Known(before)
    alerts: List[Alert] = []
    events: List[Event] = []
    for rule in rules:
        bare = rule.reading == "value" and rule.other is None
        for sample in _meant(rule, names.get(rule.series, ()), readings.of(rule.series)):
            labels = _labels(names[rule.series], sample.labels)
            if "" in sample.labels and _UNNAMED in labels:
                labels = _named(known.rest.values(), rule, labels)
            alert = known.pop(rule.id, labels) or Alert(rule.id, node, labels)
            before_too = sample.at == alert.at and sample.value is not None and rule.reading != "age"
            if not before_too and not (bare and _stays_inactive(rule, alert, sample)):
                alert, event = _step(rule, alert, sample, readings, at)
                events += event
            alerts.append(alert)
    of = {rule.id: rule for rule in rules}
    for alert in known.rest.values():
        if _UNNAMED in alert.labels and alert.rule in of and _has_a_name(alert, alerts):
            events += _renamed(of[alert.rule], alert, at)
        elif alert.rule in of:  # the config has changed: who asks for a rule no more wants none of its alerts
            alert, event = _missed(of[alert.rule], alert, at)
            events += event
            if not _forgotten(alert, at):
                alerts.append(alert)
    return Evaluated(tuple(alerts), tuple(events))


class _Known:
    """The alerts of before, which most ticks ask for in the order in which they stand: then none is looked up."""

    def __init__(self, alerts: Sequence[Alert]) -> None:
        self._alerts = alerts
        self._next = 0
        self._rest: Optional[Dict[Tuple[str, Tuple[Label, ...]], Alert]] = None

    def pop(self, rule: str, labels: Tuple[Label, ...]) -> Optional[Alert]:
        if self._rest is None and self._next < len(self._alerts):
            alert = self._alerts[self._next]
            if alert.rule == rule and alert.labels == labels:
                self._next += 1
                return alert
        return self.rest.pop((rule, labels), None)

    @property
    def rest(self) -> Dict[Tuple[str, Tuple[Label, ...]], Alert]:
        """Those that nobody has asked for."""
        if self._rest is None:
            self._rest = {(alert.rule, alert.labels): alert for alert in self._alerts[self._next :]}
        return self._rest


def resumed(alerts: Sequence[Alert], at: float) -> Tuple[Alert, ...]:
    """As they are where nobody has looked at them until now: of those that were without a value for too long, what must
    hold for a time begins anew. Nobody knows what was in between."""
    return tuple(
        alert if at - alert.at < MISSING_S else alert._replace(phase=_ANEW.get(alert.phase, alert.phase), samples=0)
        for alert in alerts
    )


_ANEW = {Phase.PENDING: Phase.INACTIVE, Phase.CLEARING: Phase.FIRING}


def _moved(alert: Alert, by_s: float) -> Alert:
    """As if the clock had always been what it is now, so that what has lasted so long has lasted so long. When its
    value was read stays as it is told: a value that is told again is known by that."""
    missing = alert.missing_since
    return alert._replace(
        since=alert.since + by_s, missing_since=None if missing is None else missing + by_s,
        fired_at=None if alert.fired_at is None else alert.fired_at + by_s,
        points=tuple(point._replace(at=point.at + by_s) for point in alert.points),
    )  # fmt: skip


@lru_cache(maxsize=65536)
def _labels(names: Tuple[str, ...], values: Tuple[str, ...]) -> Tuple[Label, ...]:
    """The same in every tick: to make them takes longer than all else."""
    return tuple(map(Label, names, values))


def _meant(rule: Rule, names: Sequence[str], samples: Iterable[Sample]) -> List[Sample]:
    size = len(names)
    if not rule.only:
        return [sample for sample in samples if len(sample.labels) == size]
    if not all(each.label in names for each in rule.only):
        return []
    only = [(names.index(each.label), each.values, each.other) for each in rule.only]
    return [
        sample
        for sample in samples
        if len(sample.labels) == size
        and all((sample.labels[place] in values) is not other for place, values, other in only)
    ]


_UNNAMED = Label("uuid", "")
"""Of a GPU that has not answered since the sampler began; its index says which it is."""


def _unnamed(labels: Iterable[Label]) -> Tuple[Label, ...]:
    return tuple(_UNNAMED if label.name == _UNNAMED.name else label for label in labels)


def _named(known: Iterable[Alert], rule: Rule, labels: Tuple[Label, ...]) -> Tuple[Label, ...]:
    """As the same GPU was called before, by an earlier sampler: of several the one that was there last."""
    same = [alert for alert in known if alert.rule == rule.id and _unnamed(alert.labels) == labels]
    return max(same, key=lambda alert: (alert.labels != labels, _last_there(alert))).labels if same else labels


def _last_there(alert: Alert) -> Tuple[float, float]:
    """Greater for what was there later, greatest for what is there still."""
    return math.inf if alert.missing_since is None else alert.missing_since, alert.at


def _has_a_name(alert: Alert, others: Iterable[Alert]) -> bool:
    return any(other.rule == alert.rule and _unnamed(other.labels) == alert.labels for other in others)


def _renamed(rule: Rule, alert: Alert, at: float) -> Tuple[Event, ...]:
    """Of a GPU that has answered: what is true of it is told under its name from now on."""
    if not alert.phase.fires:
        return ()
    over = alert._replace(phase=Phase.INACTIVE, since=at)
    return (Event(Happening.RESOLVED, over, at, "{} has answered, and has a UUID".format(part(rule, alert))),)


def _stays_inactive(rule: Rule, alert: Alert, sample: Sample) -> bool:
    """Of a rule that compares nothing but the sample's value. As most do in most ticks, at what value is not kept."""
    if alert.phase is not Phase.INACTIVE or alert.missing_since is not None or alert.points:
        return False
    value = plausible(sample)
    return value is not None and not compared(value, rule.comparison, rule.threshold)


_Stepped = Tuple[Alert, Tuple[Event, ...]]


def _step(rule: Rule, alert: Alert, sample: Sample, readings: Readings, at: float) -> _Stepped:
    read = readings.read(rule, alert, sample, at)
    if read is None:
        return _missed(rule, alert, at)
    now = at if rule.reading == "age" else sample.at
    if now == alert.at:
        return alert, ()  # a second look at one value is no second value
    excused = readings.excused(rule, sample)
    holds = not excused and compared(read.value, rule.comparison, rule.threshold)
    if not holds and alert.phase is Phase.INACTIVE:
        return alert._replace(
            value=read.value, at=now, points=read.points, missing_since=None, silent=False, samples=0
        ), ()  # fmt: skip
    clear = rule.threshold if rule.clear is None else rule.clear
    stays = holds or (not excused and compared(read.value, rule.comparison, clear))
    alert = alert._replace(
        value=read.value, at=now, since=min(now, alert.since), samples=alert.samples + 1 if holds else 0,
        missing_since=None, silent=False, points=read.points, severity=rule.severity, action=rule.action,
    )  # fmt: skip
    alert = alert._replace(summary=_summary(rule, alert))
    return _fired(rule, alert, now, stays) if alert.phase.fires else _quiet(rule, alert, now, holds)


def _quiet(rule: Rule, alert: Alert, now: float, holds: bool) -> _Stepped:
    """One that does not fire yet."""
    if not holds:
        return alert._replace(phase=Phase.INACTIVE, since=now), ()
    since = alert.since if alert.phase is Phase.PENDING else now
    if now - since < rule.hold_s or alert.samples < rule.min_samples:
        return alert._replace(phase=Phase.PENDING, since=since), ()
    fired = alert._replace(phase=Phase.FIRING, since=now, fired_at=now)
    return fired, (Event(Happening.FIRED, fired, now, _evidence(rule, fired, now - since)),)


def _fired(rule: Rule, alert: Alert, now: float, stays: bool) -> _Stepped:
    """One that fires: it ends when the value has been beyond `clear` for `clear_s`."""
    if stays:
        firing = alert.phase is Phase.FIRING
        return alert._replace(phase=Phase.FIRING, since=alert.since if firing else now), ()
    since = alert.since if alert.phase is Phase.CLEARING else now
    if now - since < rule.clear_s:
        return alert._replace(phase=Phase.CLEARING, since=since), ()
    over = alert._replace(phase=Phase.INACTIVE, since=now)
    return over, (Event(Happening.RESOLVED, over, now, _over(rule, over)),)


def _missed(rule: Rule, alert: Alert, at: float) -> _Stepped:
    """One without a value: what becomes of it, and what is to be told."""
    since = at if alert.missing_since is None else min(at, alert.missing_since)
    alert = alert._replace(missing_since=since)
    if at - since < MISSING_S:
        return alert, ()
    if alert.phase.fires and at - since >= FORGET_S:
        over = alert._replace(phase=Phase.INACTIVE, since=at, samples=0, silent=True)
        return over, (Event(Happening.RESOLVED, over, at, "{} has had no value for a day".format(part(rule, alert))),)
    if not alert.phase.fires:  # what was pending begins anew
        alert = alert._replace(phase=Phase.INACTIVE, since=at, samples=0)
    if alert.silent:
        return alert, ()
    text = "{} has had no value for {:g} s: {}".format(
        part(rule, alert), at - since, "it still fires" if alert.phase.fires else "nothing can be said"
    )
    alert = alert._replace(silent=True)
    return alert, (Event(Happening.MISSING, alert, at, text),)


def _forgotten(alert: Alert, at: float) -> bool:
    """Whether nothing is left to say of a part that is gone."""
    return (
        alert.silent
        and not alert.phase.fires
        and alert.missing_since is not None
        and at - alert.missing_since >= FORGET_S
    )


def part(rule: Rule, alert: Alert) -> str:
    """`brctl_gpu_temperature_celsius{gpu="3",uuid="GPU-..."}`"""
    pairs = ",".join('{}="{}"'.format(label.name, label.value) for label in alert.labels)
    return "{}{{{}}}".format(rule.series, pairs) if pairs else rule.series


def condition(rule: Rule) -> str:
    """`>= 85 celsius`"""
    return "{} {}".format(rule.comparison, shown(rule.threshold, rule.unit))


_READINGS = {
    "value": "", "increase": "the increase of ", "age": "the age of ", "lost": "", "ratio": "the part left of ",
    "shortfall": "what lacks of ",
}  # fmt: skip


def _evidence(rule: Rule, alert: Alert, held_s: float) -> str:
    held = " for {:g} s".format(round(held_s, 1)) if held_s else ""
    count = " ({} samples)".format(alert.samples) if alert.samples > 1 else ""
    return "{}{} was {}, {}{}{}".format(
        _READINGS[rule.reading], part(rule, alert), shown(alert.value, rule.unit), condition(rule), held, count
    )


def _over(rule: Rule, alert: Alert) -> str:
    beyond = rule.threshold if rule.clear is None else rule.clear
    held = " for {:g} s".format(rule.clear_s) if rule.clear_s else ""
    return "{}{} is {}, no longer {} {}{}".format(
        _READINGS[rule.reading],
        part(rule, alert),
        shown(alert.value, rule.unit),
        rule.comparison,
        shown(beyond, rule.unit),
        held,
    )


def _summary(rule: Rule, alert: Alert) -> str:
    """Its words, or its condition where it has none."""
    if not rule.summary:
        return "{} of {}: {}".format(part(rule, alert), alert.node, shown(alert.value, rule.unit))
    values: Dict[str, str] = {label.name: label.value for label in alert.labels}
    values.update(node=alert.node, value=shown(alert.value, rule.unit))
    return _FIELD.sub(lambda match: values.get(match.group(1), match.group(0)), rule.summary)


_FIELD = re.compile(r"\{(\w+)\}")
