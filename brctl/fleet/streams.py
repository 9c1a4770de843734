"""Many nodes that tell their samples tick by tick, in one view.

The engine's own conversations, which here go on: a node that falls silent or breaks off is its own error, and is asked
again after a while. It runs in a thread of its own, so that whoever shows the view waits for no node.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..node.alert_facts import ActionRecord
from ..node.codec import loads
from ..node.frame import HERE, Frame, pack
from ..node.monitor.stream import Follower
from ..node.report import NodeError, Report
from . import failure
from .engine import Run, Timer, room_for
from .order import Limits, Order
from .transport import Transport
from .worker import Attempt, Conversation, Outcome, Phase

_AGAIN_S, _SELDOM_S = 1.0, 60.0
"""A node that broke off is asked again after the first, and after twice as long each time, up to the other."""
_STARTS_PER_CPU = 4
"""Agents that are children of ours share this host's CPUs while they start."""
_END_S = 3.0
_WAITS = NodeError("not-asked", "it has not answered yet")


def patience_s(interval_s: float) -> float:
    """After so long without a tick a node is silent, and what it told before is no truth any more."""
    return 3 * interval_s + 5


class _Heard(NamedTuple):
    at_s: float
    report: Report


class _Listening(Conversation):
    """A conversation in which the node has the word."""

    follower: Follower | None = None

    def _hear(self, frame: Frame) -> None:
        if self.over or frame.id != "1" or self.phase is not Phase.ANSWER or frame.payload[:1] not in (b"[", b"{"):
            return super()._hear(frame)
        if self.follower is None:
            head = loads(Report, frame.payload)
            if head.errors:
                return super()._hear(frame)
            self.follower = Follower(head)
        elif frame.payload[:1] == b"{":  # the end
            return super()._hear(frame)
        else:
            self._on_outcome(self, self.follower.follow(frame.payload))
            if self.order.request.acting.rules:
                self._write("stdin", pack(Frame("1", HERE)))
        return self._limit(patience_s(self.order.request.sampling.interval_s))


class _Attempt(Attempt):
    kind = _Listening


class _Listeners(Run):
    attempt = _Attempt

    def __init__(self, orders: Sequence[Order], transport: Transport, limits: Limits) -> None:
        limits = limits._replace(fanout=len(orders), run_s=math.inf)
        super().__init__(orders, transport, limits, lambda _: None, lambda _: None)
        self.heard: dict[str, _Heard] = {}
        self._actions: dict[str, list[ActionRecord]] = {}
        """By node, those that nobody has taken yet: each stands in one tick alone."""
        self.changed = threading.Condition()
        self._delays: dict[str, float] = {}
        """Until a node that broke off is asked again, seconds."""
        children = any(launch.direct for launch in self._launches.values())
        at_once = _STARTS_PER_CPU * (os.cpu_count() or 1) if children else limits.fanout
        self._orders, self._later = orders[:at_once], deque(orders[at_once:])

    def _room(self) -> int:
        """For all at once: they share this host's CPUs only while they start."""
        return room_for(self._limits.fanout, children=False)

    def _hear(self, conversation: Conversation, outcome: Outcome) -> None:
        node = conversation.order.node
        first = node not in self.heard
        if isinstance(outcome, Report) and not conversation.over:
            self._delays.pop(node, None)
            self._deliver(outcome._replace(node=node))
        else:
            said = outcome.errors if isinstance(outcome, Report) else (outcome,)
            self._deliver(Report(node, time.time(), 0.0, errors=said or (_broken_off(),)))
            if not self._stopping:
                delay = self._delays.get(node, _AGAIN_S)
                self._delays[node] = min(_SELDOM_S, 2 * delay)
                order = conversation.order
                self._waiting[node] = order, self._task.timer(delay, handler=Timer(lambda: self._again(order)))
        if first and self._later and not self._stopping:
            self._begin(self._later.popleft())

    def _deliver(self, report: Report) -> None:
        with self.changed:
            self.heard[report.node] = _Heard(time.monotonic(), report._replace(actions=()))
            if report.actions:
                self._actions.setdefault(report.node, []).extend(report.actions)
            self.changed.notify_all()

    def taken(self, node: str) -> tuple[ActionRecord, ...]:
        """What the node has done since this was last asked."""
        with self.changed:
            return tuple(self._actions.pop(node, ()))


class Streams:
    """The ticks of all nodes: iterate, and close."""

    def __init__(self, orders: Sequence[Order], transport: Transport, limits: Limits) -> None:
        self._orders, self._transport, self._limits = orders, transport, limits
        self._interval_s = orders[0].request.sampling.interval_s
        self._error: BaseException | None = None
        self._run: _Listeners | None = None
        self._ready, self._closed = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work, name="streams", daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[tuple[Report, ...]]:
        """Every interval a Report of each node, in order; of one that does not answer with `errors`. Raises
        TransportError."""
        self._ready.wait()
        run = self._run
        if run is not None:
            with run.changed:
                run.changed.wait_for(lambda: len(run.heard) == len(self._orders) or self._error, self._interval_s)
        began, number = time.monotonic(), 0
        while not self._closed.is_set():
            if self._error:
                raise self._error
            yield self._view()
            number = max(number + 1, math.ceil((time.monotonic() - began) / self._interval_s))
            self._closed.wait(max(0.0, began + number * self._interval_s - time.monotonic()))

    def close(self) -> None:
        """End all agents. What does not end by itself in a moment is killed."""
        self._closed.set()
        self._ready.wait(_END_S)
        if self._run:
            self._run.interrupted = True
        self._thread.join(_END_S)

    def _work(self) -> None:
        try:
            self._run = _Listeners(self._orders, self._transport, self._limits)
            self._ready.set()
            self._run.work()
        except BaseException as error:  # the one who iterates must hear of it
            self._error = error
        finally:
            self._ready.set()

    def _view(self) -> tuple[Report, ...]:
        now, now_s, old_s = time.time(), time.monotonic(), patience_s(self._interval_s)
        reports = []
        for order in self._orders:
            heard = self._run.heard.get(order.node) if self._run else None
            if heard is None:
                reports.append(Report(order.node, now, 0.0, errors=(_WAITS,)))
            elif not heard.report.errors and now_s - heard.at_s > old_s:
                silent = failure.fail("timeout", f"it has said nothing for {now_s - heard.at_s:.0f} s", "slow answer")
                reports.append(Report(order.node, now, 0.0, errors=(silent,)))
            else:
                reports.append(heard.report)
            done = self._run.taken(order.node) if self._run else ()
            if done:  # else it stays the same object: whoever has seen it knows it by that
                reports[-1] = reports[-1]._replace(actions=done)
        return tuple(reports)


def _broken_off() -> NodeError:
    return failure.fail("agent-died", "the agent ended its stream")
