"""No GPU's lifetime count of uncorrected ECC errors grows.

The total is of the board's whole life, also of what was long repaired, and is only noted. Growth while brctl looked,
or since the baseline, is a warning.
"""

from typing import Optional, Sequence, Tuple

from ...facts import Gpu
from ...report import Evidence, Finding, Status
from .. import Case, Check
from ..growth import growths
from ..verdicts import ANSWERING, WELL, Verdict, judge

_CALL = "nvmlDeviceGetTotalEccErrors(1, 1)"
_REMEDY = (
    "compare with the kernel log (Xid 48, 63, 94, 95); drain and reset the GPU; replace it if the count goes on growing"
)


def run(case: Case) -> Sequence[Finding]:
    well = "no uncorrected ECC error in their life"
    return judge(CHECK, case, lambda gpu: _look(case, gpu), well, "the ECC errors of its life")


def _look(case: Case, gpu: Gpu) -> Optional[Verdict]:
    count = _count(gpu)
    if not count:
        return None if count is None else WELL
    grown = [growth for growth in growths(case, gpu, _count) if growth.amount]
    evidence: Tuple[Evidence, ...] = (Evidence("uncorrected in its life", str(count), _CALL),)
    if not grown:
        errors = "1 uncorrected ECC error" if count == 1 else "{} uncorrected ECC errors".format(count)
        return Verdict(Status.INFO, errors + " in its life, none new", evidence)
    evidence += tuple(Evidence("growth", growth.text, _CALL) for growth in grown)
    return Verdict(Status.WARN, "uncorrected ECC errors {}".format(grown[0].text), evidence, _REMEDY)


def _count(gpu: Gpu) -> Optional[int]:
    return gpu.errors.aggregate_uncorrected if gpu.errors else None


CHECK = Check(
    id="gpu-ecc-aggregate",
    title="No lifetime count of uncorrected ECC errors grows",
    tags=("health", "counter"),
    needs=("gpus",),
    run=run,
    group="gpu",
    after=(*ANSWERING, "gpu-ecc-volatile", "gpu-remap", "gpu-retired-pages", "gpu-sram"),
)
