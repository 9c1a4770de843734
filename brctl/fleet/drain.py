"""Taking nodes from the scheduler and giving them back: what may be done, and what came of it.

What we drain bears our mark in its reason. What another drained is never overwritten and never undone without force;
what is as it should be is left alone; a node that the scheduler cannot reach counts as healthy to nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from .command import CommandFailedError

MARK = "brctl:"
"""How the reason of a drain of ours begins."""
PASSING = f"{MARK} tune apply"
"""The reason while a node is changed, which is given back after that. Any other of ours takes its place: what an alert
or an operator drains meanwhile stays drained."""
LONGEST_REASON = 200


class NodeState(NamedTuple):
    """What the scheduler says of a node."""

    node: str
    word: str
    """The state as the scheduler's own tools show it: `mixed`, `drained*`, `Ready,SchedulingDisabled`."""
    closed: bool
    """Takes no new jobs: drained, draining, cordoned."""
    busy: bool | None
    """Jobs run there; None where that was not asked."""
    down: bool
    responding: bool
    reason: str | None = None
    """Why it is closed or down."""
    by: str | None = None
    """Who closed it."""
    version: str = ""
    """Of the scheduler's record: what was read, where it can refuse a write to anything newer."""

    @property
    def ours(self) -> bool:
        """Whether a drain of ours holds it."""
        return self.closed and (self.reason or "").startswith(MARK)


class Result(Enum):
    """What came of a drain or resume on one node."""

    DRAINED = "drained"
    DRAINING = "draining"
    """It takes no new jobs, and some still run, or may."""
    RESUMED = "resumed"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    BLOCKED = "blocked"
    """It takes no new jobs, and something keeps it from becoming empty."""
    FAILED = "failed"


class Outcome(NamedTuple):
    node: str
    result: Result
    message: str
    hint: str | None = None


class Hindrance(NamedTuple):
    """Why a node that takes no new jobs is not empty."""

    result: Result
    """DRAINING: it may become empty by itself; BLOCKED: waiting longer alone will not help."""
    message: str
    hint: str | None = None


class Scheduler(Protocol):
    name: str
    """`Slurm`"""

    def states(self) -> Mapping[str, NodeState]:
        """Every node of the scheduler. This and all below raise CommandFailedError."""

    def close(self, state: NodeState, reason: str) -> None:
        """Give a node, as it was seen, no more jobs."""

    def open(self, state: NodeState) -> None:
        """Give a node, as it was seen, jobs again."""

    def settle(self, nodes: Sequence[str], limit_s: float) -> Mapping[str, Hindrance]:
        """Wait until closed nodes are empty; what hinders those that are not when the time is over."""


Book = dict[str, Outcome]
"""What was done so far, by node: whoever is interrupted can tell it."""


def reason(text: str) -> str:
    """`text` as a reason of ours. Raises ValueError for what is no single line."""
    if not text.strip() or not text.isprintable():
        raise ValueError("a reason is one line of text")
    text = text.strip().removeprefix(MARK).strip()
    return f"{MARK} {text}"[:LONGEST_REASON]


def drain(scheduler: Scheduler, reasons: Mapping[str, str], force: bool, wait_s: float | None, book: Book) -> None:
    """Close nodes, each for a reason of its own, then wait until they are empty, `wait_s` at the most; None: nobody
    minds. Raises CommandFailedError where the scheduler does not answer at all."""
    states = scheduler.states()
    closed = []
    for node in _some(list(reasons)):
        state = states.get(node)
        outcome = before_drain(scheduler.name, node, state, force, reasons[node])
        if state and outcome is None:
            outcome = _close(scheduler, state, reasons[node])
        if outcome is None or outcome.result is Result.UNCHANGED:
            closed.append(node)
        book[node] = outcome or Outcome(node, Result.DRAINING, f"takes no new jobs: {reasons[node]}")
    hindrances = scheduler.settle(closed, wait_s) if closed and wait_s is not None else {}
    for node in closed if wait_s is not None else ():
        book[node] = _settled(book[node], hindrances.get(node))


