"""No GPU has had an uncorrected ECC error since its driver was loaded.

One is a warning: on Ampere and later the error is contained, what used the memory was ended, and the row is remapped
at the next reset, which also clears the counter. One that came while brctl looked, or since the baseline, is critical.
Other tools (DCGM, Meta's GCM, AWS) call any such count a failure of the GPU; gpud never does.
"""

from typing import Optional, Sequence, Tuple

from ...facts import Gpu
from ...report import Evidence, Finding, Status
from .. import Case, Check
from ..growth import growths
from ..verdicts import ANSWERING, WELL, Verdict, judge

_CALL = "nvmlDeviceGetTotalEccErrors(1, 0)"
_REMEDY = (
    "restart what ran on it, whose results are in doubt; look for Xid 48, 63, 64, 94 and 95 in the kernel log; drain "
    "and reset the GPU; have it replaced if it happens again right after"
)


def run(case: Case) -> Sequence[Finding]:
    well = "no uncorrected ECC error since the driver was loaded"
    return judge(CHECK, case, lambda gpu: _look(case, gpu), well, "ECC errors")


def _look(case: Case, gpu: Gpu) -> Optional[Verdict]:
    count = _count(gpu)
    if not count:
        return None if count is None else WELL
    grown = [growth for growth in growths(case, gpu, _count) if growth.amount]
    evidence: Tuple[Evidence, ...] = (Evidence("uncorrected since driver load", str(count), _CALL),)
    evidence += tuple(Evidence("growth", growth.text, _CALL) for growth in grown)
    text = "{} uncorrected ECC error{} since the driver was loaded".format(count, "" if count == 1 else "s")
    return Verdict(Status.CRIT if grown else Status.WARN, text, evidence, _REMEDY)


def _count(gpu: Gpu) -> Optional[int]:
    return gpu.errors.volatile_uncorrected if gpu.errors else None


CHECK = Check(
    id="gpu-ecc-volatile",
    title="No GPU has had an uncorrected ECC error since driver load",
    tags=("health", "counter"),
    needs=("gpus",),
    run=run,
    group="gpu",
    after=(*ANSWERING, "gpu-remap", "gpu-retired-pages", "gpu-sram"),
)
