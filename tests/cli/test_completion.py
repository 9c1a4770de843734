"""Completion: what is offered. (That the shells put it on the line: test_shells.py.)"""

from collections.abc import Callable
from pathlib import Path

import pytest
import typer.main

from brctl.cli.app import app
from brctl.cli.shells import SHELLS, answer

CONFIG = """\
version: 1
cluster:
  name: c
  nodes: "gpu[001-003],login"
# not indented
  groups:
    compute: {nodes: "gpu[001-003]", role: compute}
    login: {nodes: login}
tune: {network: {mtu: 9000}}
"""
CHECK = "brctl node-manager check "

Complete = Callable[..., list[str]]


@pytest.fixture
def complete(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Complete:
    """What zsh and fish are told of a line, in a folder with a config: the lines without what they mean."""
    monkeypatch.chdir(tmp_path)
    Path("cluster-config.yaml").write_text(CONFIG)

    def ask(line: str, *argv: str) -> list[str]:
        monkeypatch.setenv("_BRCTL_LINE", line)
        answer(typer.main.get_command(app), argv, "complete_zsh")
        out, err = capsys.readouterr()
        assert err == ""
        return [line.partition("\t")[0] for line in out.splitlines()]

    return ask


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("brctl --mock dgx-h100 -q no", ["node-manager"]),
        ("brctl config ", ["validate", "show", "init", "explain", "schema"]),
        (CHECK + "--fail", ["--fail-on"]),
        (CHECK + "--fail-on ", ["info", "warn", "crit"]),
        (CHECK + "--fail-on=w", ["--fail-on=warn"]),
        (CHECK + "-o ", ["table", "json", "yaml"]),
        ("brctl diagnose symptom slow-", ["slow-comm", "slow-node"]),
        ("brctl diagnose explain symp", ["symptom"]),
        ("brctl --output j", ["json"]),
        ("brctl monitor -o ", ["live", "table", "json", "jsonl", "csv", "prometheus"]),
        ("brctl monitor --listen x -o j", ["json", "jsonl"]),
        ("brctl monitor release -o ", ["table", "json", "yaml"]),
        (CHECK + "--timeout ", []),
        (CHECK, []),
    ],
)
def test_words(complete: Complete, line: str, words: list[str]) -> None:
    assert complete(line) == words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--sort wo", ["worst"]),
        ("--sort=dr", ["--sort=driver"]),
        ("--filter sta", ["state="]),
        ("--filter state=", ["state=up"]),
        ("--filter worst!=", ["worst!=ok", "worst!=unknown"]),
        ("--filter=worst=o", ["--filter=worst=ok"]),
        ("--filter model=", []),
    ],
)
def test_columns_and_filters(complete: Complete, line: str, words: list[str]) -> None:
    assert complete(f"brctl node-manager list {line}") == words


def test_groups_of_commands(complete: Complete) -> None:
    assert {"node-manager", "config"} <= set(complete("brctl "))


def test_common_options_are_offered_in_both_places(complete: Complete) -> None:
    for line in ("brctl --", "brctl node-manager --", CHECK + "--"):
        assert {"--config", "--nodes", "--as", "--mock", "--output", "--debug", "--help"} <= set(complete(line))


@pytest.mark.parametrize("typed", ["--config ", "-c ", "-c x", "--config=x"])
def test_files_are_left_to_the_shell(complete: Complete, typed: str) -> None:
    assert complete(f"brctl {typed}") == [":files"]


@pytest.mark.parametrize("line", ["brctl config validate ", "brctl config init my", "brctl --mock ./my"])
def test_files_of_arguments_are_too(complete: Complete, line: str) -> None:
    assert complete(line) == [":files"]


EVERYTHING = ["gpu001", "gpu002", "gpu003", "login", "@all", "@compute", "@login"]


@pytest.mark.parametrize(
    ("typed", "sets"),
    [
        ("", EVERYTHING),
        ("gpu", ["gpu001", "gpu002", "gpu003"]),
        ("@", ["@all", "@compute", "@login"]),
        ("gpu001,lo", ["gpu001,login"]),
        ("@compute!gpu001,gpu002,@l", ["@compute!gpu001,gpu002,@login"]),
        ("'gpu[001-003]!gpu003", ["gpu[001-003]!gpu003"]),
        ('"gpu[001-003]&@c', ["gpu[001-003]&@compute"]),
        ("gpu\\[001-003\\]^lo", ["gpu[001-003]^login"]),
        ("gpu[001,00", []),
        ("bogus", []),
    ],
)
def test_node_sets(complete: Complete, typed: str, sets: list[str]) -> None:
    assert complete(f"{CHECK}--nodes {typed}") == sets
    assert complete(f"{CHECK}-w {typed}") == sets
    if not typed.startswith(("'", '"')):
        assert complete(f"{CHECK}--nodes={typed}") == [f"--nodes={each}" for each in sets]


def test_this_host_is_one_node(complete: Complete) -> None:
    assert complete(CHECK + "--as ") == ["gpu001", "gpu002", "gpu003", "login"]