def resume(scheduler: Scheduler, nodes: Sequence[str], force: bool, book: Book, why: str | None = None) -> None:
    """Open nodes that a drain of ours closed; with `why`, those alone whose whole reason it still is. Raises
    CommandFailedError where the scheduler does not answer at all."""
    states = scheduler.states()
    for node in _some(nodes):
        state = states.get(node)
        outcome = before_resume(scheduler.name, node, state, force, why)
        if state and outcome is None:
            outcome = _open(scheduler, state)
        book[node] = outcome or Outcome(node, Result.RESUMED, "takes jobs again")


def before_drain(scheduler: str, node: str, state: NodeState | None, force: bool, why: str) -> Outcome | None:
    """The outcome for a node that must not or need not be closed; None for one that shall be."""
    if state is None:
        return Outcome(node, Result.FAILED, f"{scheduler} has no such node")
    if state.ours and state.reason == PASSING != why:
        return None
    if state.ours and not force:
        return Outcome(node, Result.UNCHANGED, f"drained before: {state.reason}")
    if (state.closed or (state.down and state.reason)) and not force:
        return Outcome(node, Result.REFUSED, _others(state), "leave it to them, or --force replaces their reason")
    return None


def before_resume(scheduler: str, node: str, state: NodeState | None, force: bool, why: str | None) -> Outcome | None:
    """The outcome for a node that must not or need not be opened; None for one that shall be."""
    if state is None:
        return Outcome(node, Result.FAILED, f"{scheduler} has no such node")
    if not state.closed:
        if state.down:
            return Outcome(node, Result.REFUSED, f"{state.word}: no drain holds it", "look at the node itself")
        return Outcome(node, Result.UNCHANGED, f"{state.word} before")
    if force:
        return None
    if not state.ours:
        return Outcome(node, Result.REFUSED, _others(state), "ask them, or --force resumes it all the same")
    if why not in (None, state.reason):
        hint = "`node-manager resume` gives it back when that is over"
        return Outcome(node, Result.REFUSED, f"{state.word}, for another reason by now: {state.reason}", hint)
    if state.down or not state.responding:
        hint = "see that its daemon runs, or --force resumes it all the same"
        return Outcome(node, Result.REFUSED, f"{state.word}: {scheduler} does not reach it", hint)
    return None


def _some(nodes: Sequence[str]) -> Sequence[str]:
    """To have drained none of no nodes is no success."""
    if not nodes:
        raise ValueError("no nodes")
    return nodes


def _others(state: NodeState) -> str:
    who = f" by {state.by}" if state.by else ""
    return f"{state.word}{who}, not by brctl: {state.reason or 'no reason given'}"


def _close(scheduler: Scheduler, state: NodeState, why: str) -> Outcome | None:
    try:
        scheduler.close(state, why)
    except CommandFailedError as error:
        return Outcome(state.node, Result.FAILED, error.message, error.hint)
    return None


def _open(scheduler: Scheduler, state: NodeState) -> Outcome | None:
    try:
        scheduler.open(state)
    except CommandFailedError as error:
        return Outcome(state.node, Result.FAILED, error.message, error.hint)
    return None


def _settled(outcome: Outcome, hindrance: Hindrance | None) -> Outcome:
    if hindrance:
        return Outcome(outcome.node, hindrance.result, hindrance.message, hindrance.hint)
    if outcome.result is Result.UNCHANGED:
        return outcome
    return Outcome(outcome.node, Result.DRAINED, "empty, and takes no new jobs")


def complete(outcomes: Iterable[Outcome], waited: bool) -> bool:
    """Whether all was done that was asked: nodes that still drain are, unless their end was waited for."""
    bad = {Result.REFUSED, Result.BLOCKED, Result.FAILED} | ({Result.DRAINING} if waited else set())
    return not any(outcome.result in bad for outcome in outcomes)
