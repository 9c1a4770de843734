"""The options that every command has."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from brctl.render.data import dump

Brctl = Callable[..., Any]  # the fixture of conftest.py


def test_common_options_stand_before_the_group_or_after_the_command(brctl: Brctl) -> None:
    before = brctl("--mock", "cpu-only", "-o", "json", "--as", "a", "node-manager", "check")
    after = brctl("node-manager", "check", "--mock", "cpu-only", "-o", "json", "--as", "a")
    between = brctl("node-manager", "--mock", "cpu-only", "check", "-o", "json", "--as", "a")
    for result in (before, after, between):
        assert result.code == 0
        (report,) = json.loads(result.out)["reports"]
        assert (report["node"], report["mock"]["machine"]) == ("a", "cpu-only")


def test_what_stands_nearer_to_the_command_wins(brctl: Brctl) -> None:
    result = brctl("-o", "json", "--mock", "nowhere", "node-manager", "check", "-o", "yaml", "--mock", "cpu-only")
    assert result.code == 0
    assert result.out.startswith("schema_version: 1\n")


def test_the_mock_may_stand_in_the_environment(brctl: Brctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRCTL_MOCK", "cpu-only")
    assert "mock machine cpu-only" in brctl("node-manager", "check").out
    assert "mock machine dgx-h100" in brctl("node-manager", "check", "--mock", "dgx-h100").out


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        (["-o", "csv"], "error: --output csv: this command has table, json, yaml\n"),
        (["--timeout", "5"], "error: --timeout 5: 5 has no unit\n"),
        (["--timeout", "soon"], "error: --timeout soon: 'soon' is no duration\n"),
        (["--nodes", "gpu[001-"], "error: --nodes gpu[001-: not a node set: '[' is not closed\n"),
        (["--nodes", ""], "error: --nodes is empty\n"),
        (["--nodes", "@nogroup"], "error: --nodes @nogroup: "),
        (["--nodes", "@all"], "error: --nodes @all: a group or wildcard means nothing here: "),
        (["--nodes", "gpu[5-1]"], "error: --nodes gpu[5-1]: not a node set: "),
        (["--nodes", "n[1-1000000000]"], "error: --nodes n[1-1000000000]: more than 16384 nodes\n"),
        (["-f", "0"], "error: --fanout 0: 1 to 4096 nodes at a time\n"),
        (["-f", "-1"], "error: --fanout -1: 1 to 4096 nodes at a time\n"),
        (["--nodes", "gpu[001-004]", "--fanout", "0"], "error: --fanout 0: 1 to 4096 nodes at a time\n"),
        (["--nodes", "gpu[001-004]", "--fanout", "4097"], "error: --fanout 4097: 1 to 4096 nodes at a time\n"),
        (["--as", "-x"], "error: --as -x: no node name: letters, digits, '.', '_' and '-' are allowed\n"),
        (["--as", "x\udcff"], "error: --as x"),
        (["--as", "a\nb"], "error: --as a\N{REPLACEMENT CHARACTER}b: no node name: "),
        (["--fail-on", "never"], "error: Invalid value for '--fail-on': 'never' is not one of"),
        (["--bogus"], "error: No such option: --bogus"),
        (["surplus"], "error: Got unexpected extra argument"),
    ],
)
def test_wrong_usage_is_one_error_and_2(brctl: Brctl, argv: list[str], error: str) -> None:
    result = brctl("--mock", "cpu-only", "node-manager", "check", *argv)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(error)
    assert result.err.count("error:") == 1


@pytest.mark.parametrize(
    "argv",
    [
        ("--mock", "", "tune", "apply", "--yes"),
        ("--mock=", "node-manager", "check"),
        ("node-manager", "--mock", "", "check"),
        ("--mock", "cpu-only", "node-manager", "check", "--config", ""),
        ("--mock", "cpu-only", "node-manager", "check", "--as", ""),
        ("--mock", "cpu-only", "node-manager", "check", "--timeout", ""),
        ("--mock", "cpu-only", "diagnose", "run", "--only", "gpu", "--only", ""),
        ("--mock", "cpu-only", "diagnose", "run", "--level", "full", "--interval", ""),
        ("--mock", "cpu-only", "diagnose", "run", "--baseline", ""),
        ("--mock", "cpu-only", "monitor", "--for", ""),
        ("diagnose", "comm", "--from-log", ""),
        ("diagnose", "log", ""),
        ("monitor", "alerts", "test", ""),
        ("config", "validate", ""),
    ],
)
def test_an_empty_value_is_no_option_left_out(
    brctl: Brctl, monkeypatch: pytest.MonkeyPatch, argv: tuple[str, ...]
) -> None:
    def agent(*_: object) -> None:
        raise AssertionError("a machine is asked")

    monkeypatch.setattr("brctl.cli.session.LocalAgent", agent)
    result = brctl(*argv)
    assert (result.code, result.out) == (2, "")
    assert result.err.partition("\n")[0].endswith(" is empty")


def test_an_empty_variable_of_the_environment_is_not_set(brctl: Brctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRCTL_CONFIG", "")
    monkeypatch.setenv("BRCTL_TIMEOUT", "")
    assert brctl("--mock", "cpu-only", "node-manager", "check").code == 0


@pytest.mark.parametrize(
    ("mock", "error"),
    [
        ("dgx-h10", "error: no machine is called 'dgx-h10'\nhint: nearest: dgx-h100"),
        ("dgx-h100+gpu3-lots", "error: unknown fault 'gpu3-lots'; nearest: 'gpu3-lost'\n"),
        (",", "error: --mock ,: the name of a machine or node is empty\nhint: MACHINE,NODE=MACHINE,...\n"),
        ("cpu-only,", "error: --mock cpu-only,: the name of a machine or node is empty\n"),
        ("cpu-only,gpu001=", "error: --mock cpu-only,gpu001=: the name of a machine or node is empty\n"),
        ("=cpu-only", "error: --mock =cpu-only: the name of a machine or node is empty\n"),
        ("nowhere/x.json", "error: cannot read nowhere/x.json: No such file or directory\n"),
    ],
)
def test_a_wrong_mock_is_one_error_and_2(brctl: Brctl, mock: str, error: str) -> None:
    result = brctl("--mock", mock, "node-manager", "check")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(error)


def test_a_command_that_is_no_command_is_told_with_the_nearest(brctl: Brctl) -> None:
    result = brctl("node-manger", "check")
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        "error: No such command 'node-manger'. Did you mean 'node-manager'?\nhint: see `brctl --help`\n"
    )


def test_help_cuts_no_sentence(brctl: Brctl) -> None:
    told = brctl("--help").out
    assert "What the nodes are, and whether they are what the config declares." in " ".join(told.split())
    assert "..." not in told.partition("Commands:")[2]


@pytest.mark.parametrize("argv", [[], ["--help"], ["node-manager", "--help"], ["config", "validate", "--help"]])
def test_help_goes_to_stdout_and_lists_the_common_options(brctl: Brctl, argv: list[str]) -> None:
    result = brctl(*argv)
    assert (result.code, result.err) == (0, "")
    assert "Common options:\n  -c, --config FILE" in result.out


def test_version(brctl: Brctl) -> None:
    from brctl import __version__

    assert brctl("--version") == (0, f"brctl {__version__}\n", "")
    assert brctl("--mock", "cpu-only", "--version") == (0, f"brctl {__version__}\n", "")


@pytest.mark.parametrize("word", ["addbr", "show", "stp"])
def test_the_words_of_bridge_utils_get_one_line(
    brctl: Brctl, word: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "brctl"
    other.touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    result = brctl(word, "br0")
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        f"error: '{word}' belongs to bridge-utils' brctl ({other}); this brctl keeps GPU clusters. "
        "See also `ip link` and `bridge`.\n"
    )


def test_without_bridge_utils_that_is_said(brctl: Brctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("brctl.cli.os.access", lambda *_: False)
    assert "bridge-utils' brctl, which is not installed;" in brctl("addbr").err


def test_a_fault_of_ours_is_no_traceback_unless_asked(brctl: Brctl, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("oops")

    monkeypatch.setattr("brctl.render.prepare", fail)
    argv = ["-q", "--mock", "cpu-only", "node-manager", "check"]
    assert brctl(*argv) == (3, "", "error: RuntimeError: oops\nhint: this is a fault of brctl; --debug shows where\n")
    assert "Traceback" in brctl(*argv, "--debug").err


def test_an_interrupt_is_130(brctl: Brctl, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("brctl.render.prepare", interrupt)
    assert brctl("-q", "--mock", "cpu-only", "node-manager", "check") == (130, "", "error: interrupted\n")


@pytest.mark.parametrize(
    ("variable", "value", "error"),
    [
        ("BRCTL_TIMEOUT", "soon", "error: $BRCTL_TIMEOUT soon: 'soon' is no duration\n"),
        ("BRCTL_FANOUT", "4097", "error: $BRCTL_FANOUT 4097: 1 to 4096 nodes at a time\n"),
    ],
)
def test_a_wrong_variable_is_named(
    brctl: Brctl, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, error: str
) -> None:
    monkeypatch.setenv(variable, value)
    result = brctl("--mock", "dgx-h100", "-w", "gpu[1-2]", "node-manager", "check")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(error)


@pytest.mark.parametrize(("word", "group"), [("check", "node-manager"), ("validate", "config")])
def test_a_command_without_its_group_is_told_with_it(brctl: Brctl, word: str, group: str) -> None:
    error = f"error: no such command '{word}'\nhint: did you mean `brctl {group} {word}`?\n"
    assert brctl(word) == (2, "", error)


def test_without_a_config_check_says_so_to_people_alone(brctl: Brctl, monkeypatch: pytest.MonkeyPatch) -> None:
    argv = ["--mock", "dgx-h100", "node-manager", "check"]
    assert brctl(*argv).err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    said = "no config: siblings are compared; `brctl config init > cluster-config.yaml` writes one\n"
    assert brctl(*argv).err == said
    assert brctl(*argv, "-q").err == ""
    assert brctl("--mock", "dgx-h100", "node-manager", "show").err == ""


def test_a_file_name_cannot_steer_the_terminal(brctl: Brctl, tmp_path: Path) -> None:
    (tmp_path / "c\x1b[31m.yaml").write_text("version: 1\ncluster: {name: c, nodes: gpu001}\n")
    shown = "c\N{REPLACEMENT CHARACTER}[31m.yaml"
    result = brctl("config", "validate", "-c", "c\x1b[31m.yaml")
    assert result.out == f"{shown}: valid: 1 node, 0 groups, 0 warnings\n"
    result = brctl("--mock", "cpu-only", "diagnose", "bundle", "c\x1b[31m.json")
    assert "\nc\N{REPLACEMENT CHARACTER}[31m.json: " in result.err


def test_a_surrogate_reaches_neither_json_nor_yaml() -> None:
    for form in ("json", "yaml"):
        assert yaml.safe_load(dump({"nodes": [{"a": "x\udcff"}]}, form))["nodes"] == [{"a": "x\ufffd"}]


def test_a_brctl_that_cannot_be_read_is_none(brctl: Brctl, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin/brctl").mkdir(parents=True)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr("brctl.cli.os.access", lambda path, _: path.startswith(str(tmp_path)))
    assert "which is not installed" in brctl("addbr").err


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (
            ("--mock", "cpu-only", "-c", "nope.yaml", "diagnose", "run", "-o", "nagios"),
            "nope.yaml: no such file or directory",
        ),
        (
            ("--mock", "cpu-only", "-c", "bad.yaml", "diagnose", "run", "-o", "nagios"),
            "bad.yaml:1:1: cluster: missing",
        ),
        (("--mock", "bogus", "diagnose", "run", "-qonagios"), "no machine is called 'bogus'"),
        (
            ("--mock", "cpu-only", "diagnose", "run", "--fail-on", "b", "--output=nagios"),
            "Invalid value for '--fail-on'",
        ),
        (("--mock", "cpu-only", "diagnose", "run", "--bogus", "--output", "nagios"), "No such option: --bogus"),
        (("-o", "nagios", "diagnose", "log", "nope"), "cannot read nope: No such file or directory"),
        (("-o", "nagios", "diagnose", "log", "a|b\nc"), "cannot read a/b\N{REPLACEMENT CHARACTER}c: No such file"),
        (("-o", "nagios", "diagnose", "symptom", "x", "--mock", ""), "--mock is empty"),
        (("-o", "nagios", "diagnose", "log"), "Missing argument 'FILE|-'".replace("|", "/")),
    ],
)
def test_a_plugin_that_cannot_ask_is_unknown_and_never_critical(brctl: Brctl, argv: tuple[str, ...], line: str) -> None:
    Path("bad.yaml").write_text("versoin: 1\n")
    result = brctl(*argv)
    assert result.code == 3
    assert result.out.startswith(f"BRCTL UNKNOWN - {line}")
    assert result.out.count("\n") == 1
    assert "error" in result.err
    plain = [word for word in argv if word not in ("-o", "nagios", "-qonagios", "--output", "--output=nagios")]
    assert brctl(*plain).out == ""


def test_a_fault_of_ours_is_unknown_for_a_plugin(brctl: Brctl, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("oops")

    monkeypatch.setattr("brctl.cli.session.opened", broken)
    result = brctl("--mock", "cpu-only", "diagnose", "run", "-o", "nagios")
    assert (result.code, result.out) == (3, "BRCTL UNKNOWN - RuntimeError: oops\n")
