"""Prometheus and our own evaluation, asked about the same samples, say the same at every minute."""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import yaml

from brctl.fleet.alert_series import SERIES
from brctl.node.alert_facts import Alert, Label, Matcher, Rule
from brctl.node.monitor import own, registry
from brctl.node.monitor.alert_rules import DEFAULTS
from brctl.node.monitor.alerts import evaluate
from brctl.node.report import Sample, State
from brctl.render import rules

SERIES_BY_NAME = {one.name: one for each in registry() for one in each.series} | {
    one.name: one for one in (*own.SERIES, *SERIES)
}
OURS = {default.rule.id: default.rule for default in DEFAULTS}
GPU = ("3", "GPU-3")
Values = Sequence["float | None"]
Given = Mapping["tuple[str, tuple[str, ...]]", Values]
"""By name and label values, a value a minute. None: there is none."""
_HEAT, _MARGIN = "brctl_gpu_temperature_celsius", "brctl_gpu_temperature_margin_celsius"
CASES: "dict[str, tuple[Rule, Given]]" = {
    "threshold and hold": (OURS["collector-fails"], {
        ("brctl_monitor_collector_success", ("tcp",)): [1, 0, 0, 1, *[0] * 12, 1, 1],
    }),
    "at once": (OURS["gpu-down"], {("brctl_gpu_up", GPU): [1, 0, 1, 0, 0, 1]}),
    "hysteresis": (Rule("heat", _HEAT, ">=", 85, hold_s=120, clear=80), {
        (_HEAT, GPU): [84, 85, 86, 90, 84, 81, 80, 79.9, 84, 85, 85, 85, 70],
    }),
    "hysteresis, downwards, and a time to clear": (OURS["gpu-hot"]._replace(hold_s=0), {
        (_MARGIN, GPU): [9, 4, 6, 7, 9, 9, 9, 7, 4, 9, 7, 9, 9, 9],
    }),
    "a time to clear": (OURS["gpu-power-brake"], {
        ("brctl_gpu_clocks_event_ratio", (*GPU, "hw_power_brake_slowdown")): [0, 1, 1, 1, 0, 1, 0, 0, 0, 0],
        ("brctl_gpu_clocks_event_ratio", (*GPU, "sw_power_cap")): [1] * 10,
    }),
    "a better series": (OURS["gpu-temperature"]._replace(hold_s=0, clear_s=0), {
        (_HEAT, GPU): [90] * 6,
        (_HEAT, ("4", "GPU-4")): [84, 85, 83, 82, 81, 90],
        (_MARGIN, GPU): [5, 4, 3, 2, 1, 1],
    }),
    "growth": (OURS["gpu-ecc-uncorrected"]._replace(window_s=300), {
        ("brctl_gpu_ecc_uncorrected_total", GPU): [7, 7, 7, 8, *[8] * 8],
        ("brctl_gpu_ecc_uncorrected_total", ("4", "GPU-4")): [7] * 12,
    }),
    "loss of a link": (OURS["network-down"], {
        ("brctl_network_up", ("eth0",)): [1, 1, 0, 0, 0, 1, 1],
        ("brctl_network_up", ("unused",)): [0] * 7,
    }),
    "two series": (OURS["gpu-missing"], {
        ("brctl_gpus_visible", ()): [8, 7, 7, 7, 7, 8],
        ("brctl_gpus_expected", ()): [8] * 6,
    }),
    "a part": (OURS["filesystem-full"]._replace(hold_s=0), {
        ("brctl_filesystem_available_bytes", ("/", "ext4")): [9, 4, 4, 5, 6],
        ("brctl_filesystem_size_bytes", ("/", "ext4")): [100] * 5,
        ("brctl_filesystem_read_only", ("/", "ext4")): [0] * 5,
        ("brctl_filesystem_available_bytes", ("/cd", "iso")): [0] * 5,
        ("brctl_filesystem_size_bytes", ("/cd", "iso")): [100] * 5,
        ("brctl_filesystem_read_only", ("/cd", "iso")): [1] * 5,
    }),
    "age": (OURS["gpu-xid"]._replace(threshold=180), {
        ("brctl_gpu_xid_last_seen_timestamp_seconds", (*GPU, "79")): [None, 60, 60, 60, 60, 60, 60],
        ("brctl_gpu_xid_last_seen_timestamp_seconds", (*GPU, "13")): [None, 60, 60, 60, 60, 60, 60],
    }),
    "what is chosen": (Rule("act", "brctl_gpu_recovery_action", ">=", 1, only=(Matcher("action", ("none",), True),)), {
        ("brctl_gpu_recovery_action", (*GPU, "none")): [1, 0, 1],
        ("brctl_gpu_recovery_action", (*GPU, "reset")): [0, 1, 0],
    }),
}  # fmt: skip


def _ours(rule: Rule, given: Given) -> "list[set[tuple[Label, ...]]]":
    """The labels of what fires, at each minute."""
    alerts: tuple[Alert, ...] = ()
    found = []
    for minute in range(max(map(len, given.values()))):
        at = minute * 60.0
        samples = [
            Sample(name, labels, value, State.MEASURED, at + 1)
            for (name, labels), values in given.items()
            for value in values[minute : minute + 1]
            if value is not None
        ]
        series = [SERIES_BY_NAME[name] for name, _ in given]
        alerts, _ = evaluate([rule], alerts, "n", series, samples, at)
        found.append({alert.labels for alert in alerts if alert.phase.fires})
    return found


def _test_of(rule: Rule, given: Given) -> "dict[str, object]":
    """What promtool is to find: the same."""
    told = [
        {
            "eval_time": f"{minute}m",
            "alertname": rules.alert_name(rule),
            "exp_alerts": [
                {"exp_labels": {"node": "n", "severity": rule.severity.value, **dict(labels)}} for labels in firing
            ],
        }
        for minute, firing in enumerate(_ours(rule, given))
    ]
    series = []
    for (name, labels), values in given.items():
        pairs = {"node": "n", **dict(zip(SERIES_BY_NAME[name].labels, labels, strict=True))}
        selector = ",".join(f'{label}="{value}"' for label, value in pairs.items())
        told_values = " ".join("_" if value is None else str(value) for value in values)
        series.append({"series": f"{name}{{{selector}}}", "values": told_values})
    return {"interval": "1m", "input_series": series, "alert_rule_test": told}


@pytest.mark.parametrize("name", CASES)
def test_each_case_fires_and_ends(name: str) -> None:
    found = _ours(*CASES[name])
    assert any(found)
    assert found[-1] == set() or name in ("a better series", "a part")


@pytest.mark.real
@pytest.mark.parametrize("name", CASES)
def test_promtool_agrees(name: str, tmp_path: Path) -> None:
    if not shutil.which("promtool"):
        pytest.skip("no promtool here (Debian package prometheus)")
    rule, given = CASES[name]
    plain = yaml.safe_load(rules.text(None, [rule]))
    for each in plain["groups"][1]["rules"]:
        each["annotations"] = {}
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(plain))
    test = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [_test_of(rule, given)]}
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(test))
    said = subprocess.run(["promtool", "test", "rules", "test.yaml"], cwd=tmp_path, capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + said.stderr
