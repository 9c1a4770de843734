"""The engine: one question to each of many nodes, a Report from each, whatever happens to the others.

ClusterShell's event loop drives it, with a worker of our own: never `task.shell`, which runs a command on this host
where the set of nodes is empty. A site's topology.conf has no say: every node is reached from here.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import resource
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ClusterShell.Event import EventHandler
from ClusterShell.Task import task_self

from ..node.report import NodeError, Report
from . import failure
from .command import CommandFailedError
from .launch import Launcher
from .mtu import black_holes
from .order import Limits, Order, Progress
from .transport import Transport, TransportError
from .tree import Ways, ways
from .worker import GRACE_S, Attempt, Conversation, Outcome

TICK_S = 0.2
RETRIES = 6
"""After 0.5, 1, 2, 4, 8 and 16 s, each made longer by chance to up to twice that."""
FIRST_DELAY_S = 0.5
_FILES_PER_NODE, _OTHER_FILES = 4, 64
_CHILDREN_PER_CPU = 4
"""Agents that are children of ours share this host's CPUs; more of them at once only take memory."""

logging.getLogger("ClusterShell").addHandler(logging.NullHandler())  # it warns of every child that ended early


class InterruptedRunError(KeyboardInterrupt):
    """Ctrl-C. `reports` has one of every node, also of those that were not asked."""

    def __init__(self, reports: tuple[Report, ...]) -> None:
        super().__init__()
        self.reports = reports


def ask_all(
    orders: Sequence[Order],
    transport: Transport,
    limits: Limits,
    on_report: Callable[[Report], None] = lambda _: None,
    on_tick: Callable[[Progress], None] = lambda _: None,
) -> tuple[Report, ...]:
    """Every order's Report, in their order; `on_report` has each as it comes. Nodes must differ.

    What hinders a node stands in its Report's `errors`. Raises TransportError before anything is started,
    InterruptedRunError, ValueError: there is no order, or two for one node.
    """
    nodes = [order.node for order in orders]
    if not nodes or len(set(nodes)) < len(nodes):
        raise ValueError("every node once, and one at least")
    run = Run(orders, transport, limits, on_report, on_tick)
    with _interrupts(run):
        run.work()
        run.look_closer()
    reports = tuple(run.reports[node] for node in nodes)
    if run.interrupted:
        raise InterruptedRunError(reports)
    return reports


class Timer(EventHandler):  # type: ignore[misc]  # ClusterShell has no types
    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work

    def ev_timer(self, timer: object) -> None:  # noqa: ARG002  # ClusterShell's call
        self._work()


