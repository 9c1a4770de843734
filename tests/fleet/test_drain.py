from collections.abc import Mapping, Sequence

import pytest

from brctl.fleet.command import CommandFailedError
from brctl.fleet.drain import (
    PASSING,
    Book,
    Hindrance,
    NodeState,
    Outcome,
    Result,
    complete,
    drain,
    reason,
    resume,
)

IDLE = NodeState("gpu1", "idle", closed=False, busy=False, down=False, responding=True)
BUSY = IDLE._replace(word="mixed", busy=True)
OURS = IDLE._replace(word="drained", closed=True, reason="brctl: bad link", by="root")
THEIRS = OURS._replace(reason="first", by="alice")
DOWN = IDLE._replace(word="down", down=True)


class Fake:
    """A scheduler that writes down what is done to it."""

    name = "Fake"

    def __init__(self, *states: NodeState, hindered: Mapping[str, Hindrance] | None = None, broken: str = "") -> None:
        self.known = {state.node: state for state in states}
        self.hindered, self.broken = hindered or {}, broken
        self.did: list[tuple[object, ...]] = []

    def states(self) -> Mapping[str, NodeState]:
        return self.known

    def close(self, state: NodeState, why: str) -> None:
        self._do("close", state.node, why)

    def open(self, state: NodeState) -> None:
        self._do("open", state.node)

    def settle(self, nodes: Sequence[str], limit_s: float) -> Mapping[str, Hindrance]:
        self._do("settle", *nodes, limit_s)
        return self.hindered

    def _do(self, *what: object) -> None:
        if what[1] == self.broken:
            raise CommandFailedError("it said no", "ask it")
        self.did.append(what)


def _drain(fake: Fake, *nodes: str, force: bool = False, wait_s: "float | None" = 0.0) -> Book:
    book: Book = {}
    drain(fake, dict.fromkeys(nodes, "brctl: new"), force, wait_s, book)
    return book


def _resume(fake: Fake, *nodes: str, force: bool = False) -> Book:
    book: Book = {}
    resume(fake, nodes, force, book)
    return book


def test_a_node_is_closed_and_found_empty() -> None:
    fake = Fake(IDLE)
    assert _drain(fake, "gpu1") == {"gpu1": Outcome("gpu1", Result.DRAINED, "empty, and takes no new jobs")}
    assert fake.did == [("close", "gpu1", "brctl: new"), ("settle", "gpu1", 0.0)]


def test_a_node_with_jobs_is_draining() -> None:
    fake = Fake(BUSY, hindered={"gpu1": Hindrance(Result.DRAINING, "mixed: jobs still run", "wait")})
    assert _drain(fake, "gpu1") == {"gpu1": Outcome("gpu1", Result.DRAINING, "mixed: jobs still run", "wait")}


def test_whoever_does_not_mind_does_not_wait() -> None:
    fake = Fake(BUSY)
    assert _drain(fake, "gpu1", wait_s=None)["gpu1"].result is Result.DRAINING
    assert fake.did == [("close", "gpu1", "brctl: new")]


def test_another_s_drain_is_refused_and_named() -> None:
    fake = Fake(THEIRS)
    assert _drain(fake, "gpu1") == {
        "gpu1": Outcome(
            "gpu1",
            Result.REFUSED,
            "drained by alice, not by brctl: first",
            "leave it to them, or --force replaces their reason",
        )
    }
    assert fake.did == []
    assert _drain(fake, "gpu1", force=True)["gpu1"].result is Result.DRAINED


def test_a_reason_why_a_node_is_down_is_not_overwritten_either() -> None:
    fake = Fake(DOWN._replace(reason="bad disk"))
    assert _drain(fake, "gpu1")["gpu1"].message == "down, not by brctl: bad disk"
    assert _drain(Fake(DOWN), "gpu1")["gpu1"].result is Result.DRAINED


def test_draining_twice_changes_nothing_and_keeps_the_first_reason() -> None:
    fake = Fake(OURS)
    assert _drain(fake, "gpu1") == {"gpu1": Outcome("gpu1", Result.UNCHANGED, "drained before: brctl: bad link")}
    assert fake.did == [("settle", "gpu1", 0.0)]
    _drain(fake, "gpu1", force=True)
    assert ("close", "gpu1", "brctl: new") in fake.did


def test_a_drain_for_a_change_gives_way_to_any_other() -> None:
    passing = OURS._replace(reason=PASSING)
    fake = Fake(passing)
    assert _drain(fake, "gpu1")["gpu1"].result is Result.DRAINED
    assert fake.did[0] == ("close", "gpu1", "brctl: new")
    book: Book = {}
    drain(Fake(passing), {"gpu1": PASSING}, force=False, wait_s=None, book=book)
    assert book["gpu1"].result is Result.UNCHANGED


def test_only_what_is_drained_for_that_reason_still_is_resumed() -> None:
    book: Book = {}
    resume(Fake(OURS), ["gpu1"], force=False, book=book, why=PASSING)
    hint = "`node-manager resume` gives it back when that is over"
    assert book["gpu1"] == Outcome("gpu1", Result.REFUSED, "drained, for another reason by now: brctl: bad link", hint)
    resume(Fake(OURS._replace(reason=PASSING)), ["gpu1"], force=False, book=book, why=PASSING)
    assert book["gpu1"].result is Result.RESUMED


