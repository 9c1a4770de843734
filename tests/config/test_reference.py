import re
import subprocess
import sys
from pathlib import Path

import pytest

from brctl.config import find, open_config, reference, types
from brctl.config.load import load
from brctl.config.mistake import ConfigError
from brctl.config.models import Settings
from brctl.config.reference import Explanation, explain, values
from brctl.config.reference import keys as written_keys
from brctl.config.resolve import expected, thresholds
from brctl.config.units import DURATION, POWER, SIZE, Kind, RefusedError, parse
from brctl.node import agent
from brctl.node.report import Status
from brctl.node.request import Request

from .conftest import Load

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "cluster-config.example.yaml"


def test_explain() -> None:
    assert explain("transport.fanout") == Explanation(
        key="transport.fanout",
        meaning="Nodes worked on at once.",
        kind="whole number, 1 to 4096",
        required=False,
        default="64",
        example=None,
        source=None,
        keys=(),
    )
    speed = explain("hardware.compute.nics.speed")
    assert (speed.kind, speed.example, speed.source) == ("rate (Mb/s, Gb/s, Tb/s)", "400Gb/s", "ethtool, Speed")
    assert explain("cluster.nodes")._replace(meaning="") == Explanation(
        "cluster.nodes", "", "node set", True, None, None, None, ()
    )


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("transport", "section"),
        ("transport.kind", "ssh | local | exec"),
        ("tune.sysctl.net.core.rmem_max", "size (B, KiB, MiB, GiB, TiB), 2304B to 2147483647B"),
        ("tune.sysctl.net.core.wmem_max", "size (B, KiB, MiB, GiB, TiB), 4608B to 2147483647B"),
        ("tune.sysctl.net.ipv4.tcp_rmem", "list of size (B, KiB, MiB, GiB, TiB), 1B to 2147483647B"),
        ("tune.sysctl.vm.swappiness", "kernel value"),
        ("overrides[0].tune.gpu.power_limit", "power (W, kW, %)"),
        ("overrides.nodes", "node set"),
        ("alerting.gpu_temperature.for", "duration (ms, s, m, h, d)"),
        ("alerting.gpu_temperature", "section"),
        ("diagnose.checks.gpu-memory.tolerance", "number, at least 0"),
        ("hardware.compute.mounts", "list of absolute path"),
        ("transport.tree.above", "whole number, at least 1"),
        ("topology.oversubscription", "number, 1 to 64"),
        ("version", "1"),
    ],
)
def test_what_may_be_written(key: str, kind: str) -> None:
    assert (explain(key).key, explain(key).kind) == (key, kind)


def test_a_section_lists_its_keys() -> None:
    assert explain("hardware.compute").keys == ("accelerator", "nics", "cpu", "memory", "mounts")
    assert explain("hardware").keys == ("NAME",)
    assert explain("hardware").meaning.endswith(" NAME is a group of cluster.groups, or all.")
    assert sorted(explain("overrides").keys) == [
        "alerting",
        "comm",
        "diagnose",
        "hardware",
        "monitor",
        "nodes",
        "tune",
    ]
    assert explain("tune.sysctl").keys[-2:] == ("net.ipv4.tcp_wmem", "NAME")


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("tune.gpu.powerlimit", "did you mean 'power_limit'?"),
        ("tune.mtu", "tune.network.mtu"),
        ("hardware.nics.speed", "hardware.NAME.nics.speed, where NAME is a group"),
        ("nics.speed", "hardware.NAME.nics.speed, where NAME is a group"),
        ("threshold", "alerting.NAME.threshold"),
        ("tune.gpu.powr", "did you mean 'power_limit'?"),
        ("tune.gpu.mod", "did you mean 'persistence_mode'?"),
        ("comm.zzz", "the keys are backend, framework, rails, dscp, env"),
        ("", f"the keys are {', '.join(reference.ORDER)}"),
        ("no.such.key", f"the keys are {', '.join(reference.ORDER)}"),
    ],
)
def test_no_such_key(key: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        explain(key)
    (mistake,) = caught.value.mistakes
    assert (mistake.path, mistake.message, mistake.hint) == (key, "unknown key", hint)


def test_a_threshold_is_explained_by_its_check() -> None:
    found = explain("diagnose.checks.gpu-memory.tolerance")
    assert (found.key, found.default) == ("diagnose.checks.gpu-memory.tolerance", "1")
    assert found.meaning == "A threshold of the check gpu-memory, in percent."
    assert found.source is not None
    assert found.source.startswith("An H100 80GB shows 81559 of 81920 MiB")
    assert explain("overrides.diagnose.checks.gpu-memory.tolerance")._replace(key=found.key) == found


def test_a_check_is_explained_by_itself() -> None:
    found = explain("diagnose.checks.gpu-memory")
    assert (found.meaning, found.keys) == ("Every GPU has the declared memory.", ("tolerance",))
    assert explain("diagnose.checks.gpu-vbios").keys == ()
    assert {"gpu-memory", "memory-size"} <= set(explain("diagnose.checks").keys)
    assert "gpu-vbios" not in explain("diagnose.checks").keys


@pytest.mark.parametrize(
    ("key", "message", "hint"),
    [
        ("diagnose.checks.gpu-memroy", "no such check", "did you mean 'gpu-memory'?"),
        ("diagnose.checks.nothing.x", "no such check", None),
        ("diagnose.checks.gpu-memory.bogus", "no such threshold", "it has tolerance"),
        ("diagnose.checks.gpu-memory.tolerence", "no such threshold", "did you mean 'tolerance'?"),
        ("diagnose.checks.gpu-vbios.x", "no such threshold", "it has none"),
        ("overrides.diagnose.checks.gpu-memory.bogus", "no such threshold", "it has tolerance"),
    ],
)
def test_no_such_check(key: str, message: str, hint: str | None) -> None:
    with pytest.raises(ConfigError) as caught:
        explain(key)
    (mistake,) = caught.value.mistakes
    assert (mistake.path, mistake.message) == (key, message)
    assert hint is None or mistake.hint == hint


def test_a_name_that_means_checks_elsewhere() -> None:
    assert explain("hardware.checks.memory").kind == "size (B, KiB, MiB, GiB, TiB)"
    assert explain("comm.env.checks").kind == "text"


def test_the_documentation_has_every_section() -> None:
    assert sorted(reference.ORDER) == sorted(Settings.model_fields)
    assert reference.ORDER[:5] == ("version", "cluster", "transport", "hardware", "tune")
    assert list(reference.schema()["properties"]) == list(reference.ORDER)


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (DURATION, ("5s", "0.5s", "10 ms", "00.010s"), ("0s", "0.0s", "0", "5")),
        (SIZE, ("64MiB", "1.5TiB"), ("0B", "64MB")),
        (POWER, ("650W", "0.7kW", "80%"), ("0W", "0%")),
    ],
)
def test_the_schema_takes_what_the_program_takes(kind: Kind, good: tuple[str, ...], bad: tuple[str, ...]) -> None:
    pattern = types._schema(kind)["pattern"]
    for text in good:
        assert re.search(pattern, text), text
        assert parse(kind, text)
    for text in bad:
        assert not re.search(pattern, text), text
        with pytest.raises(RefusedError):
            parse(kind, text)


