import errno
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from brctl.mock import machines

Brctl = Callable[..., Any]  # the fixture of conftest.py


GOOD = 'version: 1\ncluster: {name: c, nodes: "gpu[001-002]"}\ntune: {network: {mtu: 9000}}\n'


@pytest.fixture(autouse=True)
def _config(brctl: Brctl, tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "bad.yaml").write_text(GOOD.replace("mtu: 9000", "mut: 9000"))
    (tmp_path / "odd.yaml").write_text(GOOD.replace("9000", "4096"))


def test_a_valid_config(brctl: Brctl) -> None:
    expected = (0, "good.yaml: valid: 2 nodes, 0 groups, 0 warnings\n", "")
    assert brctl("config", "validate", "good.yaml") == expected
    assert brctl("config", "validate", "-c", "good.yaml") == expected


def test_a_mistake_has_its_place_and_the_nearest_key(brctl: Brctl) -> None:
    result = brctl("config", "validate", "bad.yaml")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: bad.yaml:3:18: tune.network.mut: ")
    assert "mtu" in result.err


def test_mistakes_for_programs(brctl: Brctl) -> None:
    result = brctl("config", "validate", "bad.yaml", "-o", "json")
    plain = json.loads(result.out)
    assert (result.code, result.err, plain["valid"]) == (2, "", False)
    assert plain["errors"][0]["place"] == {"file": "bad.yaml", "line": 3, "column": 18}
    assert json.loads(brctl("config", "validate", "good.yaml", "-o", "json").out)["valid"] is True


def test_warnings_stand_apart(brctl: Brctl) -> None:
    result = brctl("config", "validate", "odd.yaml")
    assert (result.code, result.out) == (0, "odd.yaml: valid: 2 nodes, 0 groups, 1 warning\n")
    assert result.err.startswith("warning: odd.yaml:3:23: tune.network.mtu: ")
    assert brctl("config", "validate", "odd.yaml", "--strict").code == 1
    assert len(json.loads(brctl("config", "validate", "odd.yaml", "-o", "json").out)["warnings"]) == 1


def test_without_a_config_that_is_said(brctl: Brctl) -> None:
    result = brctl("config", "show")
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        "error: there is no config\n"
        "hint: name it with --config; `brctl config init > cluster-config.yaml` writes a first one\n"
    )


def test_show_says_where_each_value_comes_from(brctl: Brctl) -> None:
    result = brctl("-c", "good.yaml", "config", "show", "-o", "json")
    (whole,) = json.loads(result.out)["nodes"]
    assert whole["node"] is None
    values = {value["key"]: value for value in whole["values"]}
    assert values["tune.network.mtu"] == {"key": "tune.network.mtu", "value": 9000, "from": "good.yaml:3"}
    assert values["transport.kind"] == {"key": "transport.kind", "value": "ssh", "from": "default"}


