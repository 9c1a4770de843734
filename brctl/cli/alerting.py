"""The alerts of one run: whose rules, what may be done, and the ticks with what fires in them."""

from __future__ import annotations

import contextlib
import getpass
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from ..fleet.alert_store import BusyError, Store
from ..fleet.alert_watch import Watch, Watched
from ..node.alert_facts import ActionRecord, Event, Rule
from ..node.report import Report
from ..node.request import LEASE_S, Acting, Request
from ..render.clean import clean
from .common import Common
from .errors import INCOMPLETE, CommandError, say, tell

if TYPE_CHECKING:
    from ..config.alerts import Alerting
    from ..config.resolve import Config
    from ..node.monitor.alerts import Action

MOST_WATCHED = 65536


def of_nodes(config: Config | None) -> Callable[[str], Alerting]:
    """The rules of a node, and what their actions need."""
    from ..config.alerts import alerting

    return lru_cache(maxsize=MOST_WATCHED)(lambda node: alerting(config.node(node) if config else None))


def store(given: Common, config: Config | None) -> Store:
    from .session import mocked

    return Store(config.path if config else None, any(mocked(given)))


def acting(request: Request, config: Config | None) -> Request:
    """With leave to do what the node does by itself."""
    from ..fleet.streams import patience_s

    rules = tuple(rule for rule in of_nodes(config)(request.node).rules if rule.action == "throttle")
    who, lease_s = f"{getpass.getuser()}@{socket.gethostname()}", patience_s(request.sampling.interval_s)
    return request._replace(acting=Acting(rules, who, max(LEASE_S, lease_s)))


class Alerts:
    """Of one run of `brctl monitor`."""

    def __init__(
        self, given: Common, config: Config | None, nodes: Sequence[str], act: bool, most: int, aloud: bool
    ) -> None:
        """`act`: do it, and keep what was done. `aloud`: events and actions are told on stderr, else they
        are notes of the Reports. Raises CommandError:
        there is no scheduler, or another one acts; OSError: what is kept of alerts cannot be read."""
        self._aloud, self._notes = aloud and not given.quiet, not aloud
        self._lock, self._closed = threading.Lock(), False
        rules = of_nodes(config)
        used = {rule.action for node in nodes for rule in rules(node).rules}
        made = _actions(given, config, nodes, most, used) if act else _proposed(rules, used)
        kept = store(given, config)
        with contextlib.ExitStack() as stack:
            if act:
                try:
                    stack.enter_context(kept.holding())
                except BusyError as error:
                    raise CommandError(str(error), "end it, or leave out --act", INCOMPLETE) from None
            self._watch = Watch(lambda node: rules(node).rules, made, kept, tell, keep=act)
            self._stack = stack.pop_all()

    def __enter__(self) -> Alerts:
        return self

    def __exit__(self, *_: object) -> None:
        """Take back what must not outlive us. The ticks may come in another thread, and are then without alerts."""
        with self._stack, self._lock:
            self._closed = True
            for record in self._watch.close(time.time()):
                self._tell(told(record))

    def followed(self, ticks: Iterable[Sequence[Report]]) -> Iterator[Sequence[Report]]:
        """The ticks, with what fires in them."""
        for reports in ticks:
            with self._lock:
                if self._closed:
                    return
                watched = self._watch.take(reports, time.time(), time.monotonic())
            for line in lines(watched):
                self._tell(line)
            yield _noted(watched) if self._notes else watched.reports

    def _tell(self, line: str) -> None:
        if self._aloud:
            say(clean(line))


def _noted(watched: Watched) -> Sequence[Report]:
    """With what has happened among the notes, for a view that shows them."""
    notes: dict[str, list[str]] = {}
    for event in watched.events:
        notes.setdefault(event.alert.node, []).append(happened(event))
    for record in watched.records:
        if record.action != "log":
            notes.setdefault(record.node, []).append(told(record))
    return [
        report._replace(notes=(*report.notes, *notes[report.node])) if report.node in notes else report
        for report in watched.reports
    ]


def lines(watched: Watched) -> Iterator[str]:
    """What has happened in a tick, a line each."""
    for event in watched.events:
        yield happened(event)
    for record in watched.records:
        if record.action != "log":
            yield told(record)


def happened(event: Event) -> str:
    """`alert gpu-hot of n1 fired: ...`"""
    return f"alert {event.alert.rule} of {event.alert.node} {event.what.value}: {event.evidence}"


def told(record: ActionRecord) -> str:
    """`throttle for gpu-hot of n1: done: ...`"""
    ended = f"undone ({record.undone})" if record.undone_at is not None else record.outcome.value
    more = f"; {record.result}" if record.result else ""
    return f"{record.action} for {record.rule} of {record.node}: {ended}: {record.what}{more}"


def _proposed(rules: Callable[[str], Alerting], used: set[str]) -> Mapping[str, Action]:
    from ..fleet.alert_actions import Log, Proposed

    made = {name: Proposed(name, _what(rules)) for name in used}
    return {**made, "log": Log()}


def _what(rules: Callable[[str], Alerting]) -> Callable[[Event, Rule], str]:
    """What an action would do, in words."""
    from ..fleet.alert_actions import addressee

    def what(event: Event, rule: Rule) -> str:
        node, sinks = event.alert.node, {sink.rule: sink for sink in rules(event.alert.node).sinks}
        return {
            "throttle": f"lower the power limit of GPU {event.alert.label('gpu')} of {node}, step by step",
            "reroute": f"leave {event.alert.label('device')} out of the communication environment of all nodes",
            "drain": f"drain {node}",
        }.get(rule.action) or f"tell {addressee(sinks[rule.id]) if rule.id in sinks else 'nobody'}"

    return what


def _actions(
    given: Common, config: Config | None, nodes: Sequence[str], most: int, used: set[str]
) -> Mapping[str, Action]:
    """What is really done. Raises CommandError: there is no scheduler to drain through."""
    from ..fleet.alert_actions import Drain, Log, Proposed, Told
    from ..fleet.alert_courier import Courier
    from .rerouting import rerouting
    from .session import mocked

    rules = of_nodes(config)
    # `reroute` in any case: what was done for a rule that is no more has to be undone.
    made: dict[str, Action] = {"log": Log(), "reroute": rerouting(given, config)}
    outside = used & {"exec", "webhook", "drain"}
    if any(mocked(given)):
        return {**made, **{name: Proposed(name, _what(rules), "a mock acts on nothing outside") for name in outside}}
    sinks = {(node, sink.rule): sink for node in nodes for sink in rules(node).sinks}
    made.update((name, Told(name, sinks, Courier())) for name in outside - {"drain"})
    if "drain" in outside:
        from .scheduler import scheduler

        made["drain"] = Drain(scheduler(given, config), most, Courier(workers=1))
    return made
