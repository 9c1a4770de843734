"""A Grafana dashboard, made of the registry: what calls for somebody first, then a row for each collector."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ..node.monitor import Collector
from ..node.report import Series

_UNITS = {
    "celsius": "celsius", "watts": "watt", "bytes": "bytes", "bytes per second": "Bps", "ratio": "percentunit",
    "hertz": "hertz", "seconds": "s", "joules": "joule", "revolutions per minute": "rotrpm",
}  # fmt: skip
"""Ours -> Grafana's. What is not here is a plain number."""
_RATES = {"bytes": "Bps", "joules": "watt", "seconds": "percentunit"}
"""What a counter's growth in a second is: joules a second are watts."""
_WIDTH, _HEIGHT = 8, 7
_COLUMNS = 24
_FIRST = (
    ("Nodes that do not answer", "count(brctl_node_up{{{0}}} == 0) or vector(0)", "short"),
    ("GPUs that do not answer", "count(brctl_gpu_up{{{0}}} == 0) or vector(0)", "short"),
    ("GPUs", "count(brctl_gpu_up{{{0}}})", "short"),
    ("Use of all GPUs", "avg(brctl_gpu_utilization_ratio{{{0}}})", "percentunit"),
    ("Hottest GPU", "max(brctl_gpu_temperature_celsius{{{0}}})", "celsius"),
    ("Power of all GPUs", "sum(brctl_gpu_power_watts{{{0}}})", "watt"),
)
_NODE = 'node=~"$node"'


def text(collectors: Sequence[Collector]) -> str:
    """The JSON that Grafana imports."""
    return json.dumps(_dashboard(collectors), indent=1) + "\n"


def expressions(collectors: Sequence[Collector]) -> Iterator[str]:
    """All that its panels ask Prometheus."""
    for panel in _dashboard(collectors)["panels"]:
        for each in (panel, *panel.get("panels", ())):
            yield from (target["expr"] for target in each.get("targets", ()))


def _dashboard(collectors: Sequence[Collector]) -> dict[str, Any]:
    panels: list[dict[str, Any]] = []
    for place, (title, expr, unit) in enumerate(_FIRST):
        panels.append(_panel("stat", title, expr.format(_NODE), "", unit, place * 4, 0, 4, 4))
    for line, collector in enumerate(collectors, 4):
        drawn = [_series(series) for series in collector.series if not series.name.endswith("_info")]
        if drawn:
            panels.append(_row(collector.title, line, drawn))
    for number, each in enumerate((each for panel in panels for each in (panel, *panel.get("panels", ()))), 1):
        each["id"] = number
    return {
        "uid": "brctl",
        "title": "brctl",
        "tags": ["brctl"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [_datasource(), _nodes()]},
        "panels": panels,
    }


def _row(title: str, line: int, panels: list[dict[str, Any]]) -> dict[str, Any]:
    """Closed: its panels ask nothing until somebody opens it."""
    for place, panel in enumerate(panels):
        row, column = divmod(place * _WIDTH, _COLUMNS)
        panel["gridPos"] = {"x": column, "y": line + 1 + row * _HEIGHT, "w": _WIDTH, "h": _HEIGHT}
    grid = {"x": 0, "y": line, "w": _COLUMNS, "h": 1}
    return {"type": "row", "title": title, "collapsed": True, "gridPos": grid, "panels": panels}


def _series(series: Series) -> dict[str, Any]:
    counted = series.kind == "counter"
    chosen = f"{series.name}{{{_NODE}}}"
    expr = f"rate({chosen}[$__rate_interval])" if counted else chosen
    unit = (_RATES if counted else _UNITS).get(series.unit, "short")
    labels = [label for label in ("node", *series.labels) if label != "uuid"]
    legend = " ".join(f"{{{{{label}}}}}" for label in labels)
    title = series.name.removeprefix("brctl_").removesuffix("_total").replace("_", " ")
    panel = _panel("timeseries", title + (", a second" if counted else ""), expr, legend, unit, 0, 0, _WIDTH, _HEIGHT)
    return {**panel, "description": f"{series.help} Read from {series.source}."}


def _panel(
    kind: str, title: str, expr: str, legend: str, unit: str, x: int, y: int, width: int, height: int
) -> dict[str, Any]:
    return {
        "type": kind,
        "title": title,
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "gridPos": {"x": x, "y": y, "w": width, "h": height},
        "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
        "targets": [{"refId": "A", "expr": expr, "legendFormat": legend or "__auto"}],
    }


def _datasource() -> dict[str, Any]:
    return {"name": "datasource", "type": "datasource", "query": "prometheus"}


def _nodes() -> dict[str, Any]:
    return {
        "name": "node",
        "type": "query",
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "query": "label_values(brctl_node_up, node)",
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }
