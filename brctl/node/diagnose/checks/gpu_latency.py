"""The driver answers for every GPU as fast as for its siblings.

A GPU that keeps the driver busy, as one that corrects thousands of ECC errors a second does, makes each call wait
(NVIDIA/DCGM#313), and so every tool and job that asks. The time that the second look at a GPU took is compared with the
median of its siblings; a call that does not come back at all is the business of gpu-responding.
"""

from typing import Optional, Sequence

from ...facts import Gpu
from ...report import Evidence, Finding, Status
from ...siblings import median
from .. import Case, Check, Threshold
from ..verdicts import ANSWERING, WELL, Verdict, judge

_REMEDY = (
    "look for ECC errors and Xids of this GPU, and for what asks it all the time (fuser -v /dev/nvidia*); drain the "
    "node and reset it"
)
_FEWEST = 3
"""Siblings: of two that differ, nobody knows which is right."""


def run(case: Case) -> Sequence[Finding]:
    times = [taken for taken in map(_taken, case.seen.gpus or ()) if taken is not None]
    usual = median(times) if len(times) >= _FEWEST else None
    return judge(CHECK, case, lambda gpu: _look(case, gpu, usual), "read without delay", "how long its calls take")


def _look(case: Case, gpu: Gpu, usual: Optional[float]) -> Optional[Verdict]:
    taken = _taken(gpu)
    if taken is None or usual is None:
        return None
    if taken < case.thresholds["reading"] or taken < usual * case.thresholds["times_siblings"]:
        return WELL
    evidence = (
        Evidence("one look", _text(taken), "NVML"),
        Evidence("median of all GPUs", _text(usual), "NVML"),
    )
    text = "the driver takes {} to tell of it, of its siblings {}".format(_text(taken), _text(usual))
    return Verdict(Status.WARN, text, evidence, _REMEDY)


def _text(seconds: float) -> str:
    return "{:.1f} s".format(seconds) if seconds >= 1 else "{:.0f} ms".format(seconds * 1000)


def _taken(gpu: Gpu) -> Optional[float]:
    return None if gpu.fault or gpu.health is None else gpu.health.reading_s


CHECK = Check(
    id="gpu-latency",
    title="The driver answers for every GPU as fast as for its siblings",
    tags=("health",),
    needs=("gpus",),
    run=run,
    thresholds=(
        Threshold("reading", 1, "seconds", "forty calls take less than 0.1 s where all is well; GPUs share the driver"),
        Threshold("times_siblings", 4, "times", "all slow alike is the host's load, and no GPU's fault"),
    ),
    group="gpu",
    after=(*ANSWERING, "gpu-ecc-rate"),
)
