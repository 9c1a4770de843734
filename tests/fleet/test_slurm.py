"""Texts are what scontrol 22.05.8 printed for nodes in these states; lines that nobody reads are left out."""

from types import SimpleNamespace

import pytest

from brctl.fleet import slurm
from brctl.fleet.command import CommandFailedError
from brctl.fleet.drain import Hindrance, NodeState, Result
from brctl.fleet.slurm import Slurm, hindrance, parse

_RECORD = """\
NodeName={node} Arch=x86_64 CoresPerSocket=1
   CPUAlloc=0 CPUEfctv=8 CPUTot=8 CPULoad=0.80
   OS=Linux 6.1.0 #1 SMP State=DOWN
   State={state} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   CfgTRES=cpu=8,mem=1M,billing=8
   AllocTRES={tres}
{reason}
"""


def _text(state: str, reason: str = "", tres: str = "", node: str = "gpu001") -> str:
    return _RECORD.format(node=node, state=state, tres=tres, reason=f"   Reason={reason}\n" if reason else "")


def _one(state: str, reason: str = "", tres: str = "") -> NodeState:
    return parse(_text(state, reason, tres))["gpu001"]


@pytest.mark.parametrize(
    ("state", "tres", "word", "closed", "busy", "down", "responding"),
    [
        ("IDLE", "", "idle", False, False, False, True),
        ("MIXED", "cpu=1", "mixed", False, True, False, True),
        ("ALLOCATED", "cpu=8", "allocated", False, True, False, True),
        ("MIXED+DRAIN", "cpu=1", "draining", True, True, False, True),
        ("IDLE+DRAIN", "", "drained", True, False, False, True),
        ("IDLE+COMPLETING+DRAIN", "", "draining+completing", True, True, False, True),
        ("IDLE+DRAIN+NOT_RESPONDING", "", "drained*", True, False, False, False),
        ("IDLE+NOT_RESPONDING", "", "idle*", False, False, False, False),
        ("IDLE*+DRAIN", "", "drained*", True, False, False, False),
        ("DOWN*", "", "down*", False, False, True, False),
        ("DOWN+DRAIN", "", "down+drain", True, False, True, True),
        ("IDLE+MAINT+RESERVED", "", "idle+maint+reserved", False, False, False, True),
        ("IDLE~", "", "idle", False, False, False, True),
        ("DRAINED", "", "drained", True, False, False, True),
        ("DRAINING", "", "draining", True, True, False, True),
    ],
)
def test_states(state: str, tres: str, word: str, closed: bool, busy: bool, down: bool, responding: bool) -> None:
    assert _one(state, tres=tres) == NodeState("gpu001", word, closed, busy, down, responding)


def test_the_reason_and_who_gave_it() -> None:
    found = _one("IDLE+DRAIN", "first $x [y] [root@2026-11-30T08:50:52]")
    assert (found.reason, found.by, found.ours) == ("first $x [y]", "root", False)
    ours = _one("IDLE+DRAIN", "brctl: x [root@2026-11-30T08:50:52]")
    assert (ours.reason, ours.by, ours.ours) == ("brctl: x", "root", True)
    assert not _one("IDLE", "brctl: x [root@2026-11-30T08:50:52]").ours
    assert _one("IDLE+DRAIN", "(null)").reason is None
    assert _one("IDLE+DRAIN", "no date").reason == "no date"


def test_a_reason_over_several_lines_counterfeits_nothing() -> None:
    text = _text(
        "IDLE+DRAIN", "multi [root@2026-11-30T08:51:26]\n             State=IDLE\n             Reason=brctl: x"
    )
    found = parse(text)["gpu001"]
    assert (found.closed, found.reason, found.by) == (True, "multi", "root")


def test_several_nodes() -> None:
    found = parse(_text("IDLE", node="gpu001") + "\n" + _text("DOWN", node="gpu002"))
    assert [(name, state.word) for name, state in found.items()] == [("gpu001", "idle"), ("gpu002", "down")]
    assert parse("") == {}
    assert parse("NodeName=x\n")["x"].down


@pytest.mark.parametrize(
    ("state", "tres", "expected"),
    [
        ("IDLE+DRAIN", "", None),
        ("DOWN+DRAIN", "", None),
        (
            "MIXED+DRAIN",
            "cpu=1",
            Hindrance(Result.DRAINING, "draining: jobs still run", "--wait TIME waits for their end"),
        ),
        (
            "IDLE+DRAIN+NOT_RESPONDING",
            "",
            Hindrance(
                Result.DRAINING,
                "drained*: slurmd does not respond",
                "nobody knows whether its jobs have ended: look at the node and its slurmd",
            ),
        ),
        (
            "IDLE",
            "",
            Hindrance(Result.BLOCKED, "idle: somebody undid the drain", "ask who, then drain it again"),
        ),
    ],
)
def test_what_hinders(state: str, tres: str, expected: "Hindrance | None") -> None:
    assert hindrance(_one(state, tres=tres)) == expected


def test_a_node_that_is_gone_hinders() -> None:
    found = hindrance(None)
    assert found
    assert found.message == "gone: somebody undid the drain"


