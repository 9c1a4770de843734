"""`brctl diagnose run`: what it looks at, what it prints, how it ends."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from brctl.node import actions, agent, deadline
from brctl.node.diagnose import engine

Brctl = Callable[..., Any]  # the fixture of conftest.py
RUN = ("diagnose", "run")


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Between the two looks no time passes; what would have been waited is noted."""
    waited: list[float] = []
    clock = SimpleNamespace(time=time.time, monotonic=time.monotonic, sleep=waited.append)
    monkeypatch.setattr(actions, "time", clock)
    return waited


@pytest.mark.parametrize("width", [40, 100])
@pytest.mark.parametrize(
    ("name", "argv"),
    [
        ("diagnose-healthy", ["--mock", "dgx-h100"]),
        ("diagnose-thermal", ["--mock", "dgx-h100+gpu3-thermal"]),
        ("diagnose-remap", ["--mock", "dgx-h100+gpu3-remap-pending+gpu5-pcie-x4"]),
        ("diagnose-no-library", ["--mock", "dgx-h100+no-library", "--only", "gpu"]),
    ],
)
def test_the_screens(look: Callable[..., None], name: str, argv: list[str], width: int) -> None:
    # Checks are added all the time: their number is no business of these screens.
    look(name, width, *RUN, *argv, shown=lambda out: re.sub(r"[0-9]+ (checks pass|pass|n/a|more checks)", r"N \1", out))


def test_a_healthy_machine(brctl: Brctl, no_waiting: list[float]) -> None:
    result = brctl(*RUN, "--mock", "dgx-h100")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("gpu001: OK  ")
    assert no_waiting == [0.1]
    assert brctl(*RUN, "--mock", "dgx-h100", "-q").out == ""


def test_the_json_has_every_check_and_what_follows_from_what(brctl: Brctl) -> None:
    result = brctl(*RUN, "--mock", "dgx-h100+gpu3-thermal", "-o", "json")
    assert result.code == 1
    plain = json.loads(result.out)
    assert plain["command"] == "diagnose run"
    (report,) = plain["reports"]
    assert {finding["check"] for finding in report["findings"]} == {check.id for check in engine.registry()}
    first, second = report["findings"][:2]
    assert (first["check"], first["status"], first["cause"]) == ("gpu-temperature", "crit", None)
    (follows,) = [finding for finding in report["findings"] if finding["cause"]]
    assert (follows["check"], follows["status"]) == ("gpu-throttle", "info")
    assert follows["cause"] == {"check": "gpu-temperature", "subject": first["subject"]}
    assert second["status"] in ("info", "pass")


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["--mock", "dgx-h100+gpu3-remap-pending"], 1),
        (["--mock", "dgx-h100+gpu3-remap-pending", "--fail-on", "crit"], 0),
        (["--mock", "dgx-h100+gpu3-remap-failure", "--fail-on", "crit"], 1),
        (["--mock", "dgx-h100+gpu3-no-permission"], 0),
        (["--mock", "dgx-h100+gpu3-no-permission", "--strict"], 3),
        (["--mock", "dgx-h100+gpu3-hang"], 3),
    ],
)
def test_how_it_ends(brctl: Brctl, argv: list[str], code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if "hang" in argv[1]:
        monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.5)
    assert brctl(*RUN, *argv).code == code


def _checks(result: Any) -> set[str]:
    return {finding["check"] for finding in json.loads(result.out)["reports"][0]["findings"]}


