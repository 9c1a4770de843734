"""`brctl diagnose symptom`: what causes it, on one node and on many; the manual's cards."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest

from brctl.node import actions, deadline
from brctl.node.diagnose import ranking
from brctl.node.diagnose.manual import SYMPTOMS, card
from brctl.node.report import NodeError, Report
from brctl.render.symptoms import answered
from brctl.render.terminal import Terminal

Brctl = Callable[..., Any]  # the fixture of conftest.py
ROOT = Path(__file__).parents[2]
SYMPTOM = ("diagnose", "symptom")


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Between the two looks no time passes; what would have been waited is noted."""
    waited: list[float] = []
    clock = SimpleNamespace(time=time.time, monotonic=time.monotonic, sleep=waited.append)
    monkeypatch.setattr(actions, "time", clock)
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 5.0)
    return waited


@pytest.mark.parametrize("width", [40, 100])
@pytest.mark.parametrize(
    ("name", "argv"),
    [
        ("symptom-no-cause", ["nan-loss", "--mock", "dgx-h100"]),
        ("symptom-likely", ["slow-node", "--mock", "dgx-h100+gpu3-thermal+gpu5-no-persistence"]),
        ("symptom-pfc", ["mpi-timeout", "--mock", "dgx-h100+nic1-pfc-storm"]),
        ("symptom-abstains", ["gpu-lost", "--mock", "dgx-h100+no-kmsg"]),
        ("symptom-explained", ["nan-loss"]),
    ],
)
def test_the_screens(look: Callable[..., None], name: str, argv: list[str], width: int) -> None:
    command = "explain" if name.endswith("explained") else "symptom"
    look(name, width, "diagnose", command, *argv, shown=_at_60)


def _at_60(out: str) -> str:
    """A share of true time, near 60 %."""
    return re.sub("(5[5-9]|6[0-9]) %", "60 %", out)


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["nan-loss", "--mock", "dgx-h100"], 0),
        (["nan-loss", "--mock", "dgx-h100+gpu3-ecc-dbe"], 1),
        (["nan-loss", "--mock", "dgx-h100+gpu3-ecc-dbe", "--fail-on", "crit"], 0),
        (["gpu-lost", "--mock", "dgx-h100+gpu3-lost", "--fail-on", "crit"], 1),
        (["gpu-lost", "--mock", "dgx-h100+no-kmsg"], 0),
        (["gpu-lost", "--mock", "dgx-h100+no-kmsg", "--strict"], 3),
        (["gpu-lost", "--mock", "dgx-h100+gpu3-hang"], 3),
        (["slow-node", "--mock", "dgx-h100+gpu3-ecc-dbe", "-o", "nagios"], 1),
    ],
)
def test_how_it_ends(brctl: Brctl, argv: list[str], code: int) -> None:
    assert brctl(*SYMPTOM, *argv).code == code


def test_quiet_and_verbose(brctl: Brctl) -> None:
    assert brctl(*SYMPTOM, "nan-loss", "--mock", "dgx-h100", "-q").out == ""
    quiet = brctl(*SYMPTOM, "nan-loss", "--mock", "dgx-h100+gpu3-ecc-dbe", "-q").out
    assert "LIKELY     memory-errors" in quiet
    assert "RULED OUT" not in quiet
    verbose = brctl(*SYMPTOM, "nan-loss", "--mock", "dgx-h100", "-v").out
    assert "gpu-ecc-volatile -1.5: 8 of 8 GPUs: no uncorrected ECC error since the driver was loaded" in verbose
    assert "gpu-retired-pages: no GPU tells its retired pages" in verbose


def test_many_gpus_are_told_in_few_lines(brctl: Brctl) -> None:
    faults = "+".join(f"gpu{n}-remap-pending" for n in range(6))
    out = brctl(*SYMPTOM, "nan-loss", "--mock", f"dgx-h100+{faults}").out
    assert out.count("  for      gpu-remap: ") == 4
    assert "  for      and 2 more\n" in out


