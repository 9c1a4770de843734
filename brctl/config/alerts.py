"""What `alerting` of the config comes to for one node: rules, and what their actions need."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from ..node.alert_facts import Label, Matcher, Rule, Severity, Sink
from ..node.monitor.alert_rules import DEFAULTS
from ..node.report import Series
from .mistake import Mistake
from .models import Alert
from .nodes import fold_all, nearest_or
from .resolve import Config, Node
from .source import Loc
from .units import Amount, RefusedError

_COMPARISONS = {"from": ">=", "above": ">", "below": "<", "up-to": "<="}
_CELSIUS_SHORT, _PART_SHORT = 3.0, 0.1
"""How far short of the threshold an alert ends where `clear` is not given: a sensor's noise is a degree or two, a
rate's is a few percent."""
_UNITS = {"celsius": ("", "C"), "watts": ("", "W"), "ratio": ("%",)}
"""How a threshold may be written, by the unit of the series; plain numbers elsewhere."""
_DEFAULTS = {default.rule.id: default.rule for default in DEFAULTS}


class LevelError(RefusedError):
    """A threshold that does not suit its series."""


class Alerting(NamedTuple):
    rules: tuple[Rule, ...]
    sinks: tuple[Sink, ...] = ()


def alerting(node: Node | None) -> Alerting:
    """Of a node; our own rules alone where there is no config."""
    given = {rule_id(name): alert for name, alert in node.alerting.items()} if node else {}
    own = [rule for rule in _DEFAULTS.values() if rule.id not in given]
    theirs = [_rule(name, alert) for name, alert in given.items() if alert.action != "none"]
    sinks = [Sink(name, it.command or (), it.url) for name, it in given.items() if it.command or it.url]
    order = {name: i for i, name in enumerate(_DEFAULTS)}
    rules = sorted((*own, *theirs), key=lambda rule: order.get(rule.id, len(order)))
    return Alerting(tuple(rules), tuple(sinks))


def of_all_nodes(config: Config) -> tuple[Rule, ...]:
    """The rules of a whole cluster in one list: where `overrides` say otherwise of some nodes, a rule is there once
    for these, which its label `nodes` names, and once for all others. What only `brctl monitor` does is not told apart.
    """
    by_layers: dict[object, list[str]] = {}
    for node in config.nodes:
        by_layers.setdefault(config.layers_of.get(node, ()), []).append(node)
    usual = _told_outside(config, None)
    differing: dict[str, dict[Rule | None, list[str]]] = {}
    for names in by_layers.values():
        there = _told_outside(config, names[0])
        for name in {**usual, **there}:
            if there.get(name) != usual.get(name):
                differing.setdefault(name, {}).setdefault(there.get(name), []).extend(names)
    found: list[Rule] = []
    for name in dict.fromkeys((*usual, *differing)):
        others = differing.get(name, {})
        found += [_but(usual[name], others)] if name in usual else []
        found += [_only(rule, nodes) for rule, nodes in others.items() if rule]
    return tuple(found)


def _told_outside(config: Config, node: str | None) -> dict[str, Rule]:
    """What Prometheus can be told of a node's rules."""
    return {rule.id: rule._replace(action="log", min_samples=1) for rule in alerting(config.node(node)).rules}


def _but(rule: Rule, others: Mapping[Rule | None, list[str]]) -> Rule:
    nodes = tuple(node for names in others.values() for node in names)
    return rule._replace(only=(*rule.only, Matcher("node", nodes, other=True))) if nodes else rule


def _only(rule: Rule, nodes: Sequence[str]) -> Rule:
    label = Label("nodes", fold_all(nodes))
    return rule._replace(only=(*rule.only, Matcher("node", tuple(nodes))), labels=(*rule.labels, label))


def rule_id(name: str) -> str:
    """`gpu-temperature` of `gpu_temperature`."""
    return name.replace("_", "-")


def all_names(config: Config | None) -> tuple[str, ...]:
    """Of every alert that there is on any node."""
    given = [name for _, part in config.parts() for name in part.alerting] if config else []
    return tuple(dict.fromkeys((*_DEFAULTS, *map(rule_id, given))))


def metrics(config: Config | None, names: Collection[str]) -> frozenset[str]:
    """The series that alerts of these names look at, on any node."""
    given = [item for _, part in config.parts() for item in part.alerting.items()] if config else []
    looks = [*((name, rule.series) for name, rule in _DEFAULTS.items()), *((rule_id(n), a.metric) for n, a in given)]
    return frozenset(series for name, series in looks if name in names and series)


