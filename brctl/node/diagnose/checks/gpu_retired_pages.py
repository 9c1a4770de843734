"""No page of a GPU's memory waits to be retired, and few have been (before Ampere).

A pending retirement takes effect at the next reboot or driver load: a warning. NVIDIA replaces a board at 64 retired
pages, which is the most that it can hold.
"""

from typing import Optional, Sequence

from ...facts import Gpu
from ...report import Evidence, Finding, Status
from .. import Case, Check, Threshold
from ..verdicts import ANSWERING, WELL, Verdict, judge

_CALLS = ("nvmlDeviceGetRetiredPages(0)", "nvmlDeviceGetRetiredPages(1)", "nvmlDeviceGetRetiredPagesPendingStatus")
_REBOOT = "let its work end, then reboot, or unload and load the driver"
_REPLACE = "drain the node and have the GPU replaced (RMA)"


def run(case: Case) -> Sequence[Finding]:
    most = case.thresholds["retired_pages"]
    return judge(CHECK, case, lambda gpu: _look(gpu, most), "no page waits to be retired", "its retired pages")


def _look(gpu: Gpu, most: float) -> Optional[Verdict]:
    errors = gpu.errors
    values = (
        (errors.retired_pages_sbe, errors.retired_pages_dbe, errors.retired_pages_pending) if errors else (None,) * 3
    )
    if all(value is None for value in values):
        return None
    single, double, pending = values
    retired = (single or 0) + (double or 0)
    evidence = tuple(
        Evidence(what, ("yes" if value else "no") if isinstance(value, bool) else str(value), call)
        for what, value, call in zip(("for single-bit errors", "for double-bit errors", "pending"), values, _CALLS)
        if value is not None
    )
    if retired >= most:
        return Verdict(Status.CRIT, "{} retired pages".format(retired), evidence, _REPLACE)
    if pending:
        return Verdict(Status.WARN, "a page of its memory waits for a reboot to be retired", evidence, _REBOOT)
    return WELL


CHECK = Check(
    id="gpu-retired-pages",
    title="No page of GPU memory waits to be retired",
    tags=("health",),
    needs=("gpus",),
    run=run,
    thresholds=(
        Threshold(
            "retired_pages", 63, "pages", "DCGM fails a GPU from 63 on; the InfoROM holds 64 (NVIDIA, page retirement)"
        ),
    ),
    group="gpu",
    after=ANSWERING,
)