@pytest.fixture
def scontrol(monkeypatch: pytest.MonkeyPatch) -> "list[object]":
    """Answers in order; what was asked is appended behind them."""
    script: list[object] = []

    def run(argv: "list[str]", limit_s: float) -> str:
        assert limit_s == slurm.ANSWER_S
        script.append(argv)
        answer = script.pop(0)
        if isinstance(answer, CommandFailedError):
            raise answer
        return str(answer)

    monkeypatch.setattr(slurm, "run", run)
    return script


SHOW = ["scontrol", "show", "node", "gpu001"]


def test_the_commands(scontrol: "list[object]") -> None:
    drained = _text("IDLE+DRAIN", "brctl: x [root@now]")
    scontrol += [_text("IDLE"), "", drained, drained, ""]
    Slurm().close(_one("IDLE"), "brctl: x")
    Slurm().open(parse(drained)["gpu001"])
    assert scontrol == [
        SHOW,
        ["scontrol", "update", "NodeName=gpu001", "State=DRAIN", "Reason=brctl: x"],
        SHOW,
        SHOW,
        ["scontrol", "update", "NodeName=gpu001", "State=RESUME"],
    ]


@pytest.mark.parametrize(
    ("after", "message"),
    [
        (_text("IDLE+DRAIN", "mine [alice@now]"), r"drained \(mine\) right after the drain"),
        (_text("IDLE+DRAIN", "brctl: y [root@now]"), r"drained \(brctl: y\) right after the drain"),
        (_text("IDLE"), "idle right after the drain"),
        ("", "gone right after the drain"),
    ],
)
def test_whoever_came_after_is_noticed(scontrol: "list[object]", after: str, message: str) -> None:
    scontrol += [_text("IDLE"), "", after]
    with pytest.raises(CommandFailedError, match=message):
        Slurm().close(_one("IDLE"), "brctl: x")


@pytest.mark.parametrize(
    ("now", "message"),
    [
        (_text("IDLE+DRAIN", "mine [alice@now]"), r"drained \(mine\) by now, and was idle"),
        (_text("DOWN", "it burns [root@now]"), r"down \(it burns\) by now, and was idle"),
        ("", "gone by now, and was idle"),
    ],
)
def test_whoever_came_before_is_left_alone(scontrol: "list[object]", now: str, message: str) -> None:
    scontrol += [now]
    with pytest.raises(CommandFailedError, match=message):
        Slurm().close(_one("IDLE"), "brctl: x")
    assert scontrol == [SHOW]


def test_a_drain_of_ours_that_another_took_over_is_not_undone(scontrol: "list[object]") -> None:
    scontrol += [_text("IDLE+DRAIN", "mine [alice@now]")]
    with pytest.raises(CommandFailedError, match=r"drained \(mine\) by now, and was drained \(brctl: x\)"):
        Slurm().open(_one("IDLE+DRAIN", "brctl: x [root@now]"))
    assert scontrol == [SHOW]


def test_that_a_job_began_meanwhile_hinders_nothing(scontrol: "list[object]") -> None:
    scontrol += [_text("MIXED", tres="cpu=1"), "", _text("MIXED+DRAIN", "brctl: x [root@now]", "cpu=1")]
    Slurm().close(_one("IDLE"), "brctl: x")


def test_settling_looks_again_until_jobs_have_ended(scontrol: "list[object]", monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    clock = iter([0.0, 0.0, 1.0, 3.0, 7.0])
    monkeypatch.setattr(slurm, "time", SimpleNamespace(monotonic=lambda: next(clock), sleep=slept.append))
    scontrol += [_text("MIXED+DRAIN", tres="cpu=1")] * 3 + [_text("IDLE+DRAIN")]
    assert Slurm().settle(["gpu001"], 60) == {}
    assert slept == [1.0, 2.0, 4.0]


def test_settling_is_bounded(scontrol: "list[object]", monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    clock = iter([0.0, 0.0, 3.0, 5.0])
    monkeypatch.setattr(slurm, "time", SimpleNamespace(monotonic=lambda: next(clock), sleep=slept.append))
    scontrol += [_text("MIXED+DRAIN", tres="cpu=1")] * 3
    (found,) = Slurm().settle(["gpu001"], 4).values()
    assert found.result is Result.DRAINING
    assert slept == [1.0, 1.0]


def test_a_look_that_fails_is_made_again(scontrol: "list[object]", monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(slurm, "time", SimpleNamespace(monotonic=lambda: 0.0, sleep=slept.append))
    busy, gone = _text("MIXED+DRAIN", tres="cpu=1"), CommandFailedError("no controller")
    scontrol += [busy, gone, gone, _text("IDLE+DRAIN")]
    assert Slurm().settle(["gpu001"], 60) == {}
    assert slept == [1.0, 2.0, 4.0]


def test_the_last_look_that_fails_is_told(scontrol: "list[object]", monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 0.0, 5.0])
    monkeypatch.setattr(slurm, "time", SimpleNamespace(monotonic=lambda: next(clock), sleep=lambda _: None))
    scontrol += [_text("MIXED+DRAIN", tres="cpu=1"), CommandFailedError("no controller")]
    with pytest.raises(CommandFailedError, match="no controller"):
        Slurm().settle(["gpu001"], 4)


def test_without_a_wait_it_looks_once(scontrol: "list[object]") -> None:
    scontrol += [_text("MIXED+DRAIN", tres="cpu=1")]
    assert list(Slurm().settle(["gpu001"], 0)) == ["gpu001"]