def test_every_key_has_a_meaning() -> None:
    keys = [loc for loc in written_keys() if loc[-1] != 0]
    assert len(keys) > 100
    for loc in keys:
        found = reference.lookup(loc)
        assert found is not None
        assert found.meaning.endswith("."), found.key


def test_values_of_the_whole_file(config: Load) -> None:
    found = {
        value.key: (value.value, value.origin)
        for value in values(config("overrides: [{nodes: gpu1, comm: {dscp: 26}}]\n"))
    }
    assert found["version"] == (1, "c.yaml:1")
    assert found["cluster.groups.compute.role"] == ("compute", "c.yaml:6")
    assert found["cluster.sources"] == (["config"], "default")
    assert found["transport.connect_timeout"] == ("10s", "default")
    assert found["overrides[0].comm.dscp"] == (26, "override at c.yaml:8")
    assert "transport.tree.above" not in found
    assert "tune.network.mtu" not in found


def test_values_of_one_node(config: Load) -> None:
    text = "hardware: {compute: {nics: {count: 8}}}\ntune: {gpu: {power_limit: 650W}, network: {mtu: 9000}}\n"
    text += "overrides:\n  - nodes: gpu1\n    tune: {gpu: {power_limit: 500W}}\n    hardware: {nics: {count: 7}}\n"
    loaded = config(text)
    found = {value.key: (value.value, value.origin) for value in values(loaded, "gpu1")}
    assert found["hardware.nics.count"] == (7, "override at c.yaml:13")
    assert found["tune.gpu.power_limit"] == ("500W", "override at c.yaml:12")
    assert found["tune.network.mtu"] == (9000, "c.yaml:9")
    assert found["diagnose.fail_on"] == ("warn", "default")
    assert next(iter(found)) == "hardware.nics.count"
    assert {"hardware.nics.count": (8, "c.yaml:8")}.items() <= {
        v.key: (v.value, v.origin) for v in values(loaded, "gpu2")
    }.items()
    assert not any(key.startswith("hardware") for key in (value.key for value in values(loaded, "store1")))


def test_plain() -> None:
    assert reference.plain({"a": [1, True, "x"], "b": {}}) == "{a: [1, true, x], b: {}}"


def test_the_example_names_the_schema() -> None:
    first = EXAMPLE.read_text().splitlines()[0]
    assert first == "# yaml-language-server: $schema=docs/config.schema.json"
    assert (ROOT / first.split("=")[1]).is_file()


def test_the_schema_knows_every_key_of_the_example() -> None:
    for value in values(load(EXAMPLE)):
        assert reference.lookup(value.path), value.key


@pytest.mark.parametrize("name", ["gpu001", "gpu004"])
def test_a_mocked_node_of_the_example_passes_its_check(name: str) -> None:
    from brctl.mock.machines import load as load_machine

    node = load(EXAMPLE).node(name)
    report = agent.answer(load_machine("dgx-h100"), Request(name, "check", expected(node), thresholds(node)))
    assert len(report.findings) >= 16
    assert {finding.status for finding in report.findings} == {Status.PASS}


def test_patterns_with_commas_between_them(config: Load) -> None:
    from brctl.mock.machines import load as load_machine

    text = "hardware: {all: {accelerator: {model: 'NVIDIA H200*, NVIDIA H100*', vbios: '96.00.89.*,96.00.99.*'},"
    node = config(text + " nics: {interfaces: 'ens1*,ens*np0', firmware: '28.*,29.*'}}}\n").node("gpu1")
    report = agent.answer(load_machine("dgx-h100"), Request("gpu1", "check", expected(node)))
    assert {finding.status for finding in report.findings} <= {Status.PASS, Status.NA}


def test_open_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "SYSTEM", tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="no such file"):
        open_config(tmp_path / "none.yaml")
    assert open_config(None) is None
    loaded = open_config(EXAMPLE)
    assert loaded is not None
    assert loaded.path == EXAMPLE


@pytest.mark.real
def test_importing_the_package_is_light(tmp_path: Path) -> None:
    program = "import sys, brctl.config, brctl.config.units\nbrctl.config.open_config(None)\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert not {"pydantic", "pydantic_core", "yaml", "ClusterShell"} & set(done.stdout.split())