class Run:
    attempt = Attempt

    def __init__(
        self,
        orders: Sequence[Order],
        transport: Transport,
        limits: Limits,
        on_report: Callable[[Report], None],
        on_tick: Callable[[Progress], None],
    ) -> None:
        self.reports: dict[str, Report] = {}
        self.interrupted = False
        self._orders, self._limits, self._on_report, self._on_tick = orders, limits, on_report, on_tick
        self._launcher = Launcher(transport, limits.connect_s)
        ssh = transport.kind == "ssh"
        self._over_ssh = [order.node for order in orders if ssh and not order.mock and order.node != transport.here]
        self._ways = self._tree(transport.gateways)
        self._launches = {order.node: self._launcher.launch(*order, self._ways.via.get(order.node)) for order in orders}
        self._open: dict[str, Conversation] = {}
        """Those that wait for room, or run, or end."""
        self._retries: Counter[str] = Counter()
        self._waiting: dict[str, tuple[Order, Any]] = {}
        """Those that will be tried again, with their timers."""
        self._ending: list[tuple[subprocess.Popen[bytes], float]] = []
        self._failed = 0
        self._failure: str | None = None
        self._stopping = self._deaf = False
        self._end = time.monotonic() + limits.whole_s(len(orders))
        self._task = task_self()

    def _tree(self, gateways: Sequence[str]) -> Ways:
        if not gateways or not self._over_ssh:
            return Ways({}, {})
        try:
            return ways(self._over_ssh, gateways, self._launcher.ssh, self._limits.shell_s)
        except CommandFailedError as error:
            raise TransportError(error.message, error.hint or failure.HINTS["missing"]) from None

    def work(self) -> None:
        """Returns when there is a Report of every node, and no child is left."""
        self._task.set_info("fanout", self._room())
        try:
            for order in self._orders:
                self._begin(order)
            self._task.timer(TICK_S, handler=Timer(self._tick), interval=TICK_S, autoclose=True)
            self._task.resume()
        finally:
            self._task.abort(kill=True)
            self._reap_all()

    def look_closer(self) -> None:
        """Tell those that large packets do not reach from those that are slow."""
        errors = {node: report.errors[0].kind for node, report in self.reports.items() if report.errors}
        late = [node for node in self._over_ssh if errors.get(node) == "timeout" and node not in self._ways.via]
        if late and not self.interrupted:
            for node, error in black_holes(late, self._launcher.ssh).items():
                self.reports[node] = self.reports[node]._replace(errors=(error,))

    def _room(self) -> int:
        """How many nodes at a time."""
        return room_for(self._limits.fanout, all(launch.direct for launch in self._launches.values()))

    def _begin(self, order: Order) -> None:
        launch, transfer = self._launches[order.node], lambda: self._launcher.bundle.transfer
        attempt = self.attempt(order, launch, transfer, self._limits, self._hear, self._ended)
        self._open[order.node] = attempt.conversation
        self._task.schedule(attempt)

    def _hear(self, conversation: Conversation, outcome: Outcome) -> None:
        """What came of an attempt, while its child still ends."""
        order = conversation.order
        refused = isinstance(outcome, NodeError) and outcome.kind == "overloaded"
        if refused and not self._stopping and self._retries[order.node] < RETRIES:
            delay = FIRST_DELAY_S * 2 ** self._retries[order.node] * (1 + random.random())  # noqa: S311  # no secret
            self._retries[order.node] += 1
            self._waiting[order.node] = order, self._task.timer(delay, handler=Timer(lambda: self._again(order)))
        elif isinstance(outcome, Report):
            notes = (*outcome.notes, *conversation.notes, *self._notes(order.node, conversation.noise))
            self._deliver(outcome._replace(node=order.node, notes=notes))
        else:
            elapsed = time.monotonic() - conversation.began if conversation.began else 0.0
            notes = tuple(note for note in self._notes(order.node, conversation.noise) if outcome.message not in note)
            self._deliver(Report(order.node, time.time() - elapsed, elapsed, errors=(outcome,), notes=notes))

    def _again(self, order: Order) -> None:
        del self._waiting[order.node]
        self._begin(order)

    def _notes(self, node: str, noise: str) -> Iterator[str]:
        if self._retries[node]:
            yield f"sshd refused {self._retries[node]} attempts before it asked who we are, and was tried again"
        if node in self._ways.notes:
            yield self._ways.notes[node]
        if noise:
            yield f"the login prints: {noise}"

    def _deliver(self, report: Report) -> None:
        if report.inventory is None and report.errors:
            self._failed += 1
            self._failure = f"{report.node}: {failure.plain(report.errors[0].kind)}"
        self.reports[report.node] = report
        if not self._deaf:
            self._deaf = True  # stays so if the caller raises: it wants to hear no more
            self._on_report(report)
            self._deaf = False

    def _ended(self, conversation: Conversation) -> None:
        if self._open.get(conversation.order.node) is conversation:
            del self._open[conversation.order.node]
        if conversation.process and conversation.process.poll() is None:
            self._ending.append((conversation.process, time.monotonic() + GRACE_S))

    def _tick(self) -> None:
        self._reap()
        if self.interrupted:
            waits = NodeError("not-asked", "interrupted before it was asked")
            self._stop(NodeError("interrupted", "interrupted before it answered"), waits)
        elif time.monotonic() > self._end:
            what = f"the run's limit of {self._limits.whole_s(len(self._orders)):g} s came before its answer"
            late = failure.fail("timeout", what, "slow answer")
            self._stop(late, late)
        self._on_tick(self._progress())

    def _stop(self, runs: NodeError, waits: NodeError) -> None:
        """End all that is not over. Those that were not started go first, or they would get the room of the others."""
        self._stopping = True
        for order, timer in self._waiting.values():
            timer.invalidate()
            self._deliver(Report(order.node, time.time(), 0.0, errors=(waits,)))
        self._waiting.clear()
        for conversation in sorted(self._open.values(), key=lambda it: it.began):
            if not conversation.over:
                conversation.give_up(runs if conversation.process else waits)

    def _progress(self) -> Progress:
        running = [it for it in self._open.values() if it.process and not it.over]
        slowest = min(running, key=lambda it: it.began, default=None)
        since = time.monotonic() - slowest.began if slowest else 0.0
        node = slowest.order.node if slowest else None
        return Progress(len(self._orders), len(self.reports), self._failed, len(running), node, since, self._failure)

    def _reap(self) -> None:
        for process, limit in self._ending:
            if process.poll() is None and time.monotonic() > limit:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        self._ending = [(process, limit) for process, limit in self._ending if process.returncode is None]

    def _reap_all(self) -> None:
        """Nothing is left behind but what cannot be killed."""
        end = time.monotonic() + 2 * GRACE_S
        while self._ending and time.monotonic() < end:
            self._reap()
            time.sleep(0.002)
        for process, _ in self._ending:
            process.returncode = -signal.SIGKILL  # tells Popen that nobody will wait


def room_for(wanted: int, children: bool) -> int:
    """How many nodes at a time: as many as this host's open files allow; the limit on them is raised if need be."""
    if children:
        wanted = min(wanted, _CHILDREN_PER_CPU * (os.cpu_count() or 1))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted * _FILES_PER_NODE + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        wanted = max(1, min(wanted, (soft - _OTHER_FILES) // _FILES_PER_NODE))
    return wanted


@contextlib.contextmanager
def _interrupts(run: Run) -> Iterator[None]:
    """The first Ctrl-C ends the run in order, the second one at once."""

    def note(*_: object) -> None:
        if run.interrupted:
            raise KeyboardInterrupt
        run.interrupted = True

    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    if not main or before is signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