@pytest.mark.parametrize("quiet", [False, True])
def test_a_node_that_does_not_answer(capsys: pytest.CaptureFixture[str], quiet: bool) -> None:
    silent = Report("gpu009", 0, 0, errors=(NodeError("refused", "connection refused"),))
    it = card("nan-loss")
    answered(Terminal(), silent, ranking.answer(it, silent), it, quiet, verbose=False)
    assert capsys.readouterr().out == "gpu009: NO ANSWER  refused: connection refused\n"


def test_json(brctl: Brctl) -> None:
    result = brctl(*SYMPTOM, "slow-node", "--mock", "dgx-h100+gpu3-thermal", "-o", "json", "--level", "full")
    plain = json.loads(result.out)
    jsonschema.validate(plain, json.loads((ROOT / "docs" / "report.schema.json").read_text()))
    assert plain["command"] == "diagnose symptom slow-node"
    (answer,) = plain["answers"]
    assert (answer["node"], answer["conclusion"], answer["status"]) == ("gpu001", "found", "crit")
    first = answer["causes"][0]
    assert (first["id"], first["verdict"]) == ("heat", "likely")
    assert [one["check"] for one in first["speaks_for"]] == ["gpu-temperature"]
    assert first["explains"] == ["gpu-throttle: GPU 3: the hardware slows it down for heat"]
    assert plain["reports"][0]["findings"][0]["check"] == "gpu-temperature"
    assert "answers:" in brctl(*SYMPTOM, "slow-node", "--mock", "dgx-h100", "-o", "yaml").out


def test_nagios_and_markdown(brctl: Brctl) -> None:
    argv = (*SYMPTOM, "gpu-lost", "--mock", "dgx-h100+gpu3-lost", "-o")
    assert brctl(*argv, "nagios").out.startswith("BRCTL CRITICAL - gpu001: a GPU has fallen off the PCI bus: GPU 3")
    assert "off-the-bus" in brctl(*argv, "markdown").out


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        (["symptom", "nan-los"], "error: no such symptom: nan-los\nhint: did you mean nan-loss?"),
        (["symptom", "nan-loss", "--interval", "5s"], "error: --interval belongs to --level full\n"),
        (["explain", "slow-nod"], "error: no such check: slow-nod\nhint: did you mean slow-node?"),
    ],
)
def test_errors(brctl: Brctl, argv: list[str], error: str) -> None:
    result = brctl("diagnose", *argv)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(error)


def test_the_manual_is_listed_and_explained(brctl: Brctl) -> None:
    lines = brctl("diagnose", "list").out.splitlines()
    assert [line.split()[0] for line in lines[-len(SYMPTOMS) :]] == list(SYMPTOMS)
    plain = json.loads(brctl("diagnose", "list", "-o", "json").out)
    assert [each["symptom"] for each in plain["symptoms"]] == list(SYMPTOMS)
    plain = json.loads(brctl("diagnose", "explain", "nan-loss", "-o", "json").out)
    assert plain["symptom"]["causes"][0]["facts"][0]["weight"] == 6
    assert brctl("diagnose", "explain", "gpu-memory").out.startswith("gpu-memory  Every GPU has the declared memory.")
    assert brctl("diagnose", "explain", "symptom", "gpu-memory").out.startswith("gpu-memory  A GPU has too little")


@pytest.mark.process
def test_many_nodes_are_folded(brctl: Brctl) -> None:
    mocks = "dgx-h100,gpu002=dgx-h100+gpu3-ecc-dbe"
    result = brctl(*SYMPTOM, "nan-loss", "--mock", mocks, "-w", "gpu[001-003]")
    assert result.code == 1
    lines = result.out.splitlines()
    assert "gpu002: WARN  GPU memory makes errors: GPU 3: 1 uncorrected ECC error since the driver was loaded" in lines
    assert "gpu[001,003]: ok" in lines
    assert re.fullmatch("3 nodes:  1 warn  2 ok", lines[-1])
