"""--retry-failed, --first and --batch: who is asked, in which steps."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from brctl.fleet import engine
from brctl.fleet.engine import InterruptedRunError
from brctl.fleet.order import Order
from brctl.node.report import NodeError, Report

Brctl = Callable[..., Any]  # the fixture of conftest.py

CONFIG = 'version: 1\ncluster: {name: c, nodes: "gpu[1-10]"}\n'
REFUSED = (NodeError("refused", "no", "hm"),)


class Nodes:
    """Stand where the engine does. `silent` do not answer; Ctrl-C comes while `last` is asked."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.silent: set[str] = set()
        self.last = ""

    def ask_all(self, orders: Sequence[Order], *_: object, **__: object) -> tuple[Report, ...]:
        self.asked.append([order.node for order in orders])
        reports = tuple(Report(each.node, 0, 0, errors=REFUSED if each.node in self.silent else ()) for each in orders)
        if self.last in self.asked[-1]:
            raise InterruptedRunError(reports)
        return reports


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Nodes:
    (tmp_path / "cluster-config.yaml").write_text(CONFIG)
    stand_in = Nodes()
    monkeypatch.setattr(engine, "ask_all", stand_in.ask_all)
    return stand_in


def _names(first: int, last: int) -> list[str]:
    return [f"gpu{i}" for i in range(first, last + 1)]


@pytest.mark.parametrize("command", ["show", "check", "list", "clean", "capabilities"])
def test_every_fleet_command_has_them(brctl: Brctl, nodes: Nodes, command: str) -> None:
    nodes.silent = {"gpu3", "gpu7"}
    argv = ["-w", "@all", "node-manager", command, "-o", "json"]
    assert brctl(*argv).code == 3
    assert brctl(*argv, "--retry-failed", "--first", "1").code == 3
    assert brctl(*argv, "--first", "2", "--batch", "1").code == 0
    assert nodes.asked == [_names(1, 10), ["gpu3"], ["gpu1"], ["gpu2"]]


def test_batches_are_one_run(brctl: Brctl, nodes: Nodes) -> None:
    nodes.silent = {"gpu2", "gpu9"}
    result = brctl("-w", "@all", "node-manager", "check", "-o", "json", "--batch", "4")
    assert nodes.asked == [_names(1, 4), _names(5, 8), _names(9, 10)]
    assert [report["node"] for report in json.loads(result.out)["reports"]] == _names(1, 10)
    assert result.err.splitlines()[:2] == ["4 of 10 nodes asked, 1 failed", "8 of 10 nodes asked, 1 failed"]
    assert result.code == 3
    assert brctl("-q", "-w", "gpu[1,3-4]", "node-manager", "check", "--batch", "2") == (0, "", "")


@pytest.mark.parametrize(("batch", "sizes"), [("34%", [4, 4, 2]), ("1%", [1] * 10), ("100%", [10]), ("99", [10])])
def test_a_batch_is_a_number_or_a_share(brctl: Brctl, nodes: Nodes, batch: str, sizes: list[int]) -> None:
    brctl("-w", "@all", "node-manager", "check", "--batch", batch)
    assert [len(asked) for asked in nodes.asked] == sizes


def test_after_ctrl_c_no_other_batch_begins_and_the_rest_can_be_asked_again(brctl: Brctl, nodes: Nodes) -> None:
    nodes.last = "gpu4"
    argv = ["-w", "@all", "node-manager", "check", "-o", "json"]
    result = brctl(*argv, "--batch", "3")
    assert result.code == 130
    assert nodes.asked == [_names(1, 3), _names(4, 6)]
    kinds = [[error["kind"] for error in report["errors"]] for report in json.loads(result.out)["reports"]]
    assert kinds == [[]] * 6 + [["not-asked"]] * 4
    assert brctl(*argv, "--retry-failed").code == 0
    assert nodes.asked[-1] == _names(7, 10)


def test_only_those_that_failed_and_are_named_are_asked_again(brctl: Brctl, nodes: Nodes) -> None:
    nodes.silent = {"gpu3", "gpu7", "gpu9"}
    brctl("-w", "@all", "node-manager", "check")
    nodes.silent = {"gpu9"}
    again = ["node-manager", "check", "--retry-failed"]
    assert brctl("-w", "gpu[1-5]", *again, "-o", "json").code == 0
    assert brctl("-w", "@all", *again, "-o", "json").code == 3
    assert brctl("-w", "@all", *again, "-o", "json").code == 3
    assert nodes.asked[1:] == [["gpu3"], ["gpu7", "gpu9"], ["gpu9"]]
    result = brctl("-w", "gpu[1-5]", *again)
    error = "--retry-failed: none of these nodes failed when this command last asked it"
    assert result == (2, "", f"error: {error}\nhint: ask them all without it\n")


def test_this_host_among_many_is_remembered_too(brctl: Brctl, nodes: Nodes) -> None:
    nodes.silent = {"gpu1"}
    argv = ["-w", "@all", "--as", "gpu1", "node-manager", "check"]
    brctl(*argv)
    nodes.silent = set()
    assert [brctl(*argv, "--retry-failed").code for _ in range(2)] == [0, 2]
    assert nodes.asked[1:] == [["gpu1"]]


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        (["check", "--retry-failed"], "--retry-failed is about many nodes, and none are named\nhint: name them"),
        (["show", "--first", "2"], "--first is about many nodes"),
        (["clean", "--batch", "2"], "--batch is about many nodes"),
        (["check", "-w", "@all", "--first", "0"], "--first 0: one node at the least"),
        (["check", "-w", "@all", "--batch", "0"], "--batch 0: how many nodes at a time, 8 or 10%"),
        (["check", "-w", "@all", "--batch", "101%"], "--batch 101%: how many"),
        (["check", "-w", "@all", "--batch", "some"], "--batch some: how many"),
        (["check", "-w", "@all", "--batch=-1"], "--batch -1: how many"),
        (["discover", "--first", "2"], "No such option: --first"),
    ],
)
def test_what_leaves_nobody_to_ask_is_2(brctl: Brctl, nodes: Nodes, argv: list[str], error: str) -> None:
    result = brctl("node-manager", *argv, "--mock", "cpu-only") if "-w" not in argv else brctl("node-manager", *argv)
    assert (result.code, result.out, nodes.asked) == (2, "", [])
    assert error in result.err


def test_list_without_a_config_is_about_this_host(brctl: Brctl, nodes: Nodes, tmp_path: Path) -> None:
    (tmp_path / "cluster-config.yaml").unlink()
    assert "--first is about many nodes" in brctl("node-manager", "list", "--first", "2").err


def test_a_state_folder_that_cannot_be_written_hinders_nobody(brctl: Brctl, nodes: Nodes, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("no folder")
    nodes.silent = {"gpu1"}
    result = brctl("-w", "gpu[1-2]", "node-manager", "check", "-o", "json")
    assert result.code == 3
    assert "warning: which nodes failed is not kept for --retry-failed: " in result.err
