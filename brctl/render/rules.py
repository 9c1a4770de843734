"""Rules for Prometheus, of the same registry that `brctl monitor` evaluates itself: `brctl monitor rules`.

One rule becomes one alert, BrctlGpuHot of gpu-hot. What Prometheus cannot say is left to `brctl monitor`: the least
number of samples, and that a missing value ends nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from ..fleet.alert_series import NODE_UP, SERIES
from ..node.alert_facts import Rule
from ..node.monitor import own, registry
from ..node.monitor.alert_readings import duration
from ..node.monitor.alert_rules import DEFAULTS, Default
from ..node.report import Series


class Record(NamedTuple):
    """What is worked out once, for dashboards and for other rules."""

    name: str
    expr: str
    says: str


_USE = "brctl_gpu_utilization_ratio"
_PART = f"({_USE} > 0) / on (node) group_left sum by (node) ({_USE})"
RECORDS = (
    Record("node:brctl_gpu_utilization_ratio:avg", f"avg by (node) ({_USE})", "Mean use of a node's GPUs."),
    Record("node:brctl_gpu_utilization_ratio:min", f"min by (node) ({_USE})", "Use of the least used one."),
    Record("node:brctl_gpu_power_watts:sum", "sum by (node) (brctl_gpu_power_watts)", "Power of a node's GPUs."),
    Record(
        "node:brctl_gpu_utilization_ratio:balance",
        f"-sum by (node) (({_PART}) * ln({_PART})) / ln(count by (node) ({_USE}) > 1)",
        "How evenly the work lies on a node's GPUs: entropy / ln n, 0 to 1. Absent without work or with one GPU; GPUs "
        "whose use is not known are left out.",
    ),
)


def text(runbooks: str | None, rules: Sequence[Rule] | None = None) -> str:
    """A rules file. `runbooks`: where docs/alerts.md can be read, an address that `#gpu-down` is put behind. `rules`:
    our own where nothing is said."""
    import yaml

    chosen = [default.rule for default in DEFAULTS] if rules is None else rules
    records = [{"record": each.name, "expr": each.expr} for each in RECORDS]
    groups = [
        {"name": "brctl-records", "rules": records},
        {"name": "brctl", "rules": [_rule(rule, runbooks) for rule in chosen]},
    ]
    return str(yaml.safe_dump({"groups": groups}, sort_keys=False, width=110, allow_unicode=True))


def alert_name(rule: Rule) -> str:
    """`BrctlGpuHot`"""
    return "Brctl" + "".join(word.capitalize() for word in re.split("[-.]", rule.id))


def _rule(rule: Rule, runbooks: str | None) -> dict[str, object]:
    annotations = {"summary": _summary(rule)}
    default = known().get(rule.id)
    if default:
        annotations["description"] = f"{default.why} {default.do}"
        if default.explained:
            annotations["runbook"] = f"brctl diagnose explain {default.explained}"
    if runbooks and default:
        annotations["runbook_url"] = f"{runbooks}#{rule.id}"
    made: dict[str, object] = {"alert": alert_name(rule), "expr": expression(rule), "for": duration(rule.hold_s)}
    if rule.clear_s:
        made["keep_firing_for"] = duration(rule.clear_s)
    labels = {"severity": rule.severity.value, **{label.name: label.value for label in rule.labels}}
    return {**made, "labels": labels, "annotations": annotations}


@cache
def known() -> Mapping[str, Default]:
    """Our own rules, by id."""
    return {default.rule.id: default for default in DEFAULTS}


def _summary(rule: Rule) -> str:
    """In Prometheus' template language; what the config gave is no template."""
    if not rule.summary:
        return f"{rule.series} of {{{{ $labels.node }}}} is {_VALUE.get(rule.unit, '{{ $value }}')}"
    text = re.sub(r"\{(\w+)\}", r"{{ $labels.\1 }}", rule.summary)
    return text.replace("{{ $labels.value }}", _VALUE.get(rule.unit, "{{ $value }}"))


_VALUE = {"ratio": "{{ $value | humanizePercentage }}", "celsius": "{{ $value }} C", "watts": "{{ $value }} W"}


def expression(rule: Rule) -> str:
    """When it fires, in PromQL: the condition; and, as long as it fires, what must be over for it to end."""
    fires = _condition(rule, rule.threshold)
    if rule.clear is not None and rule.clear != rule.threshold:
        labels = ", ".join(("node", *_labels(rule.series)))
        state = f'ALERTS{{alertname="{alert_name(rule)}",alertstate="firing"}}'
        fires = f"({fires}) or (({_condition(rule, rule.clear)}) and on ({labels}) {state})"
    return f"({fires}) unless {_series(rule, rule.unless)} != 0" if rule.unless else fires


def _condition(rule: Rule, threshold: float) -> str:
    it, limit = _series(rule, rule.series), f"{rule.comparison} {threshold:.15g}"
    if rule.reading == "increase":
        return f"increase({it}[{duration(rule.window_s)}]) {limit}"
    if rule.reading == "lost":
        return f"{it} == 0 and max_over_time({it}[{duration(rule.window_s)}]) == 1"
    if rule.reading == "age":
        return f"time() - {it} {limit}"
    if rule.other and rule.reading == "ratio":
        return f"{it} / {rule.other} {limit}"
    return f"{rule.other} - {it} {limit}" if rule.other else f"{it} {limit}"


def _series(rule: Rule, name: str) -> str:
    """With what the rule selects, where the series has such a label."""
    selected = [f'{it.label}{"!~" if it.other else "=~"}"{"|".join(map(_literally, it.values))}"' for it in rule.only]
    return f"{name}{{{','.join(selected)}}}" if selected and name == rule.series else name


def _literally(value: str) -> str:
    """In a regular expression; a dot stands in node names."""
    return value.replace(".", "[.]")


@cache
def _all() -> Mapping[str, Series]:
    every: Iterable[Series] = (*own.SERIES, NODE_UP, *SERIES, *(one for each in registry() for one in each.series))
    return {one.name: one for one in every}


def _labels(series: str) -> Sequence[str]:
    return _all()[series].labels
