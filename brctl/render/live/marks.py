"""From where on a value is marked: where an alert of our own rules would begin, and by its severity."""

from __future__ import annotations

from ...node.alert_facts import Severity
from ...node.monitor.alert_readings import compared
from ...node.monitor.alert_rules import DEFAULTS

_RULES = {default.rule.id: default.rule for default in DEFAULTS}


def mark(rule: str, value: float | None) -> str:
    """`crit` or `warn` where the value meets the condition of the rule of this id, however long it does; else nothing.
    What the config says of the rule is not asked."""
    asked = _RULES[rule]
    if value is None or not compared(value, asked.comparison, asked.threshold):
        return ""
    return "crit" if asked.severity is Severity.CRITICAL else "warn"