def test_some_checks_alone(brctl: Brctl) -> None:
    argv = (*RUN, "--mock", "dgx-h100", "-o", "json")
    assert _checks(brctl(*argv, "--only", "gpu-remap,gpu-sram", "--only", "nic-mtu")) == {
        "gpu-remap",
        "gpu-sram",
        "nic-mtu",
    }
    network = {check.id for check in engine.registry() if check.group == "network"}
    assert _checks(brctl(*argv, "--only", "network")) == network
    assert _checks(brctl(*argv, "--only", "network", "--skip", "nic-mtu")) == network - {"nic-mtu"}
    everything = {check.id for check in engine.registry()}
    assert _checks(brctl(*argv, "--skip", "network")) == everything - network


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        (["--only", "gpu-remaps"], "error: --only gpu-remaps: no such check or group\nhint: did you mean gpu-remap?\n"),
        (["--skip", "gpus"], "error: --skip gpus: no such check or group\nhint: did you mean gpu?\n"),
        (["--only", "gpu", "--skip", "gpu"], "error: --only and --skip leave no check to run\n"),
        (
            ["--interval", "5s"],
            "error: --interval belongs to --level full\nhint: the level quick looks twice 100 ms apart\n",
        ),
        (["--level", "full", "--interval", "0s"], "error: --interval 0s: 0s is out of range\nhint: more than 0: 5s\n"),
        (["--level", "full", "--interval", "2d"], "error: --interval 2d: at most 24h\n"),
        (["--level", "full", "--interval", "5"], "error: --interval 5: 5 has no unit\n"),
        (["--baseline", "none.json"], "error: cannot read none.json: No such file or directory\n"),
        (["-o", "xml"], "error: --output xml: this command has table, json, yaml, nagios, markdown\n"),
    ],
)
def test_what_is_refused(brctl: Brctl, argv: list[str], error: str) -> None:
    result = brctl(*RUN, "--mock", "dgx-h100", *argv)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(error)


def test_the_level_full_waits_for_the_interval(brctl: Brctl, no_waiting: list[float]) -> None:
    assert brctl(*RUN, "--mock", "cpu-only", "--level", "full").code == 0
    assert brctl(*RUN, "--mock", "cpu-only", "--level", "full", "--interval", "2m").code == 0
    assert no_waiting == [5.0, 120.0]


@pytest.fixture
def baseline(brctl: Brctl, tmp_path: Path) -> Path:
    """A run of ten minutes ago, in which GPU 3 had counted no uncorrected errors."""
    plain = json.loads(brctl(*RUN, "--mock", "dgx-h100", "-o", "json").out)
    for gpu in plain["reports"][0]["inventory"]["gpus"]:
        gpu["health"]["read_at_s"] -= 600
    file = tmp_path / "baseline.json"
    file.write_text(json.dumps(plain))
    return file


def test_against_a_baseline(brctl: Brctl, baseline: Path) -> None:
    argv = (*RUN, "--mock", "dgx-h100+gpu3-ecc-dbe", "-o", "json")
    (before,) = json.loads(brctl(*argv).out)["reports"]
    (after,) = json.loads(brctl(*argv, "--baseline", str(baseline)).out)["reports"]
    assert before["findings"][0]["status"] == "warn"
    first = after["findings"][0]
    assert (first["check"], first["status"]) == ("gpu-ecc-volatile", "crit")
    assert first["evidence"][1]["value"] == "+1 in 10 min, since the baseline"
    assert after["notes"] == []


def test_a_baseline_of_another_boot_is_not_used(brctl: Brctl, baseline: Path) -> None:
    plain = json.loads(baseline.read_text())
    plain["reports"][0]["inventory"]["kernel"]["boot_id"] = "another"
    baseline.write_text(json.dumps(plain))
    result = brctl(*RUN, "--mock", "dgx-h100+gpu3-ecc-dbe", "--baseline", str(baseline))
    assert "GPU 3: 1 uncorrected ECC error" in result.out
    assert "WARN" in result.out
    assert result.err == (
        "warning: gpu001: the baseline is not used: the machine was started anew since, or does not tell\n"
    )


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("no json", "is no output of brctl in JSON"),
        ("[]", "is no output of brctl in JSON"),
        ('{"reports": [{"node": 1}]}', "is of another version of brctl: Report"),
    ],
)
def test_a_file_that_is_no_baseline(brctl: Brctl, tmp_path: Path, text: str, error: str) -> None:
    (tmp_path / "b.json").write_text(text)
    result = brctl(*RUN, "--mock", "dgx-h100", "--baseline", "b.json")
    assert (result.code, result.out) == (2, "")
    assert error in result.err
    assert "hint: --baseline takes what `brctl diagnose run -o json` wrote" in result.err


