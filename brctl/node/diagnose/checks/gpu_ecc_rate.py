"""No GPU corrects ECC errors at a high rate.

Corrected errors do no harm by themselves, and totals of millions stand on healthy boards; but a storm of them slows
down every call into the driver (NVIDIA/DCGM#313), and goes before an uncorrected one. The rate is judged.
"""

from typing import Optional, Sequence

from ...facts import Gpu
from ...report import Evidence, Finding, Status
from .. import Case, Check, Threshold
from ..growth import growths, sustained
from ..verdicts import ANSWERING, WELL, Verdict, judge

_CALL = "nvmlDeviceGetTotalEccErrors(0, 0)"
_REMEDY = "drain the node, reset the GPU, and watch the rate; have the GPU replaced if it comes back"


def run(case: Case) -> Sequence[Finding]:
    limit = case.thresholds["corrected_per_second"]
    well = "corrected ECC errors below {:g}/s".format(limit)
    return judge(CHECK, case, lambda gpu: _look(case, gpu, limit), well, "at what rate it corrects ECC errors")


def _look(case: Case, gpu: Gpu, limit: float) -> Optional[Verdict]:
    found = growths(case, gpu, _count)
    if not found:
        return None
    worst = max(found, key=sustained)
    if sustained(worst) < limit:
        return WELL
    evidence = (Evidence("corrected ECC errors", worst.text, _CALL),)
    return Verdict(Status.WARN, "{:.0f} corrected ECC errors a second".format(worst.per_second), evidence, _REMEDY)


def _count(gpu: Gpu) -> Optional[int]:
    return gpu.errors.volatile_corrected if gpu.errors else None


CHECK = Check(
    id="gpu-ecc-rate",
    title="No GPU corrects ECC errors at a high rate",
    tags=("health", "counter"),
    needs=("gpus",),
    run=run,
    thresholds=(
        Threshold(
            "corrected_per_second",
            100,
            "per second",
            "healthy boards show none for days; NVIDIA/DCGM#313 tells of 17,700/s on the way to failure",
        ),
    ),
    group="gpu",
    after=ANSWERING,
)
