"""`tune apply` over many nodes: batches after a canary, each batch out of the scheduler's hands while it is changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..fleet.command import CommandFailedError
from ..fleet.drain import Book, Result, Scheduler, drain, reason, resume
from ..fleet.rolling import Rules, roll
from ..node.report import NodeError, Report
from .errors import INCOMPLETE, INTERRUPTED, CommandError, tell
from .verdict import tune_code
from .waves import Plan

if TYPE_CHECKING:
    from .fleet import FleetSession

NOT_DRAINED = "not-drained"
"""The kind of NodeError of a node that did not become empty."""

Work = Callable[[Sequence[str]], Sequence[Report]]


class Rolling(NamedTuple):
    """As given on the command line."""

    canary: int = 1
    max_failures: int = 0
    scheduler: Scheduler | None = None
    """None: nodes are changed as they are."""
    wait_s: float = 0.0
    """For a batch to become empty."""


def roll_out(run: FleetSession, rolling: Rolling) -> tuple[Report, ...]:
    """Apply what each target asks for; a Report of each node, in order. Raises CommandError."""
    targets = {target.node: target for target in run.targets}
    nodes = tuple(targets)

    def work(names: Sequence[str]) -> Sequence[Report]:
        part = run._replace(targets=[targets[name] for name in names], plan=Plan())
        return part.ask("tune-apply", meanwhile=lambda: None)

    def after_batch(reports: Sequence[Report]) -> None:
        told.extend(map(failed, reports))
        if len(told) < len(nodes):
            run.common.warn(f"{len(told)} of {len(nodes)} nodes done, {sum(told)} failed")

    told: list[bool] = []
    chosen = rolling.scheduler
    batch = _Emptied(chosen, rolling.wait_s, work) if chosen else work
    rules = Rules(rolling.canary, run.plan.step or len(nodes), rolling.max_failures)
    reports = roll(nodes, rules, batch, failed, after_batch)
    run.plan.note(run.common, reports, failed)
    return reports


def failed(report: Report) -> bool:
    """Whether something was not done there."""
    return tune_code([report]) in (INCOMPLETE, INTERRUPTED)


class _Emptied:
    """Work on nodes that are drained before, and take jobs again after, unless it failed there."""

    def __init__(self, scheduler: Scheduler, wait_s: float, work: Work) -> None:
        self._scheduler, self._wait_s, self._work = scheduler, wait_s, work

    def __call__(self, names: Sequence[str]) -> Sequence[Report]:
        book: Book = {}
        try:
            before = {name for name, state in self._scheduler.states().items() if state.closed}
            drain(self._scheduler, dict.fromkeys(names, reason("tune apply")), False, self._wait_s, book)
            empty = [name for name in names if book[name].result in (Result.DRAINED, Result.UNCHANGED)]
            done = {report.node: report for report in (self._work(empty) if empty else ())}
            stay = [name for name in empty if failed(done[name])]
            self._give_back([name for name in names if name not in before and name not in stay])
        except CommandFailedError as error:
            raise CommandError(error.message, error.hint, INCOMPLETE) from None
        except KeyboardInterrupt:
            tell(f"interrupted; these may be drained still: {' '.join(names)}", "`node-manager resume` gives them back")
            raise
        if stay:
            tell(f"drained still, as it failed there: {' '.join(stay)}", "`node-manager resume` when they are well")
        return [done.get(name) or self._left(book, name) for name in names]

    def _give_back(self, names: Sequence[str]) -> None:
        book: Book = {}
        if names:
            resume(self._scheduler, names, force=False, book=book)
        for outcome in book.values():
            if outcome.result in (Result.REFUSED, Result.FAILED):
                tell(f"{outcome.node} is not given back: {outcome.message}", outcome.hint)

    @staticmethod
    def _left(book: Book, name: str) -> Report:
        outcome = book[name]
        error = NodeError(NOT_DRAINED, outcome.message, outcome.hint)
        return Report(name, time.time(), 0.0, errors=(error,))
