import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from brctl.cli import session
from brctl.node import deadline
from brctl.node.report import NodeError, Report

Brctl = Callable[..., Any]  # the fixture of conftest.py


LOST = "GPU-2aa0b602-a565-5ed9-b3cb-0f59a9438089"


def _report(out: str) -> Any:
    (report,) = json.loads(out)["reports"]
    return report


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What hangs is given up soon."""
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.5)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(
    ("name", "argv"),
    [
        ("show-dgx-h100", ["--mock", "dgx-h100", "node-manager", "show"]),
        ("show-gpu3-lost", ["--mock", "dgx-h100+gpu3-lost", "node-manager", "show"]),
        ("show-cpu-only-verbose", ["--mock", "cpu-only", "node-manager", "show", "-v"]),
        ("check-dgx-h100-verbose", ["--mock", "dgx-h100", "node-manager", "check", "-v"]),
        ("check-gpu3-lost", ["--mock", "dgx-h100+gpu3-lost", "node-manager", "check"]),
        ("check-no-library", ["--mock", "dgx-h100+no-library", "node-manager", "check"]),
    ],
)
def test_the_screens(look: Callable[..., None], name: str, argv: list[str], width: int) -> None:
    look(name, width, *argv)


def test_a_healthy_machine_is_clean(brctl: Brctl) -> None:
    result = brctl("--mock", "dgx-h100", "node-manager", "check", "-o", "json")
    assert (result.code, result.err) == (0, "")
    assert {finding["status"] for finding in _report(result.out)["findings"]} == {"pass", "n/a"}


def test_quiet_prints_nothing_where_nothing_calls(brctl: Brctl) -> None:
    assert brctl("-q", "--mock", "dgx-h100", "node-manager", "check") == (0, "", "")


def test_a_lost_gpu_is_named_and_the_others_are_whole(brctl: Brctl) -> None:
    result = brctl("--mock", "dgx-h100+gpu3-lost", "node-manager", "check", "-o", "json")
    assert (result.code, result.err) == (1, "")
    report = _report(result.out)
    (bad,) = (finding for finding in report["findings"] if finding["status"] not in ("pass", "n/a"))
    assert (bad["check"], bad["status"], bad["subject"]["id"]) == ("gpu-responding", "crit", LOST)
    assert f"GPU 3 (0000:5d:00.0, {LOST}) is lost" in bad["summary"]
    gpus = report["inventory"]["gpus"]
    assert [gpu["gpu_index"] for gpu in gpus] == list(range(8))
    assert [gpu["gpu_index"] for gpu in gpus if gpu["fault"]] == [3]
    assert all(len(gpu["links"]) == 18 and gpu["identity"]["vbios"] for gpu in gpus if not gpu["fault"])


def test_a_hung_gpu_is_3_and_its_call_is_named(brctl: Brctl, quick: None) -> None:
    result = brctl("--mock", "dgx-h100+gpu3-hang", "node-manager", "check", "-o", "json")
    assert result.code == 3
    (bad,) = (finding for finding in _report(result.out)["findings"] if finding["status"] not in ("pass", "n/a"))
    assert (bad["check"], bad["status"], bad["reason"]) == ("gpu-responding", "unknown", "hung")
    assert "nvmlDeviceGetUUID: did not return within 0.5 s" in bad["summary"]
    assert LOST in bad["summary"]


def test_show_of_a_hung_gpu_is_3_and_of_a_lost_one_0(brctl: Brctl, quick: None) -> None:
    hung = brctl("--mock", "dgx-h100+gpu3-hang", "node-manager", "show")
    lost = brctl("--mock", "dgx-h100+gpu3-lost", "node-manager", "show")
    assert (hung.code, lost.code) == (3, 0)
    assert "nvmlDeviceGetUUID: did not return within 0.5 s" in hung.out
    assert "nvmlDeviceGetHandleByIndex_v2: GPU is lost" in lost.out


@pytest.mark.parametrize(
    ("fault", "words"), [("no-library", "NVML Shared Library Not Found"), ("no-driver", "Driver Not Loaded")]
)
def test_without_library_or_driver_the_host_part_is_whole(brctl: Brctl, fault: str, words: str) -> None:
    result = brctl("--mock", f"dgx-h100+{fault}", "node-manager", "check", "-o", "json")
    report = _report(result.out)
    assert result.code == 1
    assert words in report["inventory"]["problems"][0]["message"]
    assert [f["check"] for f in report["findings"] if f["status"] == "crit"] == ["gpu-driver"]
    assert report["inventory"]["cpu"]["threads"] == 224
    assert len(report["inventory"]["nics"]) > 10


def test_unknown_for_another_reason_is_3_only_when_strict(brctl: Brctl) -> None:
    argv = ["--mock", "dgx-h100+no-library", "node-manager", "check", "-q"]
    assert brctl(*argv).code == 1
    assert brctl(*argv, "--strict").code == 3


def test_require_gpu(brctl: Brctl) -> None:
    assert brctl("--mock", "dgx-h100", "node-manager", "check", "--require-gpu").code == 0
    for command in ("show", "check"):
        assert brctl("--mock", "cpu-only", "node-manager", command).code == 0
        result = brctl("-q", "--mock", "cpu-only", "node-manager", command, "--require-gpu")
        assert result.code == 3
        assert result.err == "error: cpu001: no GPU answers, and --require-gpu was given\n"


CONFIG = """\
version: 1
cluster: {name: c, nodes: "gpu[001-002]", groups: {compute: {nodes: "gpu[001-002]", role: compute}}}
hardware: {compute: {accelerator: {count: 8, driver: "<570"}, nics: {interfaces: "ens*np*", count: 8}}}
"""


def test_the_config_of_this_node_is_compared(brctl: Brctl, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CONFIG)
    argv = ["--mock", "dgx-h100", "-c", "cluster.yaml", "node-manager", "check"]
    result = brctl(*argv)
    assert (result.code, result.err) == (1, "")
    assert "WARN    gpu-driver" in result.out
    assert "PASS    gpu-count" in result.out
    assert brctl(*argv, "--fail-on", "crit").code == 0
    assert brctl(*argv, "-w", "gpu001").code == 1


def test_the_config_decides_from_what_on_to_fail(brctl: Brctl, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CONFIG + "diagnose: {fail_on: crit}\n")
    argv = ["--mock", "dgx-h100", "-c", "cluster.yaml", "node-manager", "check"]
    assert brctl(*argv).code == 0
    assert brctl(*argv, "--fail-on", "warn").code == 1


def test_a_host_that_the_config_does_not_know_is_warned_of(brctl: Brctl, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CONFIG)
    argv = ["--mock", "cpu-only", "-c", "cluster.yaml", "node-manager", "check"]
    result = brctl(*argv)
    assert result.code == 0
    assert result.err == (
        "warning: cpu001: no node of cluster.yaml: only its cluster-wide values were used; --as NODE names this host\n"
    )
    assert brctl(*argv, "-q").err == result.err  # what is not looked at is not fine
    (report,) = json.loads(brctl(*argv, "-o", "json").out)["reports"]
    assert report["notes"] == [
        "no node of cluster.yaml: only its cluster-wide values were used; --as NODE names this host"
    ]
    assert brctl(*argv, "--as", "gpu2").err == (
        "error: --as gpu2: cluster.yaml has no such node\nhint: see cluster.nodes there\n"
    )
    assert brctl(*argv, "--as", "gpu002").code == 1  # declared 8 GPUs, has none


def test_a_broken_config_is_2_with_its_place(brctl: Brctl, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CONFIG.replace("hardware", "hardwear"))
    result = brctl("--mock", "dgx-h100", "-c", "cluster.yaml", "node-manager", "check")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: cluster.yaml:3:1: hardwear: ")
    assert "hardware" in result.err


def test_an_agent_that_fails_is_told_and_3(brctl: Brctl, monkeypatch: pytest.MonkeyPatch) -> None:
    report = Report("cpu001", 0, 0, errors=(NodeError("died", "the agent ended", "look there"),))
    monkeypatch.setattr(session.LocalAgent, "ask", lambda *_: report)
    for command in ("show", "check"):
        result = brctl("-q", "--mock", "cpu-only", "node-manager", command)
        assert (result.code, result.err) == (3, "error: cpu001: the agent ended\nhint: look there\n")
