"""No GPU has had more uncorrected errors of its SRAM than it may.

The GPU itself compares with its threshold (Ampere and later) and asks to be replaced. Fewer, since the driver was
loaded, are a warning: SRAM has no spare rows.
"""

from typing import Optional, Sequence, Tuple

from ...facts import Gpu
from ...report import Evidence, Finding, Status
from .. import Case, Check
from ..verdicts import ANSWERING, WELL, Verdict, judge

_CALL = "nvmlDeviceGetSramEccErrorStatus"
_RESET = "drain and reset the GPU; have it replaced if the count grows again"


def run(case: Case) -> Sequence[Finding]:
    return judge(CHECK, case, _look, "no uncorrected SRAM error since the driver was loaded", "errors of its SRAM")


def _look(gpu: Gpu) -> Optional[Verdict]:
    errors = gpu.errors
    counts = (errors.sram_volatile_parity, errors.sram_volatile_secded) if errors else (None, None)
    exceeded = errors.sram_threshold_exceeded if errors else None
    if exceeded is None and counts == (None, None):
        return None
    count = sum(value or 0 for value in counts)
    evidence: Tuple[Evidence, ...] = (Evidence("uncorrected since driver load", str(count), _CALL),)
    if exceeded:
        evidence += (Evidence("threshold exceeded", "yes", _CALL),)
        text = "more uncorrected SRAM errors than the GPU may have"
        return Verdict(Status.CRIT, text, evidence, "drain the node and have the GPU replaced (RMA)")
    if count:
        text = "1 uncorrected SRAM error" if count == 1 else "{} uncorrected SRAM errors".format(count)
        return Verdict(Status.WARN, text + " since the driver was loaded", evidence, _RESET)
    return WELL


CHECK = Check(
    id="gpu-sram",
    title="No GPU has too many uncorrected errors of its SRAM",
    tags=("health",),
    needs=("gpus",),
    run=run,
    group="gpu",
    after=ANSWERING,
)
