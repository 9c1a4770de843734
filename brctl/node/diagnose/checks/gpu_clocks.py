"""A GPU that is busy runs as fast as its busy siblings, or has a reason not to.

Only GPUs that work are judged: idle ones lower their clocks. Below the median of three or more busy GPUs of the model
is a warning; so is less than half of the highest clock for which the GPU gives no reason.
"""

from typing import Dict, List, Optional, Sequence, Tuple

from ...facts import Gpu
from ...report import Evidence, Finding, Status
from ...siblings import median
from .. import Case, Check, Threshold, gpus
from ..verdicts import ANSWERING, WELL, Verdict, judge

_CALL = "nvmlDeviceGetClockInfo(1)"
_MOST, _REASONS = "nvmlDeviceGetMaxClockInfo(1)", "nvmlDeviceGetCurrentClocksEventReasons"
_REMEDY = (
    "see that no clocks are locked (nvidia-smi -q -d CLOCK; brctl tune apply --only gpu-clocks sets them anew); "
    "otherwise drain, reset the GPU, and measure it against a sibling"
)
_FEWEST = 3
"""Of two that differ, nobody knows which is right."""


def run(case: Case) -> Sequence[Finding]:
    busy = [gpu for gpu in case.seen.gpus or () if gpus.works(gpu, case.thresholds["busy"])]
    usual = _usual(busy)
    return judge(
        CHECK, case, lambda gpu: _look(gpu, usual, case) if gpu in busy else None, "busy and fast", "of a load"
    )


def _look(gpu: Gpu, usual: Dict[Optional[str], float], case: Case) -> Optional[Verdict]:
    clock, most = _clock(gpu), gpu.limits.max_sm_clock_mhz if gpu.limits else None
    if clock is None:
        return None
    evidence: Tuple[Evidence, ...] = (Evidence("SM clock", "{} MHz".format(clock), _CALL),)
    common = usual.get(gpus.model(gpu))
    if common and clock < common * (1 - case.thresholds["below_siblings"] / 100):
        evidence += (Evidence("busy siblings", "{:.0f} MHz".format(common), _CALL),)
        return Verdict(
            Status.WARN, "busy at {} MHz, its siblings at {:.0f} MHz".format(clock, common), evidence, _REMEDY
        )
    reasons = gpu.telemetry.clocks_event_reasons if gpu.telemetry else None
    if most and reasons == () and clock < most * case.thresholds["of_maximum"] / 100:
        evidence += (Evidence("highest", "{} MHz".format(most), _MOST), Evidence("reasons", "none", _REASONS))
        return Verdict(Status.WARN, "busy at {} of {} MHz, for no stated reason".format(clock, most), evidence, _REMEDY)
    return WELL


def _usual(busy: Sequence[Gpu]) -> Dict[Optional[str], float]:
    clocks: Dict[Optional[str], List[int]] = {}
    for gpu in busy:
        clock = _clock(gpu)
        if clock is not None:
            clocks.setdefault(gpus.model(gpu), []).append(clock)
    return {model: median(values) for model, values in clocks.items() if len(values) >= _FEWEST}


def _clock(gpu: Gpu) -> Optional[int]:
    return gpu.telemetry.sm_clock_mhz if gpu.telemetry else None


CHECK = Check(
    id="gpu-clocks",
    title="A busy GPU runs as fast as its siblings",
    tags=("health",),
    needs=("gpus",),
    run=run,
    thresholds=(
        Threshold("busy", 90, "percent", "below that, gaps in the load lower the clocks"),
        Threshold(
            "below_siblings", 20, "percent", "FALCON (arXiv 2410.12588) counts 10 % over a time; one look needs more"
        ),
        Threshold(
            "of_maximum", 50, "percent", "SXM boards at their power cap run at 65 % and more of the highest clock"
        ),
    ),
    group="gpu",
    after=(*ANSWERING, "gpu-temperature", "gpu-throttle", "gpu-power"),
)
