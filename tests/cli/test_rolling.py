"""`tune apply` over many nodes: batches, failures, and nodes that the scheduler gives up meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from brctl.cli.errors import CommandError
from brctl.cli.rolling import Rolling, roll_out
from brctl.cli.waves import Plan
from brctl.fleet.command import CommandFailedError
from brctl.fleet.drain import Book, Hindrance, NodeState, Result, drain, reason
from brctl.node.report import NodeError, Report, Transaction

Brctl = Callable[..., Any]  # the fixture of conftest.py


class Slurm:
    """A scheduler: which nodes it holds back, and what it was told."""

    name = "Slurm"

    def __init__(self, closed: Sequence[str] = (), busy: Sequence[str] = (), mute: Container[int] = ()) -> None:
        """`mute`: at which looks at the nodes it does not answer, from 1."""
        self.closed, self.busy, self.mute = dict.fromkeys(closed, "brctl: before"), busy, mute
        self.told: list[str] = []
        self.looks = 0
        self.meanwhile: Callable[[], None] | None = None

    def states(self) -> Mapping[str, NodeState]:
        self.looks += 1
        if self.looks in self.mute:
            raise CommandFailedError("scontrol: no controller", "start it")
        return {name: self._state(name) for name in NODES}

    def _state(self, name: str) -> NodeState:
        reason = self.closed.get(name)
        return NodeState(name, "idle", bool(reason), None, False, True, reason)

    def close(self, state: NodeState, reason: str) -> None:
        self.closed[state.node] = reason
        self.told.append("close " + state.node)

    def open(self, state: NodeState) -> None:
        del self.closed[state.node]
        self.told.append("open " + state.node)

    def settle(self, nodes: Sequence[str], limit_s: float) -> Mapping[str, Hindrance]:
        assert limit_s == 60.0
        self.states()
        if self.meanwhile:
            self.meanwhile()
        return {name: Hindrance(Result.DRAINING, "a job runs") for name in nodes if name in self.busy}


NODES = ["n1", "n2", "n3", "n4"]


class Run:
    """A FleetSession as far as it is used here."""

    def __init__(self, bad: Sequence[str] = (), step: int = 0, unconfirmed: Sequence[str] = ()) -> None:
        self.bad, self.unconfirmed, self.asked = bad, unconfirmed, []  # type: ignore[var-annotated]
        self.plan = Plan((), step)
        self.said: list[str] = []
        self.common = SimpleNamespace(warn=self.said.append)
        self.targets = [SimpleNamespace(node=name) for name in NODES]

    def _replace(self, targets: Sequence[Any], plan: Plan) -> Any:  # noqa: ARG002
        names = [target.node for target in targets]

        def ask(action: str, meanwhile: Callable[[], None]) -> list[Report]:
            assert action == "tune-apply"
            self.asked.append(names)
            errors = (NodeError("refused", "no"),)
            made = {name: Transaction("t", "unconfirmed", 1.0, "w", "b", None, ()) for name in self.unconfirmed}
            return [
                Report(
                    name,
                    1.0,
                    0.1,
                    errors=errors if name in self.bad else (),
                    transactions=(made[name],) if name in made else (),
                )
                for name in names
            ]

        return SimpleNamespace(ask=ask)


def roll(run: Run, **rolling: Any) -> dict[str, str]:
    """What went wrong, by node."""
    reports = roll_out(run, Rolling(**rolling))  # type: ignore[arg-type]
    assert [report.node for report in reports] == NODES
    return {report.node: report.errors[0].message for report in reports if report.errors}


def test_batches_after_a_canary() -> None:
    run = Run(step=2)
    assert roll(run) == {}
    assert run.asked == [["n1"], ["n2", "n3"], ["n4"]]
    assert run.said == ["1 of 4 nodes done, 0 failed", "3 of 4 nodes done, 0 failed"]


def test_too_many_failures() -> None:
    run = Run(bad=["n1"])
    assert roll(run)["n4"] == "1 node failed, and at most 0 may"
    assert run.asked == [["n1"]]
    assert list(roll(Run(bad=["n1"]), max_failures=1)) == ["n1"]


def test_each_batch_is_drained_and_given_back() -> None:
    slurm = Slurm()
    assert roll(Run(step=3), scheduler=slurm, wait_s=60.0) == {}
    assert slurm.told == [
        "close n1", "open n1", "close n2", "close n3", "close n4", "open n2", "open n3", "open n4",
    ]  # fmt: skip


def test_what_failed_stays_drained_and_what_was_drained_before_too(capsys: pytest.CaptureFixture[str]) -> None:
    slurm = Slurm(closed=["n2"])
    roll(Run(bad=["n1"]), scheduler=slurm, wait_s=60.0, canary=0)
    assert sorted(slurm.closed) == ["n1", "n2"]
    assert "drained still, as it failed there: n1" in capsys.readouterr().err


def test_a_node_that_does_not_become_empty_is_left_and_given_back() -> None:
    slurm, run = Slurm(busy=["n1"]), Run()
    errors = roll(run, scheduler=slurm, wait_s=60.0, canary=0)
    assert errors == {"n1": "a job runs"}
    assert run.asked == [["n2", "n3", "n4"]]
    assert slurm.closed == {}


def of(run: Run, slurm: Slurm, **rolling: Any) -> dict[str, list[tuple[str, str]]]:
    """Kinds and messages of the errors, by node."""
    reports = roll_out(run, Rolling(scheduler=slurm, wait_s=60.0, **rolling))  # type: ignore[arg-type]
    return {
        report.node: [(error.kind, error.message) for error in report.errors] for report in reports if report.errors
    }


NEVER = [("not-attempted", "2 nodes failed, and at most 0 may")]
MUTE = "scontrol: no controller"


def test_a_scheduler_that_does_not_answer() -> None:
    """The nodes are named, and none was touched."""
    run, slurm = Run(step=2), Slurm(mute=range(100))
    bad = [("not-drained", MUTE)]
    assert of(run, slurm, canary=0) == {"n1": bad, "n2": bad, "n3": NEVER, "n4": NEVER}
    assert (run.asked, slurm.told) == ([], [])


def test_a_scheduler_that_falls_silent_while_a_batch_drains() -> None:
    """They are given back where it answers again, else named as drained still."""
    run, slurm, bad = Run(step=2), Slurm(mute=[3]), [("not-drained", MUTE)]
    assert of(run, slurm, canary=0) == {"n1": bad, "n2": bad, "n3": NEVER, "n4": NEVER}
    assert (run.asked, slurm.closed) == ([], {})
    run, slurm, bad = Run(step=2), Slurm(mute=[3, 4]), [("not-resumed", "not given back: " + MUTE), *bad]
    assert of(run, slurm, canary=0) == {"n1": bad, "n2": bad, "n3": NEVER, "n4": NEVER}
    assert (run.asked, list(slurm.closed)) == ([], ["n1", "n2"])


def test_a_scheduler_that_falls_silent_after_the_work() -> None:
    """What was done before, and there, is known all the same; the record of what failed too."""
    run, slurm = Run(step=2), Slurm(mute=[8])
    noted: list[tuple[str, bool]] = []

    class Noting(Plan):
        def note(self, common: Any, reports: Any, failed: Any = bool) -> None:  # noqa: ARG002
            noted.extend((report.node, failed(report)) for report in reports)

    run.plan = Noting((), 2)
    left = [("not-resumed", "not given back: " + MUTE)]
    assert of(run, slurm) == {"n2": left, "n3": left, "n4": NEVER}
    assert (run.asked, list(slurm.closed)) == ([["n1"], ["n2", "n3"]], ["n2", "n3"])
    assert noted == [("n1", False), ("n2", True), ("n3", True), ("n4", True)]


def test_what_an_alert_drains_meanwhile_stays_drained() -> None:
    run, slurm = Run(), Slurm()
    why = reason("alert gpu-ecc: double bit error")
    book: Book = {}

    def alert() -> None:
        slurm.meanwhile = None
        drain(slurm, {"n2": why}, force=False, wait_s=None, book=book)

    slurm.meanwhile = alert
    assert of(run, slurm, canary=0) == {
        "n2": [("not-resumed", "not given back: idle, for another reason by now: " + why)]
    }
    assert book["n2"].result is Result.DRAINING
    assert slurm.closed == {"n2": why}
    assert run.asked == [NODES]


def test_what_is_not_confirmed_yet_stays_drained(capsys: pytest.CaptureFixture[str]) -> None:
    """The guard may take the MTU back, under the jobs that would run then."""
    slurm = Slurm()
    assert of(Run(unconfirmed=["n1", "n3"]), slurm, canary=0) == {}
    assert list(slurm.closed) == ["n1", "n3"]
    assert "warning: drained still, as a change there is not confirmed yet: n1 n3\n" in capsys.readouterr().err


def test_a_batch_that_ends_otherwise_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    class Broken(Run):
        def _replace(self, targets: Sequence[Any], plan: Plan) -> Any:  # noqa: ARG002
            raise CommandError("there is no ssh here")

    slurm = Slurm()
    with pytest.raises(CommandError, match="there is no ssh here"):
        of(Broken(), slurm)
    assert list(slurm.closed) == ["n1"]
    assert "these may be drained still: n1\n" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--canary", "2"], ["--max-failures", "1"], ["--batch", "2"]])
def test_of_one_host_they_are_refused(brctl: Brctl, option: Sequence[str]) -> None:
    result = brctl("--mock", "dgx-h100", "tune", "apply", "--yes", "--set", "gpu.power_limit=650W", *option)
    assert result.code == 2
    assert "about many nodes" in result.err


@pytest.mark.process
def test_over_nodes_of_which_one_cannot(brctl: Brctl, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A power limit that one node's GPUs do not have: the run ends there, and goes on from there."""
    monkeypatch.setenv("BRCTL_STATE_DIR", str(tmp_path))
    mocks = "dgx-h100,n2=dgx-a100"
    args = ["tune", "apply", "-w", "n[1-3]", "--yes", "--only", "gpu-power-limit", "--set", "gpu.power_limit=650W"]
    stopped = brctl("--mock", mocks, *args, "--batch", "1", "-o", "json")
    assert stopped.code == 3
    outcomes = {each["node"]: each for each in json.loads(stopped.out)["reports"]}
    assert {change["outcome"] for change in outcomes["n1"]["changes"]} == {"changed"}
    assert outcomes["n3"]["errors"][0]["kind"] == "not-attempted"
    again = brctl("--mock", "dgx-h100", *args, "--retry-failed", "-o", "json")
    assert again.code == 0
    assert [each["node"] for each in json.loads(again.out)["reports"]] == ["n2", "n3"]
