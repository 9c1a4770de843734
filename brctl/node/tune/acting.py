"""What a node does by itself while it streams its samples: evaluates the rules whose action is `throttle`, and acts.

It is done in a thread of its own, so that a call that hangs holds up no tick. What a node took it gives back when the
alert is over, when its stream ends, when the process ends, and when it has not heard of the one who asked for as long
as the lease: a connection that is dead tells nothing.
"""

import contextlib
import threading
import time
from collections import deque
from typing import Deque, List, NamedTuple, Sequence, Set, Tuple, Type

from ..alert_facts import ActionRecord, Alert, Happening
from ..deadline import Crew, Lane
from ..host import Host
from ..monitor import alerts
from ..monitor.clock import Clock
from ..monitor.sampler import Tick
from ..report import Series
from ..request import Request
from .throttle import Throttle

_MOST_TICKS = 100
"""That wait for a call that hangs. Older ones are passed over."""
_running: "Set[Actor]" = set()


def give_back(limit_s: float) -> None:
    """The process ends: take back what this one has done. Returns then, or after the limit."""
    end_s = time.monotonic() + limit_s
    for actor in tuple(_running):
        actor.close(end_s - time.monotonic())


class _Heard(NamedTuple):
    tick: Tick
    last_s: float
    """When the one who asked was last heard, by the monotonic clock."""
    at_s: float
    """When the tick was, likewise."""


class Actor:
    """The actions of one stream. A context manager: at its end all is given back."""

    def __init__(self, host: Host, request: Request, series: Sequence[Series]) -> None:
        self._node, self._series, self._acting = request.node, series, request.acting
        self._throttle = Throttle(host, request.node, request.acting.who, request.acting.lease_s)
        self._alerts: Tuple[Alert, ...] = ()
        self._clock = Clock()
        self._rules = {rule.id: rule for rule in request.acting.rules}
        self._ticks: Deque[_Heard] = deque(maxlen=_MOST_TICKS)
        self._records: Deque[ActionRecord] = deque()
        self._over = threading.Lock()
        self._crew = Crew()
        self._lane = Lane(self._crew)

    def __enter__(self) -> "Actor":
        _running.add(self)
        return self

    def __exit__(self, kind: "Type[BaseException] | None", *_: object) -> None:
        self.close(self._acting.lease_s)

    def take(self, tick: Tick, last_s: float) -> Tuple[ActionRecord, ...]:
        """Act on a tick, which is not waited for; gives what has been done since the last one."""
        self._ticks.append(_Heard(tick, last_s, time.monotonic()))
        if not self._lane.busy:
            self._lane.start(self._work)
            self._crew.look()
        return self.told()

    def told(self) -> Tuple[ActionRecord, ...]:
        """What has been done since it was last asked."""
        return tuple(self._records.popleft() for _ in range(len(self._records)))

    def close(self, limit_s: float) -> None:
        """Give back. What hangs is left to the guard after the limit."""
        self._ticks.clear()
        if self._over.acquire(timeout=max(0.0, limit_s)):
            _running.discard(self)
            self._records.extend(self._throttle.close())
            self._over.release()

    def _work(self) -> None:
        """What breaks costs its tick alone: no alert may stay without an action for the sake of another."""
        while self._ticks:
            with self._over, contextlib.suppress(Exception):
                heard = self._ticks.popleft()
                if self in _running:  # else it is given back already, and stays so
                    self._records.extend(self._act(*heard))

    def _act(self, tick: Tick, last_s: float, at_s: float) -> List[ActionRecord]:
        stepped_s = self._clock.stepped(tick.at, at_s)
        if time.monotonic() - last_s > self._acting.lease_s:
            self._alerts = ()  # what fires is told anew, when there is somebody to tell it to
            return list(self._throttle.close("silence"))
        samples = [sample for block in tick.blocks for sample in block.samples]
        found = alerts.evaluate(self._acting.rules, self._alerts, self._node, self._series, samples, tick.at, stepped_s)
        self._alerts = found.alerts
        done: List[ActionRecord] = []
        for event in found.events:
            rule = self._rules[event.alert.rule]
            if event.what is Happening.FIRED:
                done.append(self._throttle.begin(event, rule))
            elif event.what is Happening.RESOLVED:
                done += self._throttle.undo(event)
        return [*done, *self._throttle.tick(self._alerts, tick.at)]
