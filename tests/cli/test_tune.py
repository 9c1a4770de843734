"""brctl tune, as an operator calls it."""

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from brctl.cli import tune
from brctl.cli.verdict import tune_code
from brctl.node.report import HOST, Change, Outcome, Report

Brctl = Callable[..., Any]  # the fixture of conftest.py

LIMIT = ("--set", "gpu.power_limit=650W")
CONFIG = """\
version: 1
cluster: {name: c, nodes: "node[1-3]"}
tune: {gpu: {power_limit: 650W}}
overrides: [{nodes: node3, tune: {gpu: {power_limit: 900W}}}]
"""


@pytest.fixture(autouse=True)
def _who(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune, "_who", lambda: "op@admin")


def first(result: Any) -> dict[str, Any]:
    change: dict[str, Any] = json.loads(result.out)["reports"][0]["changes"][0]
    return change


def test_plan_apply_plan_rollback_across_invocations(brctl: Brctl) -> None:
    plan = brctl("--mock", "h100-mig", "tune", "plan", *LIMIT, "-o", "json")
    assert (plan.code, first(plan)["outcome"], first(plan)["live"], first(plan)["wanted"]) == (
        1,
        "pending",
        "700 W",
        "650 W",
    )
    done = brctl("--mock", "h100-mig", "tune", "apply", "--yes", *LIMIT, "-o", "json")
    assert (done.code, first(done)["outcome"], first(done)["before"], first(done)["live"]) == (
        0,
        "changed",
        "700 W",
        "650 W",
    )
    (transaction,) = json.loads(done.out)["reports"][0]["transactions"]
    assert (transaction["state"], transaction["who"], len(transaction["config_hash"])) == ("done", "op@admin", 12)
    assert brctl("--mock", "h100-mig", "tune", "plan", *LIMIT).code == 0
    history = brctl("--mock", "h100-mig", "tune", "history", "-o", "json")
    assert json.loads(history.out)["reports"][0]["transactions"] == [transaction]
    back = brctl("--mock", "h100-mig", "tune", "rollback", transaction["id"], "-o", "json")
    assert (back.code, first(back)["outcome"], first(back)["live"]) == (0, "restored", "700 W")
    again = brctl("--mock", "h100-mig", "tune", "rollback")
    assert (again.code, again.err) == (3, "error: gpu001: there is nothing to roll back\n")


def test_a_bond_with_its_vlan_is_one_value_there_and_back(brctl: Brctl) -> None:
    done = brctl("--mock", "dgx-h100", "tune", "apply", "--yes", "--set", "network.mtu=4200", "-o", "json")
    (there,) = json.loads(done.out)["reports"]
    assert [change["outcome"] for change in there["changes"]] == ["changed"] * 11
    (back,) = json.loads(brctl("--mock", "dgx-h100", "tune", "rollback", "-o", "json").out)["reports"]
    names = [change["subject"]["name"] for change in back["changes"]]
    assert (len(names), names.count("bond0")) == (11, 1)
    bond = back["changes"][names.index("bond0")]
    assert (bond["outcome"], bond["live"]) == ("restored", "9000")
    assert bond["effects"] == ["/sys/class/net/bond0.100/mtu: 4200 -> 9000"]
    assert len(back["transactions"][0]["changes"]) == 11


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (("plan", "--set", "gpu.power_limit=900W"), 3),
        (("apply", "--yes", "--set", "gpu.power_limit=900W"), 3),
        (("plan", "--set", "network.mtu=1500", "--only", "gpu-clocks"), 0),
        (("plan", *LIMIT, "--skip", "gpu-power-limit"), 0),
        (("confirm",), 3),
        (("history",), 0),
    ],
)
def test_exit_codes(brctl: Brctl, argv: tuple[str, ...], code: int) -> None:
    assert brctl("--mock", "h100-mig", "tune", *argv).code == code


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        (
            ("plan",),
            "error: nothing is wanted: there is no config\nhint: give it one, or name values: --set network.mtu",
        ),
        (
            ("plan", *LIMIT, "--only", "gpu-power"),
            "error: there is no setting gpu-power\nhint: did you mean gpu-power-",
        ),
        (("plan", *LIMIT, "--skip", "x"), "error: there is no setting x\nhint: `brctl tune list` shows them\n"),
        (("plan", *LIMIT, "--only", "sysctl", "--skip", "sysctl"), "error: --only and --skip leave no setting\n"),
        (("plan", "--set", "mtu"), "error: --set mtu: KEY=VALUE is expected\n"),
        (("plan", "--set", "gpu.power_limit=6\udcff"), "error: --set gpu.power_limit:1:9: byte 0xff is not UTF-8"),
        (("apply", *LIMIT), "error: tune apply asks first, and nobody is there to ask\nhint: give --yes\n"),
        (("apply", *LIMIT, "-o", "json"), "error: tune apply asks first, and --output json leaves no place for it\n"),
        (
            ("apply", "--set", "netwrk.mtu=9000"),
            "error: --set: tune.netwrk: unknown key\nhint: did you mean 'network'?\n",
        ),
        (("apply",), "error: nothing is wanted: there is no config\n"),
        (("apply", *LIMIT, "--as", "-x"), "error: --as -x: no node name"),
        (("apply", *LIMIT, "--canary", "2"), "error: --canary, --max-failures and --drain are about many nodes"),
        (("apply", "--yes", *LIMIT, "--confirm-within", "5"), "error: --confirm-within 5: 5 has no unit\n"),
        (("apply", "--yes", *LIMIT, "--drain-wait", "5m"), "error: --drain-wait is how long --drain waits, which is"),
        (("confirm", ""), "error: the ID is empty\nhint: `brctl tune history` shows them; without one it is"),
        (("history", ""), "error: the ID is empty\n"),
        (("explain", "nothing"), "error: there is no setting nothing\n"),
        (("rollback", "../x"), "error: gpu001: there is no transaction ../x\n"),
    ],
)
def test_what_is_wrong_is_one_error(brctl: Brctl, argv: tuple[str, ...], error: str) -> None:
    result = brctl("--mock", "h100-mig", "tune", *argv)
    assert result.code == (3 if argv[0] == "rollback" else 2)
    assert result.err.startswith(error)


