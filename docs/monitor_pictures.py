"""Draws the live view for the README: page monitor.svg and fleet.svg of generate.py.

The machine is the mock dgx-h100 with a lost GPU; how busy it is at which tick is made up here, so that the picture is
the same each time.
"""

import io
import math
import re
from functools import cache

from pictures import WIDTH, svg
from rich.console import Console

from brctl.mock.machines import load
from brctl.node.monitor.sampler import Sampler
from brctl.node.report import Report, State
from brctl.render.live.frame import frame
from brctl.render.live.ink import ink
from brctl.render.live.view import View
from brctl.render.live.watch import Watch

_TICKS = 52
_MACHINE = "dgx-h100+gpu3-lost"


def monitor() -> str:
    """One node."""
    watch, report = Watch(1.0), _report(_MACHINE)
    for tick in range(_TICKS):
        watch.take([_at(report, tick, 0)], float(tick))
    return _drawn(f"--mock {_MACHINE} monitor", watch, 29)


def fleet() -> str:
    """128 nodes."""
    watch, report, healthy = Watch(1.0), _of_gpus(_report(_MACHINE)), _of_gpus(_report("dgx-h100"))
    for tick in range(_TICKS):
        reports = [
            _at(report if node == 17 else healthy, tick, node)._replace(node=f"gpu{node:03}") for node in range(1, 129)
        ]
        watch.take(reports, float(tick))
    return _drawn("--mock dgx-h100,gpu017=dgx-h100+gpu3-lost -w gpu[001-128] monitor", watch, 20)


def _report(machine):
    host = load(machine)
    sampler = Sampler(host)
    tick = sampler.tick(first=True)
    samples = tuple(sample for block in tick.blocks for sample in block.samples)
    rates = [series for series in sampler.series if series.name in _RATES]
    made = [
        sample._replace(series=series.name, value=0.0, state=State.MEASURED)
        for series in rates
        for sample in samples
        if sample.series == series.name.replace("_per_second", "_total")
    ]
    made += [
        sample._replace(series="brctl_disk_busy_ratio", value=0.0)
        for sample in samples
        if sample.series == "brctl_disk_read_bytes_total"
    ]
    made += [
        sample._replace(series="brctl_cpu_utilization_ratio", labels=(), value=0.31)
        for sample in samples
        if sample.series == "brctl_load_average"
    ]
    return Report("gpu001", 0.0, 0.0, host.mock, notes=tick.notes, series=sampler.series, samples=(*samples, *made))


_RATES = {
    f"brctl_{kind}_{way}_bytes_per_second"
    for kind, ways in (
        ("network", ("receive", "transmit")),
        ("rdma", ("receive", "transmit")),
        ("gpu_nvlink", ("receive", "transmit")),
        ("disk", ("read", "write")),
    )
    for way in ways
}


def _of_gpus(report):
    """What a row is made of, which is a twentieth of all."""
    needed = {"brctl_gpu_up", *(name for name in _busy_values(0, 0, 0) if name.startswith("brctl_gpu"))}
    needed.add("brctl_gpu_memory_total_bytes")
    return report._replace(samples=tuple(sample for sample in report.samples if sample.series in needed))


def _at(report, tick, node):
    samples = tuple(_busy(sample, tick, node) for sample in report.samples)
    return report._replace(samples=samples, notes=() if tick else report.notes)


def _busy(sample, tick, node):
    label = sample.labels[0] if sample.labels else ""
    values = _busy_values(tick, node, int(label) if label.isdecimal() else 0)
    known = sample.state is State.MEASURED and sample.series in values
    return sample._replace(value=values[sample.series]) if known else sample


@cache
def _busy_values(tick, node, gpu):
    """A job that goes in steps, on GPUs that are not quite alike."""
    use = 0.9 + 0.08 * math.sin(tick * 0.7 + gpu + node) if tick % 23 < 19 else 0.25 + gpu / 40
    return {
        "brctl_gpu_utilization_ratio": use,
        "brctl_gpu_memory_used_bytes": (66 + gpu % 3) * 2**30,
        "brctl_gpu_temperature_celsius": 58 + 9 * use + (gpu * 3 + node) % 7,
        "brctl_gpu_temperature_margin_celsius": 30 - 9 * use,
        "brctl_gpu_power_watts": 120 + 550 * use,
        "brctl_gpu_clock_hertz": 1.98e9 - (gpu % 2) * 3e7,
        "brctl_network_receive_bytes_per_second": 3e6,
        "brctl_network_transmit_bytes_per_second": 2e6,
        "brctl_rdma_receive_bytes_per_second": 41e9 * use,
        "brctl_rdma_transmit_bytes_per_second": 40e9 * use,
        "brctl_gpu_nvlink_receive_bytes_per_second": 150e9 * use,
        "brctl_gpu_nvlink_transmit_bytes_per_second": 150e9 * use,
        "brctl_disk_read_bytes_per_second": 2.1e9 * use,
        "brctl_disk_write_bytes_per_second": 4e7,
        "brctl_disk_busy_ratio": use / 2,
    }


def _drawn(arguments, watch, height):
    console = Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", width=WIDTH, no_color=False)
    pen, view = ink(console, "utf-8"), View()
    drawn = frame(watch.scene(view, pen, float(_TICKS)), view, WIDTH, height, pen)
    text = re.sub(r"\d\d:\d\d:\d\d", "11:02:33", "\n".join(drawn.lines))
    return svg(f"brctl {arguments}", text)
