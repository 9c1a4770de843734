"""`alerting` of the config -> rules; and what cannot be meant there."""

from collections.abc import Callable

import pytest

from brctl.config.alerts import Alerting, alerting, of_all_nodes
from brctl.config.mistake import ConfigError
from brctl.config.resolve import Config
from brctl.node.alert_facts import Label, Matcher, Rule, Severity
from brctl.node.monitor.alert_rules import DEFAULTS

Load = Callable[[str], Config]


def _rules(found: Alerting) -> dict[str, Rule]:
    return {rule.id: rule for rule in found.rules}


def test_without_a_config_our_own_rules_hold() -> None:
    assert alerting(None) == (tuple(default.rule for default in DEFAULTS), ())


def test_the_two_blocks(config: Load) -> None:
    text = (
        "alerting:\n  gpu_temperature:\n    threshold: 85\n    action: throttle\n"
        "  network_loss:\n    threshold: 1%\n    action: reroute\n"
    )
    found = alerting(config(text).node("gpu1"))
    assert [rule.id for rule in found.rules] == [default.rule.id for default in DEFAULTS]
    heat, loss = _rules(found)["gpu-temperature"], _rules(found)["network-loss"]
    assert (heat.series, heat.comparison, heat.threshold) == ("brctl_gpu_temperature_celsius", ">=", 85)
    assert (heat.hold_s, heat.clear, heat.clear_s, heat.unless, heat.action) == (0, 82, 60, None, "throttle")
    assert (loss.series, loss.comparison, loss.threshold) == ("brctl_rdma_loss_ratio", ">=", 0.01)
    assert (round(loss.clear or 0, 6), loss.action, loss.severity) == (0.009, "reroute", Severity.WARNING)


def test_more_of_the_same_form(config: Load) -> None:
    text = """\
alerting:
  hungry:
    metric: brctl_gpu_power_watts
    threshold: 690W
    fires: above
    for: 30s
    clear: 600W
    clear_for: 2m
    min_samples: 3
    severity: info
    labels: {team: hpc, tier: 1}
    action: exec
    command: [/usr/local/bin/page, gpu]
  gpu_down: {action: webhook, url: "https://alerts.example.org/hook"}
  gpu_hot: {action: none}
  idle: {metric: brctl_gpu_power_watts, threshold: 100, fires: below}
  rdma_down: {for: 5s, action: drain}
"""
    found = alerting(config(text).node("gpu1"))
    rules = _rules(found)
    assert rules["hungry"] == Rule(
        "hungry", "brctl_gpu_power_watts", ">", 690, hold_s=30, clear=600, clear_s=120, min_samples=3,
        severity=Severity.INFO, action="exec", labels=(Label("team", "hpc"), Label("tier", "1")), unit="watts",
    )  # fmt: skip
    assert (rules["idle"].comparison, round(rules["idle"].clear or 0)) == ("<", 110)
    assert (rules["gpu-down"].severity, rules["gpu-down"].threshold) == (Severity.CRITICAL, 1)
    assert (rules["rdma-down"].reading, rules["rdma-down"].hold_s, rules["rdma-down"].clear) == ("lost", 5, None)
    assert "gpu-hot" not in rules
    assert found.sinks == (
        ("hungry", ("/usr/local/bin/page", "gpu"), None),
        ("gpu-down", (), "https://alerts.example.org/hook"),
    )


def test_an_override(config: Load) -> None:
    found = config(
        "alerting: {gpu_temperature: {threshold: 85, action: throttle}}\n"
        "overrides: [{nodes: gpu2, alerting: {gpu_temperature: {threshold: 80}}}]\n"
    )
    first, second = (_rules(alerting(found.node(node)))["gpu-temperature"] for node in ("gpu1", "gpu2"))
    assert (first.threshold, second.threshold) == (85, 80)
    assert second.action == "throttle"


BAD = {
    "x: {for: 0s}": "alerting.x: no alert is called 'x'",
    "gpu_tempertaure: {threshold: 85}": "alerting.gpu_tempertaure: no alert is called 'gpu-tempertaure'",
    "x: {metric: brctl_gpu_heat, threshold: 1}": "alerting.x: no series is called 'brctl_gpu_heat'",
    "x: {metric: brctl_gpu_power_watts}": "alerting.x: an alert of your own needs a threshold",
    "gpu_temperature: {threshold: 85W}": "alerting.gpu_temperature.threshold: "
    "85W does not suit brctl_gpu_temperature_celsius",
    "gpu_slowed_by_heat: {threshold: 5}": "alerting.gpu_slowed_by_heat.threshold: "
    "5 does not suit brctl_gpu_clocks_event_ratio",
    "gpu_temperature: {threshold: 85, clear: 90}": "alerting.gpu_temperature: it would end before it fires",
    "gpu_hot: {threshold: 5, clear: 3}": "alerting.gpu_hot: it would end before it fires",
    "gpu_hot: {action: exec}": "alerting.gpu_hot: action exec needs a command",
    "gpu_hot: {action: webhook}": "alerting.gpu_hot: action webhook needs a url",
    'gpu_hot: {url: "http://x/"}': "alerting.gpu_hot: url is of action webhook alone",
    "network_loss: {action: throttle}": "alerting.network_loss: throttle cannot help against brctl_rdma_loss_ratio",
    "gpu_hot: {action: reroute}": "alerting.gpu_hot: reroute cannot help against brctl_gpu_temperature_margin_celsius",
    "gpu_hot: {}, gpu-hot: {}": "alerting.gpu-hot: gpu-hot is the same alert as gpu_hot",
}


@pytest.mark.parametrize("text", BAD)
def test_what_cannot_be_meant(text: str, config: Load) -> None:
    with pytest.raises(ConfigError) as refused:
        config(f"alerting: {{{text}}}\n")
    first = refused.value.mistakes[0]
    assert f"{first.path}: {first.message}".startswith(BAD[text])
    assert first.hint


def test_rules_of_a_whole_cluster_say_of_which_nodes_each_is(config: Load) -> None:
    text = """\
alerting: {gpu_temperature: {threshold: 85}}
overrides:
  - {nodes: gpu1, alerting: {gpu_temperature: {threshold: 90}, gpu_hot: {action: none}}}
  - {nodes: gpu2, alerting: {gpu_temperature: {threshold: 85, action: throttle, min_samples: 3}}}
  - {nodes: gpu3, alerting: {hungry: {metric: brctl_gpu_power_watts, threshold: 690W, labels: {team: a}}}}
"""
    found = of_all_nodes(config(text))
    told = [(rule.id, rule.threshold, rule.only, rule.labels) for rule in found if rule.id not in _same(config, found)]
    assert told == [
        ("gpu-hot", 5, (Matcher("node", ("gpu1",), other=True),), ()),
        ("gpu-temperature", 85, (Matcher("node", ("gpu1",), other=True),), ()),
        ("gpu-temperature", 90, (Matcher("node", ("gpu1",)),), (Label("nodes", "gpu1"),)),
        ("hungry", 690, (Matcher("node", ("gpu3",)),), (Label("team", "a"), Label("nodes", "gpu3"))),
    ]
    assert of_all_nodes(config("")) == alerting(None).rules


def _same(config: Load, found: tuple[Rule, ...]) -> set[str]:
    usual = {rule.id: rule for rule in alerting(None).rules}
    return {rule.id for rule in found if usual.get(rule.id) == rule}