def test_an_empty_id_is_not_the_newest(brctl: Brctl) -> None:
    assert brctl("--mock", "h100-mig", "tune", "apply", "--yes", *LIMIT).code == 0
    assert brctl("--mock", "h100-mig", "tune", "rollback", "").code == 2
    assert brctl("--mock", "h100-mig", "tune", "plan", *LIMIT).code == 0


def test_a_host_that_the_config_does_not_know_is_not_written_to(brctl: Brctl, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(CONFIG)
    plan = brctl("-c", "c.yaml", "--mock", "h100-mig", "tune", "plan")
    assert plan.code == 1
    assert "gpu001: no node of c.yaml" in plan.err
    result = brctl("-c", "c.yaml", "--mock", "h100-mig", "tune", "apply", "--yes")
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        "error: gpu001 is no node of c.yaml, so nothing is written to it\nhint: --as NODE names this host\n"
    )
    assert brctl("-c", "c.yaml", "--as", "node1", "--mock", "h100-mig", "tune", "apply", "--yes").code == 0


def test_a_config_without_a_tune_section(brctl: Brctl, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("version: 1\ncluster: {name: c, nodes: gpu001}\n")
    result = brctl("-c", "c.yaml", "--mock", "h100-mig", "tune", "plan")
    assert (result.code, result.err.splitlines()[0]) == (2, "error: nothing is wanted: c.yaml has no tune section")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Impatient(Terminal):
    """^C, or the end of the input, is the answer."""

    def readline(self, *_: Any) -> str:
        if self.getvalue():
            raise KeyboardInterrupt
        return ""


@pytest.mark.parametrize(("answer", "code"), [("^C", 130), ("", 1)])
def test_no_answer_is_no(brctl: Brctl, monkeypatch: pytest.MonkeyPatch, answer: str, code: int) -> None:
    monkeypatch.setattr(sys, "stdin", Impatient(answer))
    monkeypatch.setattr(tune, "_somebody_to_ask", lambda *_: None)
    result = brctl("--mock", "h100-mig", "tune", "apply", *LIMIT)
    assert (result.code, result.err) == (code, "Make it so? [y/N] \nnothing was touched\n")


@pytest.mark.process
def test_of_many_where_some_cannot_nobody_is_asked(brctl: Brctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune, "_somebody_to_ask", lambda *_: None)
    nodes = ("--mock", "h100-mig,n2=h100-mig+gpu0-lost", "-w", "n[1-2]")
    result = brctl(*nodes, "tune", "apply", *LIMIT)
    assert result.code == 3
    assert result.err.endswith(
        "error: nothing was touched, as some of these nodes cannot do it\n"
        "hint: leave them out of --nodes, or give --yes and as many --max-failures\n"
    )


@pytest.mark.parametrize(("answer", "code", "live"), [("y\n", 0, "650 W"), ("\n", 1, "700 W"), ("no\n", 1, "700 W")])
def test_apply_asks_after_it_has_shown_the_plan(
    brctl: Brctl, monkeypatch: pytest.MonkeyPatch, answer: str, code: int, live: str
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(tune, "_somebody_to_ask", lambda *_: None)
    result = brctl("--mock", "h100-mig", "tune", "apply", *LIMIT)
    assert result.code == code
    assert "pending  gpu-power-limit  GPU 0" in result.out
    assert ("changed  gpu-power-limit" in result.out) is (code == 0)
    assert result.err == "Make it so? [y/N] " + ("" if code == 0 else "nothing was touched\n")
    plan = brctl("--mock", "h100-mig", "tune", "plan", *LIMIT, "-o", "json")
    assert first(plan)["live"] == live


def test_apply_does_not_ask_where_nothing_is_to_do(brctl: Brctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(""))
    monkeypatch.setattr(tune, "_somebody_to_ask", lambda *_: None)
    for sets, code in ((("--set", "gpu.power_limit=700W"), 0), (("--set", "gpu.power_limit=900W"), 3)):
        result = brctl("--mock", "h100-mig", "tune", "apply", *sets)
        assert (result.code, result.err) == (code, "")


def test_ctrl_c_says_where_to_look(brctl: Brctl, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(self: object, request: object, *_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("brctl.cli.session.LocalAgent.ask", ask)
    result = brctl("--mock", "h100-mig", "tune", "apply", "--yes", *LIMIT)
    assert (result.code, result.out) == (130, "")
    assert result.err == (
        "error: interrupted\nhint: `brctl tune history` tells what was done, `brctl tune rollback` takes it back\n"
    )


def test_who_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    for name in ("SUDO_USER", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    assert tune._who().endswith("@" + os.uname().nodename)
    monkeypatch.setenv("SUDO_USER", "alice")
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.7 50000 10.0.0.1 22")
    assert tune._who() == "alice (sudo)@" + os.uname().nodename + " from 10.0.0.7"
    monkeypatch.delenv("SUDO_USER")
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    assert tune._who().startswith("54321@")
    monkeypatch.setenv("SUDO_USER", "x\udcff")
    assert tune._who().startswith("x? (sudo)@")


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (Outcome.CHANGED, 0),
        (Outcome.PENDING, 1),
        (Outcome.CAPPED, 1),
        (Outcome.PENDING_REBOOT, 1),
        (Outcome.REFUSED, 3),
        (Outcome.NOT_ATTEMPTED, 3),
        (Outcome.CONFLICT, 3),
    ],
)
def test_the_code_of_an_outcome(outcome: Outcome, code: int) -> None:
    changes = (Change("one", HOST, "a", Outcome.OK), Change("one", HOST, "b", outcome))
    assert tune_code([Report("n", 0.0, 0.0, changes=changes)]) == code


def test_somebody_has_to_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sys, "stderr", Terminal())
    tune._somebody_to_ask("apply", "table")


def test_list_and_explain(brctl: Brctl) -> None:
    listed = json.loads(brctl("tune", "list", "-o", "json").out)["settings"]
    names = [each["id"] for each in listed]
    assert names[:2] == ["gpu-persistence", "gpu-power-limit"]
    assert {"sysctl", "nic-mtu"} <= set(names)
    assert listed[1]["keys"] == ["gpu.power_limit"]
    assert "gpu-power-limit       GPU power limit" in brctl("tune", "list").out
    text = brctl("tune", "explain", "gpu-clocks").out
    assert text.startswith("gpu-clocks  GPU clocks\nkeys of tune: gpu.locked_clocks\n\nLocked clocks hold the SM clock")
    assert "mlnx_qos" in brctl("tune", "explain", "pfc").out
    assert json.loads(brctl("tune", "explain", "gpu-clocks", "-o", "json").out)["setting"]["id"] == "gpu-clocks"


def test_quiet_says_only_what_calls_for_somebody(brctl: Brctl) -> None:
    assert brctl("--mock", "h100-mig", "tune", "plan", "--set", "gpu.power_limit=700W", "-q").out == ""
    assert "pending" in brctl("--mock", "h100-mig", "tune", "plan", *LIMIT, "-q").out


EXAMPLE = str(Path(__file__).parents[2] / "cluster-config.example.yaml")


@pytest.mark.parametrize("width", [40, 100])
@pytest.mark.parametrize(
    ("name", "argv"),
    [
        ("tune-plan", ["-c", EXAMPLE, "--as", "gpu001", "--mock", "dgx-h100", "tune", "plan"]),
        ("tune-plan-cpu-only", ["-c", EXAMPLE, "--as", "store01", "--mock", "cpu-only", "tune", "plan"]),
        ("tune-list", ["tune", "list"]),
    ],
)
def test_the_screens(look: Callable[..., None], name: str, argv: list[str], width: int) -> None:
    look(name, width, *argv)