def test_what_was_drained_before_is_waited_for_too() -> None:
    fake = Fake(OURS, hindered={"gpu1": Hindrance(Result.BLOCKED, "drained*: slurmd does not respond")})
    assert _drain(fake, "gpu1", wait_s=9)["gpu1"].result is Result.BLOCKED
    assert fake.did == [("settle", "gpu1", 9)]


def test_an_unknown_node_is_named_and_holds_up_nobody() -> None:
    fake = Fake(IDLE)
    book = _drain(fake, "gpu9", "gpu1")
    assert book["gpu9"] == Outcome("gpu9", Result.FAILED, "Fake has no such node")
    assert book["gpu1"].result is Result.DRAINED


def test_one_that_fails_holds_up_nobody() -> None:
    fake = Fake(IDLE, IDLE._replace(node="gpu2"), broken="gpu1")
    book = _drain(fake, "gpu1", "gpu2")
    assert book["gpu1"] == Outcome("gpu1", Result.FAILED, "it said no", "ask it")
    assert book["gpu2"].result is Result.DRAINED


def test_what_was_done_before_an_interruption_is_known() -> None:
    class Interrupted(Fake):
        def settle(self, *_: object) -> Mapping[str, Hindrance]:
            raise KeyboardInterrupt

    book: Book = {}
    with pytest.raises(KeyboardInterrupt):
        drain(Interrupted(IDLE), {"gpu1": "brctl: new"}, force=False, wait_s=9, book=book)
    assert book == {"gpu1": Outcome("gpu1", Result.DRAINING, "takes no new jobs: brctl: new")}


def test_no_nodes_are_no_success() -> None:
    with pytest.raises(ValueError, match="no nodes"):
        _drain(Fake(IDLE))
    with pytest.raises(ValueError, match="no nodes"):
        _resume(Fake(IDLE))


def test_what_we_drained_is_resumed() -> None:
    fake = Fake(OURS)
    assert _resume(fake, "gpu1") == {"gpu1": Outcome("gpu1", Result.RESUMED, "takes jobs again")}
    assert fake.did == [("open", "gpu1")]


def test_what_another_drained_is_not_resumed() -> None:
    fake = Fake(THEIRS)
    assert _resume(fake, "gpu1")["gpu1"] == Outcome(
        "gpu1",
        Result.REFUSED,
        "drained by alice, not by brctl: first",
        "ask them, or --force resumes it all the same",
    )
    assert _resume(Fake(THEIRS._replace(by=None, reason=None)), "gpu1")["gpu1"].message == (
        "drained, not by brctl: no reason given"
    )
    assert fake.did == []
    assert _resume(fake, "gpu1", force=True)["gpu1"].result is Result.RESUMED


def test_resuming_an_idle_node_changes_nothing() -> None:
    fake = Fake(IDLE)
    assert _resume(fake, "gpu1") == {"gpu1": Outcome("gpu1", Result.UNCHANGED, "idle before")}
    assert fake.did == []


@pytest.mark.parametrize("state", [OURS._replace(word="drained*", responding=False), OURS._replace(down=True)])
def test_what_does_not_respond_is_not_given_back(state: NodeState) -> None:
    fake = Fake(state)
    outcome = _resume(fake, "gpu1")["gpu1"]
    assert (outcome.result, outcome.message) == (Result.REFUSED, f"{state.word}: Fake does not reach it")
    assert _resume(fake, "gpu1", force=True)["gpu1"].result is Result.RESUMED


def test_a_node_that_is_down_without_a_drain_is_no_drain_of_ours() -> None:
    assert _resume(Fake(DOWN), "gpu1")["gpu1"].result is Result.REFUSED


def test_an_unknown_or_stubborn_node_is_not_resumed() -> None:
    fake = Fake(OURS, broken="gpu1")
    book = _resume(fake, "gpu9", "gpu1")
    assert book["gpu9"].message == "Fake has no such node"
    assert book["gpu1"] == Outcome("gpu1", Result.FAILED, "it said no", "ask it")


def test_a_reason_bears_our_mark_once() -> None:
    assert reason(" bad link ") == "brctl: bad link"
    assert reason("brctl: bad link") == "brctl: bad link"
    assert len(reason("x" * 500)) == 200


@pytest.mark.parametrize("text", ["", "  ", "a\nb", "a\x1b[31m"])
def test_a_reason_is_one_line_of_text(text: str) -> None:
    with pytest.raises(ValueError, match="one line"):
        reason(text)


@pytest.mark.parametrize(
    ("result", "waited", "whole"),
    [
        (Result.DRAINED, True, True),
        (Result.UNCHANGED, True, True),
        (Result.RESUMED, False, True),
        (Result.DRAINING, False, True),
        (Result.DRAINING, True, False),
        (Result.REFUSED, False, False),
        (Result.BLOCKED, False, False),
        (Result.FAILED, False, False),
    ],
)
def test_when_all_was_done(result: Result, waited: bool, whole: bool) -> None:
    assert complete([Outcome("n", Result.DRAINED, ""), Outcome("n", result, "")], waited) is whole
