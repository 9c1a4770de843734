"""`node-manager list --watch`: one sweep after another, until Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from brctl.cli import listing, scheduler
from brctl.fleet import engine
from brctl.fleet.command import CommandFailedError
from brctl.fleet.engine import InterruptedRunError
from brctl.fleet.order import Order
from brctl.node.report import NodeError, Report

Brctl = Callable[..., Any]  # the fixture of conftest.py

WATCH = ["-w", "n[1-2]", "node-manager", "list", "--watch"]
CONFIG = 'version: 1\ncluster: {name: c, nodes: "n[1-2]"}\nscheduler: {kind: slurm}\n'


class Clock:
    """Time passes where somebody sleeps, and while nodes are asked; Ctrl-C comes in the last pause."""

    def __init__(self) -> None:
        self.now, self.sweep_s, self.sweeps, self.last = 100.0, 0.5, 0, 3
        self.slept: list[float] = []
        self.interrupted = False

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        if len(self.slept) == self.last:
            raise KeyboardInterrupt

    def ask_all(self, orders: Sequence[Order], *_: object, **__: object) -> tuple[Report, ...]:
        self.sweeps += 1
        self.now += self.sweep_s
        reports = tuple(Report(order.node, 0, 0) for order in orders)
        if self.interrupted:
            raise InterruptedRunError((reports[0]._replace(errors=(NodeError("interrupted", ""),)), reports[1]))
        return reports


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    it = Clock()
    monkeypatch.setattr(engine, "ask_all", it.ask_all)
    monkeypatch.setattr(listing.time, "sleep", it.sleep)
    monkeypatch.setattr(listing.time, "monotonic", lambda: it.now)
    monkeypatch.setattr(listing.time, "strftime", lambda _: "12:00:00")
    return it


def test_elsewhere_one_plain_table_is_printed_each_time(brctl: Brctl, clock: Clock) -> None:
    table = (
        "12:00:00  2 nodes asked in 0.5 s, every 5 s\n"
        "Node  State  GPUs  Worst  Model  Driver\n"
        "n1    up        -  ok     -      -\n"
        "n2    up        -  ok     -      -\n"
        "\n"
    )
    assert brctl(*WATCH) == (0, table * 3, "")
    assert (clock.sweeps, clock.slept) == (3, [4.5, 4.5, 4.5])


def test_one_node_is_no_nodes(brctl: Brctl, clock: Clock) -> None:
    assert "  1 node asked in 0.5 s, every 5 s\n" in brctl("-w", "n1", *WATCH[2:]).out


def test_sweeps_never_overlap(brctl: Brctl, clock: Clock) -> None:
    clock.sweep_s = 3
    result = brctl(*WATCH, "--interval", "2s")
    assert (result.code, clock.sweeps, clock.slept) == (0, 3, [0.0, 0.0, 0.0])
    assert "2 nodes asked in 3.0 s, every 2 s" in result.out


def test_json_is_a_document_each_time(brctl: Brctl, clock: Clock) -> None:
    clock.last = 2
    out = brctl(*WATCH, "-o", "json").out
    first, end = json.JSONDecoder().raw_decode(out)
    assert [row["node"] for row in first["nodes"]] == ["n1", "n2"]
    assert json.loads(out[end:]) == first


def test_ctrl_c_in_a_sweep_shows_no_half_table_and_is_0(brctl: Brctl, clock: Clock) -> None:
    clock.interrupted = True
    before = signal.getsignal(signal.SIGINT)
    assert brctl(*WATCH) == (0, "", "")
    assert signal.getsignal(signal.SIGINT) is before


def test_a_scheduler_that_is_silent_is_told_below_the_table(
    brctl: Brctl, clock: Clock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Silent:
        def states(self) -> None:
            raise CommandFailedError("scontrol is not installed here", "install it")

    (tmp_path / "cluster-config.yaml").write_text(CONFIG)
    monkeypatch.setattr(scheduler, "Slurm", Silent)
    clock.last = 1
    result = brctl(*WATCH)
    assert (result.code, result.err) == (0, "")
    assert result.out.endswith("NO ANSWER  scontrol is not installed here\n  do: install it\n\n")


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        (["-w", "n1", "node-manager", "list", "--interval", "5s"], "--interval says how often to --watch"),
        ([*WATCH, "--interval", "0.5s"], "--interval 0.5s: 1s at the least"),
        ([*WATCH, "--interval", "5"], "--interval 5: "),
        ([*WATCH, "-o", "yaml"], "--output yaml: this command has table, json"),
        ([*WATCH, "--sort", "wurst"], "there is no column 'wurst'"),
    ],
)
def test_what_cannot_be_watched_is_2(brctl: Brctl, clock: Clock, argv: list[str], error: str) -> None:
    result = brctl(*argv)
    assert (result.code, result.out, clock.sweeps) == (2, "", 0)
    assert error in result.err


@pytest.mark.process
def test_ctrl_c_ends_the_process_with_0(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "brctl", "--mock", "cpu-only", *WATCH, "--interval", "1s"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    child = subprocess.Popen(argv, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout
    for line in child.stdout:
        if line.startswith(b"n2 "):
            break
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=20)
    assert (child.returncode, err) == (0, b"")
