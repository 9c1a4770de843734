"""`tune apply` over many nodes: batches after a canary, each batch out of the scheduler's hands while it is changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..fleet.command import CommandFailedError
from ..fleet.drain import PASSING, Book, Outcome, Result, Scheduler, drain, resume
from ..fleet.rolling import Rules, roll
from ..node.report import NodeError, Report
from .errors import INCOMPLETE, INTERRUPTED, CommandError, tell
from .verdict import tune_code
from .waves import Plan

if TYPE_CHECKING:
    from .fleet import FleetSession

NOT_DRAINED = "not-drained"
"""The kind of NodeError of a node that did not become empty."""
NOT_RESUMED = "not-resumed"
"""Of one that was changed, or left, and takes no jobs yet."""
_RESUME = "`node-manager resume` gives it back"

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
    """Work on nodes that are drained before, and take jobs again after, unless it failed or waits for a confirm."""

    def __init__(self, scheduler: Scheduler, wait_s: float, work: Work) -> None:
        self._scheduler, self._wait_s, self._work = scheduler, wait_s, work

    def __call__(self, names: Sequence[str]) -> Sequence[Report]:
        book: Book = {}
        try:
            ours = self._drain(names, book)
            empty = [name for name in names if book[name].result in (Result.DRAINED, Result.UNCHANGED)]
            done = {report.node: report for report in (self._work(empty) if empty else ())}
            bad = [name for name in empty if failed(done[name])]
            waiting = [name for name in empty if name not in bad and _unconfirmed(done[name])]
            left = self._give_back([name for name in ours if name not in (*bad, *waiting)])
        except (KeyboardInterrupt, CommandError):
            tell(f"interrupted; these may be drained still: {' '.join(names)}", "`node-manager resume` gives them back")
            raise
        if bad:
            tell(f"drained still, as it failed there: {' '.join(bad)}", "`node-manager resume` when they are well")
        if waiting:
            hint = "`node-manager resume` when it is, or has come back"
            tell(f"drained still, as a change there is not confirmed yet: {' '.join(waiting)}", hint, "warning")
        return [_with(done.get(name) or _left(book[name]), left.get(name)) for name in names]

    def _drain(self, names: Sequence[str], book: Book) -> Sequence[str]:
        """Those that no drain held before; the book says what came of each."""
        ours: Sequence[str] = ()
        try:
            states = self._scheduler.states()
            ours = [name for name in names if name in states and not states[name].closed]
            drain(self._scheduler, dict.fromkeys(names, PASSING), False, self._wait_s, book)
        except CommandFailedError as error:
            for name in names:
                if name not in book or book[name].result in (Result.DRAINING, Result.UNCHANGED):
                    book[name] = Outcome(name, Result.FAILED, error.message, error.hint)
        return [name for name in ours if book[name].result is not Result.REFUSED]

    def _give_back(self, names: Sequence[str]) -> Mapping[str, NodeError]:
        """Why some are not, by node."""
        book: Book = {}
        try:
            if names:
                resume(self._scheduler, names, False, book, PASSING)
        except CommandFailedError as error:
            book = {name: Outcome(name, Result.FAILED, error.message, error.hint) for name in names}
        left = [each for each in book.values() if each.result in (Result.REFUSED, Result.FAILED)]
        return {
            each.node: NodeError(NOT_RESUMED, f"not given back: {each.message}", each.hint or _RESUME) for each in left
        }


def _unconfirmed(report: Report) -> bool:
    """Whether a change may still be taken back by the guard, under the jobs that would run then."""
    return any(transaction.state == "unconfirmed" for transaction in report.transactions)


def _left(outcome: Outcome) -> Report:
    error = NodeError(NOT_DRAINED, outcome.message, outcome.hint)
    return Report(outcome.node, time.time(), 0.0, errors=(error,))


def _with(report: Report, error: NodeError | None) -> Report:
    """That a node takes no jobs comes first."""
    return report._replace(errors=(error, *report.errors)) if error else report