def _rule(name: str, alert: Alert) -> Rule:
    """Raises RefusedError: there is no such series, or the threshold does not suit it."""
    base = _base(name, alert)
    if alert.threshold is None and name not in _DEFAULTS:
        raise RefusedError("an alert of your own needs a threshold", "for example: threshold: 650W")
    about = _ABOUT.get(alert.action)
    if about and not base.series.startswith(about):
        hint = f"it is for alerts of {about}...; drain, exec and webhook are for all"
        raise RefusedError(f"{alert.action} cannot help against {base.series}", hint)
    comparison = _COMPARISONS[alert.fires] if alert.fires else base.comparison
    given = alert.threshold is not None or alert.metric is not None or alert.fires is not None
    threshold = _level(base, alert.threshold) if alert.threshold else base.threshold
    clear = (
        _level(base, alert.clear) if alert.clear else _short_of(base, threshold, comparison) if given else base.clear
    )
    rises = comparison in (">", ">=")
    if clear is not None and (clear > threshold if rises else clear < threshold):
        raise RefusedError("it would end before it fires", f"clear is {'below' if rises else 'above'} the threshold")
    return base._replace(
        comparison=comparison,
        threshold=threshold,
        unless=None if given and base.unit == "celsius" else base.unless,  # a limit that is asked for is meant
        hold_s=alert.hold,
        clear=clear,
        clear_s=alert.clear_for,
        min_samples=alert.min_samples,
        severity=Severity(alert.severity) if alert.severity else base.severity,
        action=alert.action,
        labels=tuple(Label(key, value) for key, value in alert.labels.items()),
    )


def _base(name: str, alert: Alert) -> Rule:
    if alert.metric is None:
        if name in _DEFAULTS:
            return _DEFAULTS[name]
        hint = nearest_or(name, _DEFAULTS, "one of your own needs its metric: brctl_gpu_power_watts").replace("-", "_")
        raise RefusedError(f"no alert is called {name!r}", hint)
    series = all_series().get(alert.metric)
    if series is None:
        raise RefusedError(
            f"no series is called {alert.metric!r}", nearest_or(alert.metric, all_series(), "see docs/metrics.md")
        )
    return Rule(name, series.name, ">=", 0.0, unit=series.unit)


def _level(rule: Rule, level: Amount) -> float:
    units = _UNITS.get(rule.unit, ("",))
    if rule.series == "brctl_rdma_loss_ratio" and level.unit != "%":
        raise LevelError("a loss is a share of the packets", "write it in percent: 0.001%")
    if level.unit not in units:
        what = f"{level.value:g}{level.unit}"
        raise LevelError(f"{what} does not suit {rule.series}", f"write it as {_EXAMPLES.get(rule.unit, '5')}")
    return level.value / 100 if level.unit == "%" else level.value


_ABOUT = {"throttle": "brctl_gpu_", "reroute": "brctl_rdma_"}
"""What an action needs to be told: which GPU, which RDMA device."""
_EXAMPLES = {"celsius": "85", "watts": "650W", "ratio": "10%"}


def _short_of(rule: Rule, threshold: float, comparison: str) -> float | None:
    """Where an alert ends by default; None, the threshold itself, for counts and states."""
    if rule.unit not in _UNITS:
        return None
    step = _CELSIUS_SHORT if rule.unit == "celsius" else threshold * _PART_SHORT
    return threshold - step if comparison in (">", ">=") else threshold + step


@cache
def all_series() -> Mapping[str, Series]:
    """What a node measures, by name."""
    from ..node.monitor import own, registry

    found = {series.name: series for collector in registry() for series in collector.series}
    return found | {series.name: series for series in own.SERIES}


def mistakes(config: Config) -> Iterator[Mistake]:
    """What cannot be meant by the alerts of a config."""
    for loc, part in config.parts():
        seen: dict[str, str] = {}
        for name, alert in part.alerting.items():
            here: Loc = (*loc, "alerting", name)
            other = seen.setdefault(rule_id(name), name)
            if other != name:
                yield config.mistake(here, f"{name} is the same alert as {other}", "write it once", key=True)
            try:
                _rule(rule_id(name), alert)
            except LevelError as refused:
                yield config.mistake((*here, "threshold"), str(refused), refused.hint)
            except RefusedError as refused:
                yield config.mistake(here, str(refused), refused.hint, key=True)
