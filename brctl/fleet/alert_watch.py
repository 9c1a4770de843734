"""Ticks of many nodes -> alerts, what is done about them, and the series that tell of them.

What only the admin side can know is added as samples before the rules see them: that a node is silent, that a GPU lags
behind those of other nodes. What fires is added after it, so every view and export has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..node.alert_facts import ActionRecord, Alert, Event, Happening, Label, Outcome, Rule
from ..node.monitor.alerts import Action, evaluate, resumed
from ..node.monitor.clock import Clock
from ..node.report import Report
from ..node.samples import Group, Samples, grouped, of
from .alert_series import FIRING, NODE_UP, SERIES, firing, with_samples, without_node_up
from .alert_store import Kept, Silence, Store, silenced, undone
from .balance import stragglers

_LOOK_S = 0.5
"""Ticks that come faster are looked at so often: no alert is about less than a second, and ten looks in each would cost
more than all else that is done with their samples."""
_KEEP_EVERY_S = 10.0
_AGAIN_S = 60.0
"""Between two attempts to undo what cannot be undone now."""
_READ, _KEEP = "read what is kept of alerts", "keep what is known of alerts"


Key = tuple[str, str, tuple[Label, ...]]
"""Of an alert."""


class Watched(NamedTuple):
    """One tick."""

    reports: tuple[Report, ...]
    """With the series that tell of alerts."""
    alerts: tuple[Alert, ...]
    silenced: frozenset[Key]
    """Keys of alerts."""
    events: tuple[Event, ...]
    records: tuple[ActionRecord, ...]
    """What was done, or has changed since it was told."""


class Watch:
    def __init__(
        self, rules: Callable[[str], Sequence[Rule]], actions: Mapping[str, Action], store: Store,
        trouble: Callable[[str], None], keep: bool,
    ) -> None:  # fmt: skip
        """`rules`: those of a node. `actions`: by name. `trouble` is told what hinders reading and keeping, once.
        `keep`: what becomes of alerts is kept; else nothing is written. Raises OSError where it is and cannot be read:
        nobody may act who does not know what is begun and what is silenced."""
        self._rules, self._actions, self._store, self._trouble = rules, actions, store, trouble
        self._keeps = keep
        self._troubles: set[str] = set()
        self._silences: tuple[Silence, ...] = ()
        kept = Kept()
        try:
            kept, self._silences = store.kept(), store.silences(0.0)
        except OSError as error:
            if keep:
                raise
            self._hindered(_READ, error)
        self._alerts: dict[str, tuple[Alert, ...]] = {}
        for alert in kept.alerts:
            self._alerts[alert.node] = (*self._alerts.get(alert.node, ()), alert)
        self._resumed = set(self._alerts)
        """Nodes that have not answered since, of which something was kept."""
        self._open = {(it.rule, it.node, it.labels): it for it in kept.open if keep}
        self._evidence: dict[tuple[str, str, tuple[Label, ...]], Event] = {}
        self._taken: dict[str, ActionRecord] = {}
        """What nodes did by themselves and have not undone yet, by id."""
        self._failed_at: dict[Key, float] = {}
        """When the undoing of what is open failed."""
        self._kept_at = 0.0
        self._clocks: dict[str, Clock] = {}
        self._last: dict[str, tuple[Report | None, Report]] = {}
        """Of each node the newest Report, and what became of it."""
        self._seen: dict[str, Report] = {}
        """Of each node the one that was last looked at."""
        self._looked_s = -math.inf
        self._looked = Watched((), (), frozenset(), (), ())
        """When alerts were last looked at, and what was seen."""

    def take(self, reports: Sequence[Report], now: float, now_s: float | None = None) -> Watched:
        """`now`: seconds since the epoch. `now_s`: the monotonic clock, by which it is seen that a clock was set; None:
        none is, as of samples that were recorded, each of which is looked at."""
        if now_s is not None:
            if now_s - self._looked_s < _LOOK_S and _nodes(reports) == _nodes(self._looked.reports):
                return self._passed(reports, now)
            self._looked_s = now_s
        self._looked = self._look(reports, now, now_s)
        return self._looked

    def _passed(self, reports: Sequence[Report], now: float) -> Watched:
        """With what the last look saw."""
        records = tuple(self._of_nodes(reports))
        if records:
            self._keep(records, self._looked.alerts, False, now)
        told = tuple(self._told_again(report) for report in reports)
        return self._looked._replace(reports=told, events=(), records=records)

    def _look(self, reports: Sequence[Report], now: float, now_s: float | None) -> Watched:
        silences = self._silenced(now)
        events: list[Event] = []
        lagging = {(it.node, it.gpu, it.uuid) for it in stragglers(reports)}
        full = [with_samples(report, lagging, now) for report in reports]
        for before, report in zip(reports, full, strict=True):
            events += self._evaluate(report, now, self._stepped(before, now, now_s))
        alerts = tuple(alert for each in self._alerts.values() for alert in each)
        quiet = frozenset(alert.key for alert in alerts if silences and silenced(silences, alert, now))
        records = [*self._done(alerts, quiet, events, now), *self._of_nodes(reports)]
        self._keep(records, alerts, bool(events), now)
        told = tuple(self._told(before, report, quiet, now) for before, report in zip(reports, full, strict=True))
        return Watched(told, alerts, quiet, tuple(events), tuple(records))

    def close(self, now: float) -> tuple[ActionRecord, ...]:
        """Take back what must not outlive this program, and keep what goes on. Nodes give back what they took when
        nobody asks them any more, and cannot tell of it then."""
        records = [one for action in self._actions.values() for one in action.close()]
        records += [undone(one, now, "exit") for one in self._taken.values()]
        for one in records:
            self._book(one)
        self._keep(records, tuple(alert for each in self._alerts.values() for alert in each), True, now)
        return tuple(records)

    def _silenced(self, now: float) -> Sequence[Silence]:
        """What was silenced a tick ago still is, where it cannot be read now."""
        try:
            self._silences = self._store.silences(now)
            self._troubles.discard(_READ)
        except OSError as error:
            self._hindered(_READ, error)
        return self._silences

    def _of_nodes(self, reports: Sequence[Report]) -> Sequence[ActionRecord]:
        """What nodes did by themselves. A Report of one that is slower than the ticks comes twice."""
        new = [report for report in reports if self._last.get(report.node, (None,))[0] is not report]
        records = [one for report in new for one in report.actions]
        for one in records:
            self._taken.pop(one.id, None)
            if one.undone_at is None and one.outcome in (Outcome.DONE, Outcome.UNCHANGED, Outcome.FAILED):
                self._taken[one.id] = one
        return records

    def _told(self, before: Report, full: Report, quiet: frozenset[Key], now: float) -> Report:
        """The same as in the last tick where nothing has changed: whoever follows knows it by that."""
        told = firing(self._alerts.get(full.node, ()), quiet, now)
        last, made = self._last.get(full.node, (None, full))
        shown = [one.labels for one in of(made.samples, FIRING.name)]
        if last is not before or shown != [one.labels for one in told]:
            made = full._replace(samples=Samples((*without_node_up(full.samples), Group(told))))
            self._last[full.node] = before, made
        return made

    def _told_again(self, report: Report) -> Report:
        last, made = self._last[report.node]
        if last is not report:
            *_, lagging, firing = grouped(made.samples)
            samples = Samples((*without_node_up(report.samples), lagging, firing))
            made = report._replace(samples=samples, series=(*report.series, *SERIES))
            self._last[report.node] = report, made
        return made

    def _stepped(self, report: Report, now: float, now_s: float | None) -> float:
        """By how much the clock was set by which the alerts of this node are told: its own, or ours while it is silent.
        A tick that comes twice tells no time."""
        before, self._seen[report.node] = self._seen.get(report.node), report
        if now_s is None or (not report.errors and before is report):
            return 0.0
        return self._clocks.setdefault(report.node, Clock()).stepped(_time(report, now), now_s)

    def _evaluate(self, report: Report, now: float, stepped_s: float) -> Sequence[Event]:
        rules, before = self._rules(report.node), self._alerts.get(report.node, ())
        if report.node in self._resumed and not report.errors:
            self._resumed.discard(report.node)
            before = resumed(before, _time(report, now))
        self._alerts[report.node], events = evaluate(
            rules, before, report.node, (NODE_UP, *report.series), report.samples, _time(report, now), stepped_s
        )
        return events

    def _done(
        self, alerts: Sequence[Alert], quiet: frozenset[Key], events: Sequence[Event],
        now: float,
    ) -> list[ActionRecord]:  # fmt: skip
        """Bring what is done in line with what fires: begin what is not begun, undo what is over."""
        self._evidence.update((event.alert.key, event) for event in events if event.what is not Happening.MISSING)
        records: list[ActionRecord] = []
        firing = {alert.key: alert for alert in alerts if alert.phase.fires}
        for key, alert in firing.items():
            rule = self._rule(alert.node, alert.rule)
            action = self._actions.get(rule.action) if rule else None
            if rule and action and key not in quiet and key not in self._open:
                event = self._evidence.get(key) or Event(Happening.FIRED, alert, now, alert.summary)
                records.append(action.begin(event._replace(alert=alert, what=Happening.FIRED), rule))
                self._open[key] = records[-1]
        known = {alert.key: alert for alert in alerts} if self._open else {}
        for key, begun in list(self._open.items()):
            rule = self._rule(begun.node, begun.rule)
            if key in firing and not (rule and rule.action != begun.action):
                self._failed_at.pop(key, None)
            elif abs(now - self._failed_at.get(key, -_AGAIN_S)) >= _AGAIN_S:
                records += self._taken_back(known.get(key) or Alert(*key), begun, now)
        for action in self._actions.values():
            for one in action.tick(alerts, now):
                records.append(one)
                self._book(one)
        return records

    def _taken_back(self, alert: Alert, begun: ActionRecord, now: float) -> Sequence[ActionRecord]:
        """What is to be told. What cannot be undone stays open."""
        told = self._undone(alert, begun, now)
        failed = [one for one in told if one.id == begun.id and one.outcome is Outcome.FAILED and one.undone_at is None]
        if failed:
            self._open[alert.key], self._failed_at[alert.key] = failed[-1], now
        else:
            del self._open[alert.key]
            self._failed_at.pop(alert.key, None)
        return [one for one in told if one != begun]  # the same trouble as before is no news

    def _undone(self, alert: Alert, begun: ActionRecord, now: float) -> Sequence[ActionRecord]:
        rule = self._rule(alert.node, alert.rule)
        action = self._actions.get(begun.action)
        event = self._evidence.pop(alert.key, None)
        if event is None or event.what is not Happening.RESOLVED:
            event = Event(Happening.RESOLVED, alert, now, "the rule is no more" if rule is None else alert.summary)
        if action is None:
            return (undone(begun, now, "no longer among the actions"),)
        made = rule or Rule(alert.rule, "", ">=", 0.0, action=begun.action)
        return action.undo(event._replace(alert=alert), made, begun)

    def _rule(self, node: str, name: str) -> Rule | None:
        return next((rule for rule in self._rules(node) if rule.id == name), None)

    def _book(self, record: ActionRecord) -> None:
        key = (record.rule, record.node, record.labels)
        if key in self._open and self._open[key].id == record.id:
            self._open[key] = record

    def _keep(self, records: Sequence[ActionRecord], alerts: tuple[Alert, ...], changed: bool, now: float) -> None:
        """Records at once; how alerts stand when one has changed, else now and then."""
        if not self._keeps:
            return
        try:
            for one in records:
                self._store.note(one)
            if changed or records or abs(now - self._kept_at) >= _KEEP_EVERY_S:
                self._store.keep(Kept(alerts, tuple(self._open.values())))
                self._kept_at = now
            self._troubles.discard(_KEEP)
        except OSError as error:
            self._hindered(_KEEP, error)

    def _hindered(self, what: str, error: OSError) -> None:
        if what not in self._troubles:
            file = f"{error.filename}: " if error.filename else ""
            self._trouble(f"cannot {what}: {file}{error.strerror or error}")
        self._troubles.add(what)


def _nodes(reports: Sequence[Report]) -> Sequence[tuple[str, bool]]:
    """And whether they answer."""
    return [(report.node, not report.errors) for report in reports]


def _time(report: Report, now: float) -> float:
    """By the clock of its node; by ours where it says nothing."""
    return report.time if report.samples and not report.errors else now
