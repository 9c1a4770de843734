"""Every Series of every collector: page metrics.md of generate.py."""

from __future__ import annotations  # a test of the oldest Python reads this page

import sys

from brctl.fleet.alert_series import SERIES
from brctl.node.monitor import Collector, own, registry
from brctl.node.report import Series


def page() -> str:
    parts = [_entry(collector) for collector in registry()]
    return _HEAD + "\n".join((*parts, _OWN + _table(own.SERIES), _ALERTS + _table(SERIES)))


def _entry(collector: Collector) -> str:
    work = collector.of_host or collector.of_gpu or collector.of_peers
    doc = (sys.modules[work.__module__].__doc__ or "").strip() if work else ""
    part = "of each GPU" if collector.of_gpu else "of the host"
    head = f"## {collector.id}\n\n{collector.title}: {part}, every {collector.every_s:g} s at most.\n\n{doc}\n\n"
    return head + _table(collector.series)


def _table(series: tuple[Series, ...]) -> str:
    rows = (
        f"| `{one.name}` | {one.kind} | {', '.join(one.labels)} | {one.unit} | {one.help} | {_cell(one.source)} |\n"
        for one in series
    )
    return "| series | kind | labels | unit | is | read from |\n|---|---|---|---|---|---|\n" + "".join(rows)


def _cell(text: str) -> str:
    return f"`{text}`" if "*" in text or "/" in text else text


_HEAD = """\
# Metrics

Made from the collectors' own files by `python docs/generate.py`.

Names are Prometheus': base units, `_ratio` from 0 to 1, counters end in `_total`. A value is `measured`, `stale` (it
was measured before and cannot be now), `unsupported` (the part has no such value) or in `timeout` (a call hangs); only
the first is a number. What is absent is never 0. Rates are of the time between two looks, by the monotonic clock; a
counter that goes back was reset and gives none in that tick. In Prometheus' form all series also bear `node`.

`monitor.collectors.NAME.every` of the config sets how often a collector looks; none looks more often than the ticks
(`--interval`) come.

"""
_OWN = f"""\
## {own.SAMPLER}

What brctl measures of itself, and of the GPUs as a whole. What it costs (from
`brctl_monitor_cpu_seconds_total` on) is told every five seconds, and at once where a collector fails, hangs or is well
again, or a tick was left out.

"""
_ALERTS = """\
## alerts

What `brctl monitor` works out of the samples of all nodes; no collector measures it, and `--once` has none of it.

"""


if __name__ == "__main__":
    sys.stdout.write(page())