def test_the_config_is_the_one_that_commands_would_find(complete: Complete, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("named", "variable", "home"):
        Path(f"{name}.yaml").write_text(f"{{version: 1, cluster: {{name: c, nodes: {name}1}}}}\n")
    monkeypatch.setenv("HOME", str(Path.cwd()))
    assert complete("brctl --config named.yaml node-manager check --as ") == ["named1"]
    assert complete(CHECK + "-c ~/home.yaml --as ") == ["home1"]
    monkeypatch.setenv("BRCTL_CONFIG", "variable.yaml")
    assert complete(CHECK + "--as ") == ["variable1"]


@pytest.mark.parametrize(
    "text", ["", "cluster: [", "cluster: 1\n", "cluster: {nodes: 7}\n", 'cluster: {nodes: "gpu[1-"}\n', "x: 1\n", "\t"]
)
def test_a_broken_config_completes_to_nothing(complete: Complete, text: str) -> None:
    Path("cluster-config.yaml").write_text(text)
    assert complete(CHECK + "--nodes ") == []


def test_without_a_config_there_are_no_nodes(complete: Complete) -> None:
    Path("cluster-config.yaml").unlink()
    assert complete(CHECK + "--nodes ") == []
    assert complete(CHECK + "--config none.yaml --nodes ") == []


def test_what_is_wrong_elsewhere_hides_no_nodes(complete: Complete) -> None:
    Path("cluster-config.yaml").write_text(CONFIG + "monitor: {interval: [\n")
    assert complete(CHECK + "--nodes ") == EVERYTHING


def test_a_name_that_would_act_on_the_terminal_is_not_offered(complete: Complete) -> None:
    Path("cluster-config.yaml").write_text(CONFIG.replace("    login:", '    "x\\e[2J\\nlogin":'))
    assert complete(CHECK + "--nodes @") == ["@all", "@compute"]


def test_mocked_machines(complete: Complete) -> None:
    assert {"cpu-only", "dgx-h100"} <= set(complete("brctl --mock "))
    assert complete("brctl --mock=dgx-h") == ["--mock=dgx-h100"]


def test_faults_one_level_at_a_time(complete: Complete) -> None:
    first = complete("brctl --mock dgx-h100+")
    assert [word for word in first if "gpu" in word] == [f"dgx-h100+gpu{i}-" for i in range(8)]
    assert {"dgx-h100+nic7-", "dgx-h100+no-driver", "dgx-h100+no-library"} <= set(first)
    assert complete("brctl --mock dgx-h100+gpu3-lo") == ["dgx-h100+gpu3-lost"]
    assert complete("brctl --mock dgx-h100+gpu3-lost+nic1-dow") == ["dgx-h100+gpu3-lost+nic1-down"]
    assert complete("brctl --mock dgx-h100+gpu3-un") == ["dgx-h100+gpu3-unsupported:"]
    function = "dgx-h100+gpu3-unsupported:nvmlDeviceGetPcieThroughput"
    assert complete(f"brctl --mock {function[:-8]}") == [function]


def test_faults_are_those_that_the_machine_can_have(complete: Complete) -> None:
    assert [word for word in complete("brctl --mock cpu-only+") if "gpu" in word or "driver" in word] == []
    assert complete("brctl --mock dgx-h100+gpu8-lo") == []
    assert complete("brctl --mock no-such+") == []


SECTIONS = ["cluster.", "transport.", "hardware.", "tune.", "comm.", "monitor.", "alerting.", "diagnose."]


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        ("", ["version", *SECTIONS, "scheduler.", "maintenance.", "topology.", "overrides."]),
        ("tune.net", ["tune.network."]),
        ("tune.network.", ["tune.network.interfaces", "tune.network.mtu"]),
        ("tune.sysctl.net.core.r", ["tune.sysctl.net.core.rmem_max"]),
        ("tune.sysctl.vm.swap", []),
        ("hardware.", ["hardware.NAME."]),
        ("hardware.compute.cpu.s", ["hardware.compute.cpu.sockets"]),
        ("overrides.no", ["overrides.nodes"]),
        ("diagnose.f", ["diagnose.fail_on"]),
        ("diagnose.checks.gpu-mem", ["diagnose.checks.gpu-memory."]),
        ("diagnose.checks.gpu-memory.", ["diagnose.checks.gpu-memory.tolerance"]),
        ("overrides.diagnose.checks.gpu-mem", ["overrides.diagnose.checks.gpu-memory."]),
        ("no.such.key", []),
    ],
)
def test_keys(complete: Complete, typed: str, keys: list[str]) -> None:
    assert complete(f"brctl config explain {typed}") == keys


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("tune plan --only gpu-", ["gpu-persistence", "gpu-power-limit", "gpu-clocks"]),
        ("tune apply --skip nic", ["nic-mtu"]),
        ("tune explain p", ["pfc", "pcie-read-size"]),
        ("tune plan --set net", ["network."]),
        ("tune plan --set network.m", ["network.mtu="]),
        ("tune plan --set sysctl.net.core.r", ["sysctl.net.core.rmem_max="]),
        ("tune plan --set tune.network.m", ["tune.network.mtu="]),
    ],
)
def test_settings_and_their_keys(complete: Complete, typed: str, words: list[str]) -> None:
    assert complete(f"brctl {typed}") == words


def test_the_other_entry_point(complete: Complete) -> None:
    assert complete("br-node-manager --fail-on w", "node-manager", "check") == ["warn"]
    assert complete("br-node-manager --config cluster-config.yaml --as l", "node-manager", "check") == ["login"]


def test_what_it_means_is_told_to_those_that_show_it(
    complete: Complete, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = {}
    monkeypatch.setenv("_BRCTL_LINE", CHECK + "--require")
    monkeypatch.setenv("_BRCTL_TEXT", "--require")
    for shell in SHELLS:
        assert answer(typer.main.get_command(app), (), f"complete_{shell}") == 0
        lines[shell] = capsys.readouterr().out
    told = "--require-gpu\tExit 3 where no GPU answers.\n"
    assert lines == {"bash": "--require-gpu\n", "zsh": told, "fish": told}


@pytest.mark.parametrize("instruction", ["complete_tcsh", "1", "complete_zsh"])
def test_what_cannot_be_answered_is_silent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], instruction: str
) -> None:
    monkeypatch.delenv("_BRCTL_LINE", raising=False)
    assert answer(typer.main.get_command(app), (), instruction) == 1
    assert capsys.readouterr() == ("", "")
