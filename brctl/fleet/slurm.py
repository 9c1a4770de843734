"""Slurm, by its own scontrol.

Its text is read, not JSON: scontrol has no --json in 22.05, and sinfo's differs from release to release. Each line of a
record begins with three blanks and a key, which no comment and no reason can counterfeit: scontrol indents their
further lines more.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence

from .command import CommandFailedError, run
from .drain import Hindrance, NodeState, Result

ANSWER_S = 30.0
"""For one call; slurmctld of a large cluster may be slow while it schedules."""
LONGEST_PAUSE_S = 15.0
"""Between two looks while jobs end: all nodes of a large cluster are no small answer."""

_KEY = re.compile(r"^   (State|Reason|AllocTRES)=(.*)$")
_REASON = re.compile(r"(.*) \[([^\[\]@]+)@[^\[\]]*\]")
_WORKING = {"ALLOCATED", "MIXED", "COMPLETING"}
_DOWN = {"DOWN", "ERROR", "FAIL", "FAILING", "UNKNOWN", "FUTURE"}
_SUFFIXES = "*~#!%$@^-"
"""Behind a base state in old releases; the star means that the node does not respond."""


class Slurm:
    """The scheduler of the cluster that scontrol talks to here."""

    name = "Slurm"

    def states(self) -> Mapping[str, NodeState]:
        """Every node that slurmctld knows. Raises CommandFailedError."""
        return parse(run(["scontrol", "show", "nodes"], ANSWER_S))

    def close(self, state: NodeState, reason: str) -> None:
        """Drain a node; jobs that run there go on. Raises CommandFailedError, also where somebody was quicker."""
        self._as_seen(state)
        run(["scontrol", "update", f"NodeName={state.node}", "State=DRAIN", f"Reason={reason}"], ANSWER_S)
        now = self._look(state.node)
        if now is None or not now.closed or now.reason != reason:
            raise CommandFailedError(f"{_told(now)} right after the drain", "somebody else works on it: ask who")

    def open(self, state: NodeState) -> None:
        """Resume a node. Raises CommandFailedError, also where somebody was quicker."""
        self._as_seen(state)
        run(["scontrol", "update", f"NodeName={state.node}", "State=RESUME"], ANSWER_S)

    def _as_seen(self, state: NodeState) -> None:
        """Slurm refuses no write that comes too late, and all nodes are looked at once, so each is looked at again."""
        now = self._look(state.node)
        if now is None or (now.closed, now.down, now.reason) != (state.closed, state.down, state.reason):
            raise CommandFailedError(
                f"{_told(now)} by now, and was {_told(state)}", "ask who changed it, then try again"
            )

    def _look(self, node: str) -> NodeState | None:
        return parse(run(["scontrol", "show", "node", node], ANSWER_S)).get(node)

    def settle(self, nodes: Sequence[str], limit_s: float) -> Mapping[str, Hindrance]:
        """Look until no job runs on the nodes, once at the least. Raises CommandFailedError where the last look fails:
        those before it may, as slurmctld is restarted now and then."""
        end, pause = time.monotonic() + limit_s, 1.0
        while True:
            hindrances: Mapping[str, Hindrance] = {}
            failed: CommandFailedError | None = None
            try:
                hindrances = self._hindrances(nodes)
            except CommandFailedError as error:
                failed = error
            left = end - time.monotonic()
            if failed and left <= 0:
                raise failed
            if not failed and (not hindrances or left <= 0):
                return hindrances
            time.sleep(min(pause, left))
            pause = min(pause * 2, LONGEST_PAUSE_S)

    def _hindrances(self, nodes: Sequence[str]) -> Mapping[str, Hindrance]:
        states = self.states()
        found = {node: hindrance(states.get(node)) for node in nodes}
        return {node: each for node, each in found.items() if each}


def _told(state: NodeState | None) -> str:
    if state is None:
        return "gone"
    return state.word + (f" ({state.reason})" if state.reason else "")


def hindrance(state: NodeState | None) -> Hindrance | None:
    """Why a drained node may not be touched yet; None when it may."""
    if state is None or not state.closed:
        word = state.word if state else "gone"
        return Hindrance(Result.BLOCKED, f"{word}: somebody undid the drain", "ask who, then drain it again")
    if not state.responding:
        hint = "nobody knows whether its jobs have ended: look at the node and its slurmd"
        return Hindrance(Result.DRAINING, f"{state.word}: slurmd does not respond", hint)
    if state.busy:
        return Hindrance(Result.DRAINING, f"{state.word}: jobs still run", "--wait TIME waits for their end")
    return None


def parse(text: str) -> dict[str, NodeState]:
    """The nodes in what `scontrol show nodes` prints."""
    return {state.node: state for state in map(_state, _records(text))}


def _records(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Each node's name and the first of each key."""
    for record in re.split(r"^NodeName=", text, flags=re.MULTILINE)[1:]:
        found: dict[str, str] = {}
        for match in filter(None, map(_KEY.match, record.splitlines())):
            found.setdefault(match.group(1), match.group(2).strip())
        yield record.split(None, 1)[0], found


def _state(record: tuple[str, dict[str, str]]) -> NodeState:
    node, found = record
    base, *flags = found.get("State", "UNKNOWN").split(" ")[0].split("+")
    bare = base.rstrip(_SUFFIXES)
    responding = "*" not in base and not {"NOT_RESPONDING", "NO_RESPOND"} & set(flags)
    closed = "DRAIN" in flags or bare.startswith("DRAIN")
    busy = bool({bare, *flags} & _WORKING or found.get("AllocTRES") or bare == "DRAINING")
    down = bool({bare, *flags} & _DOWN)
    reason, by = _reason(found.get("Reason", ""))
    return NodeState(node, _word(bare, flags, closed, busy, responding), closed, busy, down, responding, reason, by)


def _word(base: str, flags: Sequence[str], closed: bool, busy: bool, responding: bool) -> str:
    """As `sinfo` writes it: `draining`, `idle*`; with the flags that it leaves out."""
    drained = closed and base not in _DOWN
    first = ("draining" if busy else "drained") if drained else base.lower()
    hidden = {"NOT_RESPONDING", "NO_RESPOND", *(("DRAIN",) if drained else ())}
    return "+".join([first, *(flag.lower() for flag in flags if flag not in hidden)]) + ("" if responding else "*")


def _reason(text: str) -> tuple[str | None, str | None]:
    """`first [root@2026-01-31T08:50:52]` -> what and who."""
    match = _REASON.fullmatch(text)
    words, who = match.groups() if match else (text, None)
    return (None, None) if words in ("", "(null)", "none", "None") else (words, who)