@pytest.mark.parametrize(
    ("machine", "code", "first"),
    [
        ("dgx-h100", 0, "BRCTL OK - gpu001: "),
        ("dgx-h100+gpu3-remap-pending", 1, "BRCTL WARNING - gpu001: GPU 3: a row of its memory waits"),
        ("dgx-h100+gpu3-remap-failure", 2, "BRCTL CRITICAL - gpu001: GPU 3: a row of its memory could"),
        ("dgx-h100+gpu3-no-permission", 3, "BRCTL UNKNOWN - gpu001: GPU 3 "),
        ("dgx-h100+gpu3-no-permission+gpu4-remap-failure", 2, "BRCTL CRITICAL - gpu001: GPU 4: a row"),
    ],
)
def test_as_a_monitoring_plugin(brctl: Brctl, machine: str, code: int, first: str) -> None:
    result = brctl(*RUN, "--mock", machine, "-o", "nagios")
    line = result.out.splitlines()[0]
    assert result.code == code
    assert line.startswith(first)
    assert line.count("|") == 1
    assert line.endswith(" no_answer=0")


def test_markdown_for_a_ticket(brctl: Brctl) -> None:
    lines = brctl(*RUN, "--mock", "dgx-h100+gpu3-thermal", "-o", "markdown").out.splitlines()
    assert lines[0] == "## gpu001: CRIT"
    assert "### CRIT gpu-temperature" in lines
    assert "- margin: `-3 C` (nvmlDeviceGetMarginTemperature)" in lines
    assert "- then gpu-throttle: GPU 3: the hardware slows it down for heat" in lines


@pytest.fixture
def two_nodes(brctl: Brctl, monkeypatch: pytest.MonkeyPatch) -> Brctl:
    """The command over two nodes, each mocked in this process."""
    from brctl.cli.fleet import FleetSession
    from brctl.mock.machines import load

    def ask(run: FleetSession, action: str, meanwhile: Any, adapt: Any) -> Any:
        meanwhile()
        requests = [(adapt(target.request(action)), target.mock or "") for target in run.targets]
        return tuple(agent.answer(load(mock, request.node), request) for request, mock in requests)

    monkeypatch.setattr(FleetSession, "ask", ask)

    def call(*argv: str) -> Any:
        return brctl(*RUN, "-w", "gpu[001-002]", "--mock", "dgx-h100,gpu002=dgx-h100+gpu3-thermal", *argv)

    return call


def test_many_nodes_begin_each_with_a_verdict(two_nodes: Brctl) -> None:
    result = two_nodes()
    assert result.code == 1
    lines = result.out.splitlines()
    assert lines[2:4] == ["", "gpu002: CRIT  GPU 3: hot: 3 C past its limit"]
    assert lines[-2:] == ["gpu001: ok", "2 nodes:  1 crit  1 ok"]


def test_node_against_fleet_only_where_asked_for(two_nodes: Brctl) -> None:
    def checks(*argv: str) -> set[str]:
        reports = json.loads(two_nodes("-o", "json", *argv).out)["reports"]
        return {finding["check"] for report in reports for finding in report["findings"]}

    assert checks("--only", "gpu-sram") == {"gpu-sram"}
    assert checks("--only", "gpu-vbios") == {"gpu-vbios", "fleet-gpu-vbios"}
    assert "fleet-kernel" in checks()


def test_a_node_that_the_baseline_lacks(two_nodes: Brctl, baseline: Path) -> None:
    result = two_nodes("--baseline", str(baseline))
    assert result.err == "warning: the baseline has no gpu002\n"


def test_who_waits_long_at_a_terminal_is_told(brctl: Brctl, monkeypatch: pytest.MonkeyPatch) -> None:
    from brctl.cli import diagnose_run

    monkeypatch.setattr(diagnose_run, "sys", SimpleNamespace(stderr=SimpleNamespace(isatty=lambda: True)))
    result = brctl(*RUN, "--mock", "cpu-only", "--level", "full", "--interval", "30s")
    assert result.err == "the second look is 30 s after the first\n"
    assert brctl(*RUN, "--mock", "cpu-only").err == ""
