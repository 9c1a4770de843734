"""Rules tried on samples that were recorded: `brctl monitor -o jsonl`, a line a node and tick."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, BinaryIO

from ..node.alert_facts import Alert, Event, Rule
from ..node.monitor.alerts import evaluate
from ..node.report import Sample, Series, State

_LONGEST_BYTES = 16 << 20
"""Of a line. A tick of eight GPUs has 0.1 MB, with all labels spelled out."""


class InvalidRecordingError(Exception):
    """A line is none of `brctl monitor -o jsonl`, or there is none."""


class CutShortError(Exception):
    """The last line is not whole: the recorder was killed, or its disk was full."""


def recorded(file: BinaryIO) -> Iterator[str]:
    """Its lines. Raises OSError, InvalidRecordingError: one is longer than any tick."""
    for number in count(1):
        line = file.readline(_LONGEST_BYTES + 1)
        if not line:
            return
        if len(line) > _LONGEST_BYTES:
            raise InvalidRecordingError(f"line {number} is longer than {_LONGEST_BYTES >> 20} MiB, and no tick is")
        yield line.decode("utf-8", "replace")


def replay(lines: Iterable[str], rules: Callable[[str], Sequence[Rule]]) -> Iterator[Event]:
    """What happens, in order. Raises InvalidRecordingError; CutShortError at the end: all else has been judged."""
    alerts: dict[str, tuple[Alert, ...]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            node, at, series, samples = _tick(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            if alerts and not line.endswith("\n"):
                raise CutShortError(f"the last line, {number}, is cut short, and was left out") from None
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
