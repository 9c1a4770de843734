"""No row of a GPU's memory waits to be remapped, could not be, and few have been (Ampere and later).

A pending remap takes effect at the next reset: a warning, for work may end first. A failed one means that the bank has
no spare rows left and the GPU is to be replaced, however few were remapped (leptonai/gpud#219); so does the most that
NVIDIA's own diagnostics allow. Rows that were remapped are repaired, and only noted by their number.
"""

from typing import Optional, Sequence, Tuple

from ...facts import Gpu, GpuErrors
from ...report import Evidence, Finding, Status
from .. import Case, Check, Threshold
from ..verdicts import ANSWERING, WELL, Verdict, judge

_CALL = "nvmlDeviceGetRemappedRows"
_RESET = "let its work end, then reset the GPU (nvidia-smi --gpu-reset; with NVSwitch all GPUs of the node) or reboot"
_REPLACE = "drain the node and have the GPU replaced (RMA)"


def run(case: Case) -> Sequence[Finding]:
    most = case.thresholds["uncorrectable_rows"]
    return judge(CHECK, case, lambda gpu: _look(gpu, most), "no row waits to be remapped", "its remapped rows")


def _look(gpu: Gpu, most: float) -> Optional[Verdict]:
    errors = gpu.errors
    if errors is None or (errors.remap_pending is None and errors.remap_failure is None):
        return None
    rows = errors.remapped_rows_uncorrectable or 0
    evidence = _evidence(errors)
    if errors.remap_failure:
        return Verdict(Status.CRIT, "a row of its memory could not be remapped", evidence, _REPLACE)
    if rows >= most:
        text = "{} rows remapped for uncorrected errors, {:g} is the most".format(rows, most)
        return Verdict(Status.CRIT, text, evidence, _REPLACE)
    if errors.remap_pending:
        return Verdict(Status.WARN, "a row of its memory waits for a reset to be remapped", evidence, _RESET)
    return WELL


def _evidence(errors: GpuErrors) -> Tuple[Evidence, ...]:
    values = (
        ("failure", errors.remap_failure),
        ("pending", errors.remap_pending),
        ("rows remapped for uncorrected errors", errors.remapped_rows_uncorrectable),
        ("rows remapped for corrected errors", errors.remapped_rows_correctable),
    )
    words = {True: "yes", False: "no"}
    told = [
        (what, words[value] if isinstance(value, bool) else str(value)) for what, value in values if value is not None
    ]
    return tuple(Evidence(what, text, _CALL) for what, text in told)


CHECK = Check(
    id="gpu-remap",
    title="No row of GPU memory waits to be remapped or could not be",
    tags=("health",),
    needs=("gpus",),
    run=run,
    thresholds=(Threshold("uncorrectable_rows", 512, "rows", "DCGM, DCGM_LIMIT_MAX_ROW_REMAP_UNCORRECTABLE"),),
    group="gpu",
    after=(*ANSWERING, "gpu-sram"),
)
