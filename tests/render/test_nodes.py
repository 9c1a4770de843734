import io

import pytest
from rich.console import Console

from brctl.fleet.discover import Discovery, Said
from brctl.fleet.drain import Outcome, Result
from brctl.fleet.listing import Row
from brctl.render.nodes import discovery, outcomes, rows
from brctl.render.terminal import Terminal

HOSTILE = "\x1b[2J[red]x\u202e"
SHOWN = "\ufffd[2J[red]x\ufffd"
ROW = Row("gpu001", "up", None, 8, 0, "H100", "580", "ok", None)


class Screen(Terminal):
    def __init__(self, width: int = 100) -> None:
        self.console = Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False)

    @property
    def text(self) -> str:
        file = self.console.file
        assert isinstance(file, io.StringIO)
        return file.getvalue()


@pytest.fixture
def screen() -> Screen:
    return Screen()


def test_without_a_scheduler_there_is_no_column_of_it(screen: Screen) -> None:
    rows(screen, [ROW, ROW._replace(node="gpu002", gpus=7, gpus_faulty=1, worst="crit gpu-responding")])
    assert screen.text == (
        "Node    State  GPUs  Worst                Model  Driver\n"
        "gpu001  up        8  ok                   H100   580\n"
        "gpu002  up      7/8  crit gpu-responding  H100   580\n"
    )


def test_with_a_scheduler_its_states_and_reasons_are_shown(screen: Screen) -> None:
    drained = ROW._replace(scheduler="drained*", reason="brctl: x")
    silent = Row("gpu002", "refused", "absent", None, None, None, None, "unknown", None)
    rows(screen, [drained, silent])
    assert screen.text == (
        "Node    State    Scheduler  GPUs  Worst    Model  Driver  Reason\n"
        "gpu001  up       drained*      8  ok       H100   580     brctl: x\n"
        "gpu002  refused  absent        -  unknown  -      -       -\n"
    )


def test_on_a_narrow_terminal_the_worst_finding_wraps_in_its_column() -> None:
    narrow = Screen(40)
    rows(narrow, [ROW._replace(worst="unknown gpu-responding", mock="dgx-h100"), ROW._replace(node="gpu002")])
    assert narrow.text == (
        "gpu001:  mock machine dgx-h100\n"
        "Node    State  GPUs  Worst\n"
        "gpu001  up        8  unknown\n"
        "                     gpu-responding\n"
        "gpu002  up        8  ok\n"
        "not shown at 40 columns: Model, Driver\n"
    )


def test_no_rows_are_a_head(screen: Screen) -> None:
    rows(screen, [])
    assert screen.text.startswith("Node  State")


def test_what_was_done_and_what_to_do(screen: Screen) -> None:
    outcomes(screen, [Outcome("gpu001", Result.DRAINED, "empty"), Outcome("n1", Result.REFUSED, "no", "ask them")])
    assert screen.text == (
        "DRAINED    gpu001  empty\n"
        "REFUSED    n1      no\n"
        "                   do: ask them\n"
    )  # fmt: skip


def test_nothing_was_done(screen: Screen) -> None:
    outcomes(screen, [])
    assert screen.text == ""


def test_a_discovery(screen: Screen) -> None:
    sources = (
        Said("config", ("gpu001", "gpu002"), (), ()),
        Said("slurm", ("gpu001", "gpu003"), ("gpu002",), ("gpu003",)),
        Said("kubernetes", (), (), (), error="kubectl is not installed here"),
        Said("hosts:/x", ("gpu001",), (), (), passed_over=4),
    )
    diff = ("--- c", "+++ c", "@@ -1 +1 @@", "-nodes: a", "+nodes: b", " x: 1")
    discovery(screen, Discovery(sources, ("gpu001", "gpu003"), ("gpu002",), ("gpu003",), diff))
    assert screen.text == (
        "config      2 nodes\n"
        "slurm       2 nodes; missing: gpu002; unexpected: gpu003\n"
        "kubernetes  no answer: kubectl is not installed here\n"
        "hosts:/x    1 nodes; 4 other names passed over\n"
        "2 answer  gpu[001,003]\n"
        "1 no answer  gpu002\n"
        "\n"
        "--- c\n+++ c\n@@ -1 +1 @@\n-nodes: a\n+nodes: b\n x: 1\n"
        "\n"
        "nothing is changed: --yes writes it into the config\n"
    )


def test_an_applied_one_says_what_is_left_to_do(screen: Screen) -> None:
    discovery(screen, Discovery((Said("config", (), (), ()),), (), (), (), ("+x",), applied=True))
    assert "written; put the new nodes into groups" in screen.text


def test_nobody_s_text_reaches_the_terminal_as_it_is() -> None:
    screen = Screen(300)
    rows(screen, [Row("n", HOSTILE, HOSTILE, 1, 0, HOSTILE, HOSTILE, HOSTILE, HOSTILE)])
    outcomes(screen, [Outcome("n", Result.FAILED, HOSTILE, HOSTILE)])
    discovery(screen, Discovery((Said(HOSTILE, (), (), (), error=HOSTILE),), (), (), (), (HOSTILE,)))
    assert screen.text.count(SHOWN) == 11
    assert "\x1b" not in screen.text
    assert "\u202e" not in screen.text
