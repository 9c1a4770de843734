"""Rules and dashboard: every name in them is one that is exposed, and Prometheus' own tool accepts them."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from brctl.fleet.alert_series import SERIES
from brctl.node.alert_facts import Label, Matcher, Rule
from brctl.node.diagnose import engine
from brctl.node.monitor import own, registry
from brctl.node.monitor.alert_rules import DEFAULTS
from brctl.render import dashboard, prometheus, rules

EXPOSED = {series.name: series for collector in registry() for series in collector.series} | {
    series.name: series for series in (*own.SERIES, *prometheus.OWN, *SERIES)
}

OURS = {default.rule.id: default.rule for default in DEFAULTS}


def _names(expr: str) -> "set[str]":
    return set(re.findall(r"(?<!:)\bbrctl_\w+", expr))


def test_rules_and_panels_ask_for_what_there_is() -> None:
    asked = (
        [each.expr for each in rules.RECORDS]
        + [rules.expression(each.rule) for each in DEFAULTS]
        + list(dashboard.expressions(registry()))
    )
    assert {name for expr in asked for name in _names(expr)} <= set(EXPOSED)


def test_labels_in_rules_are_those_of_their_series() -> None:
    for default in DEFAULTS:
        expr, id_ = rules.expression(default.rule), default.rule.id
        labels = {"node"} | {label for name in _names(expr) for label in EXPOSED[name].labels}
        assert set(re.findall(r"\{(\w+)\}", default.rule.summary)) <= labels | {"value"}, id_
        assert set(re.findall(r"(\w+)[=!]~?\"", expr)) <= labels | {"alertname", "alertstate"}, id_


def test_runbooks_are_checks() -> None:
    checks = {check.id for check in engine.registry()}
    assert {default.explained for default in DEFAULTS} - {None} <= checks


def test_no_series_has_a_label_that_the_exporter_adds() -> None:
    for series in EXPOSED.values():
        assert series.kind == "gauge" or series.name.endswith("_total"), series.name
        assert series in prometheus.OWN or prometheus._is_sound(series), series.name


def test_the_rules_file() -> None:
    plain = yaml.safe_load(rules.text("https://example.org/alerts.md"))
    records, alerts = (group["rules"] for group in plain["groups"])
    assert [each["record"] for each in records] == [each.name for each in rules.RECORDS]
    assert [each["alert"] for each in alerts] == [rules.alert_name(each.rule) for each in DEFAULTS]
    down = next(each for each in alerts if each["alert"] == "BrctlGpuDown")
    assert down["annotations"].pop("description").startswith("A GPU that is lost")
    assert down == {
        "alert": "BrctlGpuDown",
        "expr": "brctl_gpu_up < 1",
        "for": "0s",
        "labels": {"severity": "critical"},
        "annotations": {
            "summary": "GPU {{ $labels.gpu }} of {{ $labels.node }} does not answer",
            "runbook": "brctl diagnose explain gpu-responding",
            "runbook_url": "https://example.org/alerts.md#gpu-down",
        },
    }
    assert "runbook_url" not in rules.text(None)


def test_the_dashboard() -> None:
    plain: dict[str, Any] = json.loads(dashboard.text(registry()))
    panels = [each for panel in plain["panels"] for each in (panel, *panel.get("panels", ()))]
    assert len({panel["id"] for panel in panels}) == len(panels)
    drawn = {name for expr in dashboard.expressions(registry()) for name in _names(expr)}
    wanted = {series.name for collector in registry() for series in collector.series}
    assert {name for name in wanted if not name.endswith("_info")} <= drawn
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in panels)
    (temperature,) = [panel for panel in panels if panel["title"] == "gpu temperature celsius"]
    assert temperature["fieldConfig"]["defaults"]["unit"] == "celsius"
    assert temperature["targets"][0]["legendFormat"] == "{{node}} {{gpu}}"
    (energy,) = [panel for panel in panels if panel["title"] == "gpu energy joules, a second"]
    assert energy["fieldConfig"]["defaults"]["unit"] == "watt"
    assert energy["targets"][0]["expr"] == 'rate(brctl_gpu_energy_joules_total{node=~"$node"}[$__rate_interval])'


def _apart(rule: Rule, node: str) -> "tuple[Rule, Rule]":
    """A rule that one node has otherwise."""
    others, mine = Matcher("node", (node,), other=True), Matcher("node", (node,))
    return rule._replace(only=(*rule.only, others)), rule._replace(
        only=(*rule.only, mine), labels=(Label("nodes", node),), threshold=rule.threshold / 2
    )


def test_a_dot_in_the_name_of_a_node_is_a_dot() -> None:
    usual, other = _apart(OURS["gpu-power-brake"], "gpu1.example")
    only = 'reason=~"hw_power_brake_slowdown",node{}~"gpu1[.]example"'
    assert f"{{{only.format('!')}}}" in rules.expression(usual)
    assert f"{{{only.format('=')}}}" in rules.expression(other)


@pytest.mark.real
def test_promtool_accepts_rules_and_the_questions_of_the_dashboard(tmp_path: Path) -> None:
    if not shutil.which("promtool"):
        pytest.skip("no promtool here (Debian package prometheus)")
    asked = [
        expr.replace("$__rate_interval", "5m").replace("$node", ".*") for expr in dashboard.expressions(registry())
    ]
    group = {"name": "panels", "rules": [{"record": f"panel:{i}", "expr": expr} for i, expr in enumerate(asked)]}
    (tmp_path / "rules.yaml").write_text(rules.text("https://example.org/alerts.md"))
    apart = [each for default in DEFAULTS for each in _apart(default.rule, "gpu1.example")]
    (tmp_path / "apart.yaml").write_text(rules.text(None, apart))
    (tmp_path / "panels.yaml").write_text(yaml.safe_dump({"groups": [group]}))
    records = len(rules.RECORDS)
    counts = (("rules", len(DEFAULTS) + records), ("apart", len(apart) + records), ("panels", len(asked)))
    for name, count in counts:
        said = subprocess.run(
            ["promtool", "check", "rules", f"{name}.yaml"], cwd=tmp_path, capture_output=True, text=True
        )
        assert (said.returncode, said.stderr) == (0, "")
        assert f"SUCCESS: {count} rules found" in said.stdout


@pytest.mark.real
def test_the_rules_fire_when_they_should(tmp_path: Path) -> None:
    """By promtool's own test of rules, over series as the exporter writes them."""
    if not shutil.which("promtool"):
        pytest.skip("no promtool here (Debian package prometheus)")
    gpu = 'node="n",gpu="3",uuid="G"'
    (tmp_path / "rules.yaml").write_text(rules.text(None))
    series = {
        'brctl_node_up{node="m"}': "0x10",
        f"brctl_gpu_up{{{gpu}}}": "1 1 0x10",
        'brctl_gpus_visible{node="n"}': "7x10",
        'brctl_gpus_expected{node="n"}': "8x10",
        f'brctl_gpu_xid_last_seen_timestamp_seconds{{{gpu},xid="79"}}': "60x10",
        f'brctl_gpu_xid_last_seen_timestamp_seconds{{{gpu},xid="31"}}': "60x10",
        'brctl_network_up{node="n",interface="a"}': "1 1 0x10",
        'brctl_network_up{node="n",interface="unused"}': "0x10",
        f'brctl_gpu_recovery_action{{{gpu},action="none"}}': "1x10",
        'brctl_gpu_utilization_ratio{node="n",gpu="0",uuid="A"}': "0.5x10",
        'brctl_gpu_utilization_ratio{node="n",gpu="1",uuid="B"}': "0.5x10",
        'brctl_gpu_utilization_ratio{node="n",gpu="2",uuid="C"}': "0x10",
        'brctl_gpu_utilization_ratio{node="one",gpu="0",uuid="D"}': "0.5x10",
    }
    firing = 'sort(count by (alertname) (ALERTS{alertstate="firing"}))'
    names = ("BrctlNodeSilent", "BrctlGpuDown", "BrctlGpuMissing", "BrctlGpuXid", "BrctlNetworkDown")
    balance = "node:brctl_gpu_utilization_ratio:balance"
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {
                "expr": firing,
                "eval_time": "8m",
                "exp_samples": [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in names],
            },
            {
                "expr": f"round({balance}, 0.0001)",
                "eval_time": "8m",
                "exp_samples": [{"labels": '{node="n"}', "value": 0.6309}],  # ln 2 / ln 3
            },
        ],
    }
    (tmp_path / "test.yaml").write_text(yaml.safe_dump({"rule_files": ["rules.yaml"], "tests": [test]}))
    said = subprocess.run(["promtool", "test", "rules", "test.yaml"], cwd=tmp_path, capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + said.stderr
