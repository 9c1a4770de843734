"""Every GPU is cool enough, by the degrees that are left until it slows down.

Ada, Hopper and later tell that margin themselves, and it counts down (nvidia-smi's T.Limit): 56 is cool. Of Ampere and
earlier it is their slowdown temperature less the present one. None left is critical.
"""

from typing import Optional, Sequence, Tuple

from ...facts import Gpu
from ...report import Evidence, Finding, Status
from .. import Case, Check, Threshold
from ..verdicts import ANSWERING, WELL, Verdict, judge

_REMEDY = (
    "look at fans, air flow and inlet temperature (ipmitool sdr), clean dust; compare with the other GPUs: one alone "
    "is its heat sink; until then lower the power limit (brctl tune apply --set gpu.power_limit=80%)"
)


def run(case: Case) -> Sequence[Finding]:
    least = case.thresholds["margin"]
    return judge(CHECK, case, lambda gpu: _look(gpu, least), "more than {:g} C left".format(least), "its margin")


def _look(gpu: Gpu, least: float) -> Optional[Verdict]:
    margin, evidence = _margin(gpu)
    if margin is None:
        return None
    if margin > least:
        return WELL
    status = Status.CRIT if margin <= 0 else Status.WARN
    text = "{} C left until it slows down".format(margin) if margin > 0 else "hot: {} C past its limit".format(-margin)
    return Verdict(status, text, evidence, _REMEDY)


def _margin(gpu: Gpu) -> Tuple[Optional[int], Tuple[Evidence, ...]]:
    now = gpu.telemetry.temperature_celsius if gpu.telemetry else None
    told = gpu.telemetry.temperature_margin_celsius if gpu.telemetry else None
    limit = gpu.limits.slowdown_celsius if gpu.limits else None
    read = () if now is None else (Evidence("temperature", "{} C".format(now), "nvmlDeviceGetTemperature"),)
    if told is not None:
        return told, (*read, Evidence("margin", "{} C".format(told), "nvmlDeviceGetMarginTemperature"))
    if now is None or limit is None:
        return None, ()
    source = "nvmlDeviceGetTemperatureThreshold(1)"
    return limit - now, (*read, Evidence("slows down at", "{} C".format(limit), source))


CHECK = Check(
    id="gpu-temperature",
    title="Every GPU is cool enough",
    tags=("health",),
    needs=("gpus",),
    run=run,
    thresholds=(
        Threshold(
            "margin", 3, "celsius", "at 0 the driver begins to slow down (nvidia-smi, T.Limit); 3 is the sensor's haste"
        ),
    ),
    group="gpu",
    after=ANSWERING,
)
