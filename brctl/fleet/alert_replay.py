"""Rules tried on samples that were recorded: `brctl monitor -o jsonl`, a line a node and tick."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..node.alert_facts import Alert, Event, Rule
from ..node.monitor.alerts import evaluate
from ..node.report import Sample, Series, State


class InvalidRecordingError(Exception):
    """A line is none of `brctl monitor -o jsonl`, or there is none."""


def replay(lines: Iterable[str], rules: Callable[[str], Sequence[Rule]]) -> Iterator[Event]:
    """What happens, in order. Raises InvalidRecordingError."""
    alerts: dict[str, tuple[Alert, ...]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            node, at, series, samples = _tick(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise InvalidRecordingError(f"line {number} is no tick: {type(error).__name__}: {error}") from None
        alerts[node], events = evaluate(rules(node), alerts.get(node, ()), node, series, samples, at)
        yield from events
    if not alerts:
        raise InvalidRecordingError("no sample is in it")


def _tick(plain: Mapping[str, Any]) -> tuple[str, float, Sequence[Series], Sequence[Sample]]:
    names: dict[str, tuple[str, ...]] = {}
    samples = []
    for one in plain["samples"]:
        labels = one["labels"]
        names[one["series"]] = tuple(labels)
        value = None if one["value"] is None else float(one["value"])
        samples.append(
            Sample(str(one["series"]), tuple(map(str, labels.values())), value, State(one["state"]), float(one["at"]))
        )
    series = [Series(name, "", "", labels, "", "", "") for name, labels in names.items()]
    return str(plain["node"]), float(plain["time"]), series, samples
