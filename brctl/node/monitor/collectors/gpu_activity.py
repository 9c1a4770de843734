"""How busy each GPU is, how fast, at what power, and what slows it down.

Power is told three ways: the driver's average of the last second, the moment, and the energy counter's growth between
two looks, which is the true average of that time. Clocks event reasons are told as they are now, and, for those that
the driver counts, as the share of the time since the last look that they slowed the GPU down.
"""

from functools import lru_cache
from typing import Optional, Sequence, Tuple

from ...accel.nvml_words import EVENT_REASONS
from ...meter_facts import GpuActivity
from .. import GPU_LABELS, Collector, Kind, Reading, Readings, WatchedGpu
from ..previous import Previous

_made = Kind("gpu-activity", GPU_LABELS)
_UTILIZATION = _made.gauge(
    "gpu_utilization_ratio",
    "ratio",
    "Part of the last sample period in which a kernel ran.",
    "nvmlDeviceGetUtilizationRates",
)
_MEMORY = _made.gauge(
    "gpu_memory_utilization_ratio",
    "ratio",
    "Part of the last sample period in which memory was read or written.",
    "nvmlDeviceGetUtilizationRates",
)
_CLOCK = _made.gauge("gpu_clock_hertz", "hertz", "Clock of a domain: sm or memory.", "nvmlDeviceGetClockInfo", "clock")
_AVERAGE = _made.gauge("gpu_power_average_watts", "watts", "Power, averaged by the driver over 1 s.", "field 185")
_INSTANT = _made.gauge("gpu_power_watts", "watts", "Power at this moment.", "field 186")
_ENERGY = _made.counter("gpu_energy_joules_total", "joules", "Energy since the driver was loaded.", "field 83")
_BY_ENERGY = _made.gauge(
    "gpu_power_by_energy_watts", "watts", "Power since the last look, by the energy counter.", "field 83"
)
_REASON = _made.gauge(
    "gpu_clocks_event_active",
    "",
    "1: this holds the clocks down now.",
    "nvmlDeviceGetCurrentClocksEventReasons",
    "reason",
)
_SLOWED = _made.counter(
    "gpu_clocks_event_seconds_total",
    "seconds",
    "How long this has slowed the GPU down since the driver was loaded.",
    "fields 74, 269 to 271 (251 to 253 in branch 575)",
    "reason",
)
_SHARE = _made.gauge(
    "gpu_clocks_event_ratio",
    "ratio",
    "Part of the time since the last look in which this slowed the GPU down.",
    "fields 74, 269 to 271 (251 to 253 in branch 575)",
    "reason",
)
_REASONS = EVENT_REASONS[: EVENT_REASONS.index("hw_power_brake_slowdown") + 1]
"""The later ones are of displays and of consumer boards."""
_COUNTED = ("sw_power_cap", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")


def run(gpu: WatchedGpu, previous: Previous) -> Readings:
    seen = gpu.meter.activity()
    yield Reading(_UTILIZATION, _part(seen.gpu_utilization_percent))
    yield Reading(_MEMORY, _part(seen.memory_utilization_percent))
    for clock, mhz in (("sm", seen.sm_clock_mhz), ("memory", seen.memory_clock_mhz)):
        yield Reading(_CLOCK, None if mhz is None else mhz * 1e6, (clock,))
    yield Reading(_AVERAGE, seen.power_average_watts)
    yield Reading(_INSTANT, seen.power_instant_watts)
    yield Reading(_ENERGY, seen.energy_joules)
    watts = previous.rate("energy", seen.energy_joules)
    if watts is not None:
        yield Reading(_BY_ENERGY, watts)
    yield from _reasons(seen, previous)


def _reasons(seen: GpuActivity, previous: Previous) -> Readings:
    yield from _active(seen.clocks_event_reasons)
    for reason in _COUNTED:
        spent_ns = getattr(seen, reason + "_ns")
        spent_s = None if spent_ns is None else spent_ns / 1e9
        yield Reading(_SLOWED, spent_s, (reason,))
        share = previous.share(reason, spent_s)
        if share is not None:
            yield Reading(_SHARE, share, (reason,))


@lru_cache(maxsize=256)
def _active(reasons: Optional[Tuple[str, ...]]) -> Sequence[Reading]:
    return [Reading(_REASON, None if reasons is None else float(each in reasons), (each,)) for each in _REASONS]


def _part(percent: Optional[int]) -> Optional[float]:
    return None if percent is None else percent / 100


COLLECTOR = Collector(
    id="gpu-activity",
    title="GPU utilisation, clocks, power, and what slows it down",
    every_s=0.1,
    series=tuple(_made.all),
    of_gpu=run,
)
