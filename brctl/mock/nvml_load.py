"""A mocked GPU that works: its telemetry as a function of a seed, its index and the time."""

import math
from typing import Any, Dict

from .nvml_answer import Values

_PERIODS_S = (7.0, 31.0, 113.0)
"""Of the waves that the load is made of: steps, epochs, jobs. They have no common measure, so nothing repeats."""
_WARMING_C = 45
"""From idle to full load; 70 to 75 C is what air-cooled boards of 700 W show in public captures."""
_FEVER_C = 62
"""Of the key fever_s: an H100 that idles at 30 C has then no margin left."""
_IDLE = 0.02


def load(seed: int, index: int, time_s: float) -> float:
    """From 0, idle, to 1."""
    waves = [math.sin(2 * math.pi * time_s / period + _phase(seed, index, period)) for period in _PERIODS_S]
    level = 0.5 + sum(waves) / 4
    return 0.0 if level < _IDLE else min(1.0, level)


def fever(values: Values, seed: int, age_s: float) -> Dict[str, Any]:
    """The values that change while a GPU is too warm; `age_s` is the time since the library was loaded."""
    level = math.sin(math.pi * min(1.0, age_s / values["fever_s"])) ** 2
    tremble = math.sin(2 * math.pi * age_s + _phase(seed, values["index"], 1))
    changed = working(values, level, age_s, _FEVER_C + tremble)
    if changed.get("temperature_margin_celsius", 1) <= 0:  # it slows itself down
        changed["clocks_event_reasons"] = ["sw_thermal_slowdown", *changed.get("clocks_event_reasons", ())]
    return changed


def working(values: Values, level: float, time_s: float, warming_c: float = _WARMING_C) -> Dict[str, Any]:
    """The values that change where the GPU works at `level`, in proportion between those at idle and its limits. What
    the GPU does not have stays so. `warming_c`: at full load and the default power limit."""
    idle_watts, limit = values.get("power_average_watts"), values.get("enforced_power_limit_watts")
    warmer = round(level * warming_c * min(1.0, (limit or 1) / (values.get("default_power_limit_watts") or limit or 1)))
    changed: Dict[str, Any] = {}
    if idle_watts is not None and limit is not None:
        watts = idle_watts + level * max(0.0, limit - idle_watts)
        changed["power_average_watts"] = changed["power_instant_watts"] = watts
        changed["energy_joules"] = (values.get("energy_joules") or 0) + (idle_watts + limit) / 2 * time_s
    for key, most in (("gpu", 100), ("memory", 60)):
        changed[key + "_utilization_percent"] = round(level * most)
    for key in ("temperature_celsius", "memory_temperature_celsius"):
        changed[key] = (values.get(key) or 0) + warmer
    if values.get("temperature_margin_celsius") is not None:
        changed["temperature_margin_celsius"] = values["temperature_margin_celsius"] - warmer
    if values.get("memory_total_bytes"):
        reserved, used = values.get("memory_reserved_bytes") or 0, values.get("memory_used_bytes") or 0
        grown = int(level * 0.9 * (values["memory_total_bytes"] - reserved - used))
        changed["memory_used_bytes"] = used + grown
        changed["processes"] = [  # one without a figure is the one that works
            {**one, "memory_bytes": grown} if one["memory_bytes"] is None else one
            for one in values.get("processes") or ()
        ]
    for key in ("graphics_clock_mhz", "sm_clock_mhz"):
        changed[key] = values.get("max_" + key) if level else values.get(key)
    for key in ("pcie_tx_bytes", "pcie_rx_bytes", "nvlink_tx_kib", "nvlink_rx_kib"):
        changed[key] = (values.get(key) or 0) + int(1e6 * time_s)
    reasons = [reason for reason in values.get("clocks_event_reasons") or () if reason != "gpu_idle"]
    changed["clocks_event_reasons"] = reasons if level else ["gpu_idle", *reasons]
    return {key: value for key, value in changed.items() if values.get(key) is not None}


def _phase(seed: int, index: int, period: float) -> float:
    return (seed * 7919 + index * 104729 + int(period) * 1299709) % 6283 / 1000.0
