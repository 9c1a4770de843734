"""Nothing but load and settings holds a GPU's clocks down.

Each reason is judged by itself: a power supply's brake signal and the hardware's thermal slowdown are critical, the
driver's thermal slowdown and a hardware slowdown without a stated cause are warnings. Idle, the power cap at full load
and clocks that somebody set are no faults. A reason counts if it is active now, or was for more than a share of the
time since an earlier look; how often it was since the driver was loaded does not count (NVIDIA/DCGM#242).
"""

from typing import Callable, NamedTuple, Optional, Sequence, Tuple

from ...facts import Gpu, GpuTelemetry
from ...report import Evidence, Finding, Status
from .. import Case, Check, Threshold
from ..growth import Growth, growths, span
from ..verdicts import ANSWERING, WELL, Verdict, judge

_COOL = (
    "look at fans, air flow and inlet temperature (ipmitool sdr), clean dust; compare with the other GPUs: one alone "
    "is its heat sink; until then lower the power limit (brctl tune apply --set gpu.power_limit=80%)"
)
_POWER = (
    "look at the power supplies and their cables (ipmitool sdr, sel list) and at the board's power brake signal; drain"
)
_CALL = "nvmlDeviceGetCurrentClocksEventReasons"
_NS = 1e9


class _Reason(NamedTuple):
    status: Status
    words: str
    remedy: str
    held_ns: Callable[[GpuTelemetry], Optional[int]] = lambda _: None


_REASONS = {
    "hw_power_brake_slowdown": _Reason(
        Status.CRIT,
        "the power brake signal slows it down",
        _POWER,
        lambda values: values.hw_power_brake_slowdown_ns,
    ),
    "hw_thermal_slowdown": _Reason(
        Status.CRIT, "the hardware slows it down for heat", _COOL, lambda values: values.hw_thermal_slowdown_ns
    ),
    "sw_thermal_slowdown": _Reason(
        Status.WARN, "the driver slows it down for heat", _COOL, lambda values: values.sw_thermal_slowdown_ns
    ),
    "hw_slowdown": _Reason(Status.WARN, "the hardware slows it down, and does not say why", _POWER),
}
"""Worst first. The general hw_slowdown is set with each of the two that are more precise."""


def run(case: Case) -> Sequence[Finding]:
    limit = case.thresholds["share"]
    return judge(CHECK, case, lambda gpu: _look(case, gpu, limit), "not slowed down", "what slows it down")


def _look(case: Case, gpu: Gpu, limit: float) -> Optional[Verdict]:
    active = gpu.telemetry.clocks_event_reasons if gpu.telemetry else None
    if active is None:
        return None
    for name, reason in _REASONS.items():
        share = _share(case, gpu, reason)
        if name in active or (share and share.per_second * 100 / _NS >= limit):
            return Verdict(reason.status, reason.words, _evidence(name, active, share), reason.remedy)
    return WELL


def _share(case: Case, gpu: Gpu, reason: _Reason) -> Optional[Growth]:
    found = growths(case, gpu, lambda other: reason.held_ns(other.telemetry) if other.telemetry else None)
    return max(found, key=lambda growth: growth.per_second, default=None)


def _evidence(name: str, active: Sequence[str], share: Optional[Growth]) -> Tuple[Evidence, ...]:
    now = Evidence("active now", ", ".join(active) or "none", _CALL)
    if share is None:
        return (now,)
    percent = min(100.0, share.per_second * 100 / _NS)
    text = "{:.0f} % of {}, since {}".format(percent, span(share.seconds), share.since)
    return now, Evidence(name, text, "nvmlDeviceGetFieldValues")


CHECK = Check(
    id="gpu-throttle",
    title="Nothing but load and settings holds the clocks of a GPU down",
    tags=("health", "counter"),
    needs=("gpus",),
    run=run,
    thresholds=(
        Threshold("share", 1, "percent", "zero is no violation (NVIDIA/DCGM#242); below a percent no job would notice"),
    ),
    group="gpu",
    after=(*ANSWERING, "gpu-temperature"),
)