def test_show_of_one_node(brctl: Brctl, tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(GOOD + "overrides: [{nodes: gpu002, tune: {network: {mtu: 1500}}}]\n")
    result = brctl("-c", "good.yaml", "config", "show", "--nodes", "gpu[001-002]")
    assert result.code == 0
    rows = [line.split() for line in result.out.splitlines() if line.startswith("tune.network.mtu")]
    assert rows == [
        ["tune.network.mtu", "9000", "good.yaml:3"],
        ["tune.network.mtu", "1500", "override", "at", "good.yaml:4"],
    ]
    assert brctl("-c", "good.yaml", "config", "show", "--nodes", "gpu9").code == 2


def test_explain(brctl: Brctl) -> None:
    result = brctl("config", "explain", "tune.network.mtu")
    assert result.code == 0
    assert result.out.startswith("tune.network.mtu\n  ")
    assert "\n  write    whole number, " in result.out
    unknown = brctl("config", "explain", "tune.network.mut")
    assert unknown.code == 2
    assert "mtu" in unknown.err


def test_explain_a_threshold(brctl: Brctl) -> None:
    result = brctl("config", "explain", "diagnose.checks.gpu-memory.tolerance")
    assert (result.code, result.err) == (0, "")
    assert "\n  default  1\n" in result.out
    assert "\n  source   An H100 80GB shows 81559 of 81920 MiB" in result.out
    assert brctl("config", "explain", "diagnose.checks.gpu-memory.bogus") == (
        2,
        "",
        "error: diagnose.checks.gpu-memory.bogus: no such threshold\nhint: it has tolerance\n",
    )


OUTPUT = ["schema_version", "brctl_version", "command"]


def test_what_is_printed_for_programs_keeps_its_keys(brctl: Brctl) -> None:
    whole = json.loads(brctl("-c", "good.yaml", "config", "show", "-o", "json").out)
    assert (list(whole), whole["command"]) == ([*OUTPUT, "nodes"], "config show")
    assert list(whole["nodes"][0]) == ["node", "values"]
    assert list(whole["nodes"][0]["values"][0]) == ["key", "value", "from"]
    valid = json.loads(brctl("config", "validate", "bad.yaml", "-o", "json").out)
    assert (list(valid), valid["command"]) == ([*OUTPUT, "valid", "errors", "warnings"], "config validate")
    assert list(valid["errors"][0]) == ["message", "place", "path", "hint"]
    assert list(valid["errors"][0]["place"]) == ["file", "line", "column"]
    about = json.loads(brctl("config", "explain", "tune.network.mtu", "-o", "json").out)
    keys = ["key", "meaning", "kind", "required", "default", "example", "source", "keys"]
    assert (list(about), about["command"]) == ([*OUTPUT, *keys], "config explain")
    assert (about["kind"], about["required"], about["keys"]) == ("whole number, 1280 to 65520", False, [])


def test_yaml_says_what_json_says(brctl: Brctl) -> None:
    for argv in (["show"], ["validate", "bad.yaml"], ["explain", "hardware"]):
        forms = [brctl("-c", "good.yaml", "config", *argv, "-o", form).out for form in ("json", "yaml")]
        assert json.loads(forms[0]) == yaml.safe_load(forms[1])


@pytest.mark.parametrize(
    ("argv", "forms"),
    [
        (["show"], "table, json, yaml"),
        (["validate", "good.yaml"], "table, json, yaml"),
        (["explain", "tune"], "table, json, yaml"),
        (["schema"], "json"),
        (["--mock", "cpu-only", "init"], "yaml"),
    ],
)
def test_a_form_that_a_command_does_not_have_is_refused(brctl: Brctl, argv: list[str], forms: str) -> None:
    result = brctl("-c", "good.yaml", "config", *argv, "-o", "xml")
    assert result == (2, "", f"error: --output xml: this command has {forms}\n")
    if "table" not in forms:
        assert brctl("-c", "good.yaml", "config", *argv, "-o", "table").code == 2
        assert brctl("-c", "good.yaml", "config", *argv, "-o", forms) == brctl("-c", "good.yaml", "config", *argv)


def test_schema_is_json_schema(brctl: Brctl) -> None:
    result = brctl("config", "schema")
    assert result.code == 0
    assert set(json.loads(result.out)["properties"]) >= {"version", "cluster", "hardware", "overrides"}


@pytest.mark.parametrize("mock", [*machines.names(), "dgx-h100+gpu3-lost"])
def test_init_writes_a_config_that_validates_and_that_its_host_passes(brctl: Brctl, tmp_path: Path, mock: str) -> None:
    healthy = mock.partition("+")[0]
    assert brctl("--mock", mock, "config", "init", "new.yaml") == (0, "", "")
    assert brctl("config", "validate", "new.yaml", "--strict").code == 0
    assert brctl("--mock", healthy, "-c", "new.yaml", "node-manager", "check", "-q") == (0, "", "")
    assert brctl("--mock", mock, "config", "init") == (0, (tmp_path / "new.yaml").read_text(), "")


def test_init_refuses_what_is_no_node_name(brctl: Brctl) -> None:
    result = brctl("--mock", "cpu-only", "--as", "a{b", "config", "init")
    assert result == (2, "", "error: --as a{b: no node name: letters, digits, '.', '_' and '-' are allowed\n")


def test_no_time_is_no_timeout(brctl: Brctl) -> None:
    assert brctl("--mock", "cpu-only", "--timeout", "0s", "config", "init") == (
        2,
        "",
        "error: --timeout 0s: 0s is out of range\nhint: more than 0: 5s\n",
    )


def test_init_of_a_dgx(brctl: Brctl) -> None:
    out = brctl("--mock", "dgx-h100", "config", "init").out
    assert (
        out[out.index("hardware:") :]
        == """\
hardware: # what each node of a group should have; `brctl node-manager check` compares
  compute:
    accelerator:
      model: "NVIDIA H100 80GB HBM3"
      count: 8
      memory: 81559MiB
      driver: ">=580,<581" # now 580.105.08
      vbios: "96.00.99.00.01"
      nvlinks: 18
    nics:
      interfaces: "ens*np0"
      count: 8
      speed: 400Gb/s
      kind: roce
      firmware: "28.41.1000"
    cpu: {sockets: 2, numa_nodes: 2, threads: 224}
    memory: 2016GiB
    mounts: ["/data"]

tune: # what `node-manager check` also looks at
  network:
    mtu: 9000
"""
    )


def test_init_overwrites_nothing(brctl: Brctl, tmp_path: Path) -> None:
    argv = ["--mock", "cpu-only", "config", "init", "good.yaml"]
    assert brctl(*argv) == (2, "", "error: good.yaml exists\nhint: --force overwrites it\n")
    assert (tmp_path / "good.yaml").read_text() == GOOD
    assert brctl(*argv, "--force").code == 0
    assert "cpu001" in (tmp_path / "good.yaml").read_text()


def test_a_config_that_cannot_be_written_whole_leaves_the_old_one(
    brctl: Brctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = sorted(os.listdir(tmp_path))
    monkeypatch.setattr(os, "fsync", refuse)
    for name in ("good.yaml", "new.yaml"):
        result = brctl("--mock", "cpu-only", "config", "init", name, "--force")
        assert result == (3, "", f"error: cannot write {name}: No space left on device\n")
    assert (tmp_path / "good.yaml").read_text() == GOOD
    assert sorted(os.listdir(tmp_path)) == before


def test_init_keeps_the_mode_of_what_it_overwrites(brctl: Brctl, tmp_path: Path) -> None:
    (tmp_path / "good.yaml").chmod(0o640)
    assert brctl("--mock", "cpu-only", "config", "init", "good.yaml", "--force").code == 0
    assert stat.S_IMODE((tmp_path / "good.yaml").stat().st_mode) == 0o640
