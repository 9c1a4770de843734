"""No GPU repeats PCIe packets at a high rate.

A replay repairs a packet that arrived damaged; a few are normal, so that totals of hundreds stand on healthy boards.
NVIDIA's DCGM allows so many a minute for each lane, by the generation of the link. Less than a minute between two looks
is taken for one, that a burst of a moment is not made a rate.
"""

from math import ceil
from typing import Dict, Optional, Sequence

from ...facts import Gpu
from ...report import Evidence, Finding, Status
from .. import Case, Check, Threshold
from ..growth import growths
from ..verdicts import ANSWERING, WELL, Verdict, judge

_CALL = "nvmlDeviceGetPcieReplayCounter"
_PER_LANE: Dict[int, float] = {1: 0.15, 2: 0.3, 3: 0.48, 4: 0.96, 5: 1.92, 6: 3.84}
"""Replays a minute, by generation (DCGM, DcgmGPUHardwareLimits.h)."""
_REMEDY = "look for AER lines of the port above in the kernel log; reseat the board or riser, then replace it"


def run(case: Case) -> Sequence[Finding]:
    factor = case.thresholds["of_allowance"] / 100
    well = "PCIe replays within what DCGM allows"
    return judge(CHECK, case, lambda gpu: _look(case, gpu, factor), well, "at what rate it repeats PCIe packets")


def _look(case: Case, gpu: Gpu, factor: float) -> Optional[Verdict]:
    pcie = gpu.pcie
    allowed = _PER_LANE.get(pcie.generation or 0) if pcie else None
    found = growths(case, gpu, lambda other: other.pcie.replay_counter if other.pcie else None)
    if pcie is None or allowed is None or not pcie.width or not found:
        return None
    for growth in found:
        most = ceil(pcie.width * allowed * factor * max(1.0, growth.seconds / 60))
        if growth.amount > most:
            evidence = (Evidence("replays", growth.text, _CALL), Evidence("allowed", str(most), "DCGM"))
            text = "{:.0f} PCIe packets repeated, {} allowed in that time".format(growth.amount, most)
            return Verdict(Status.WARN, text, evidence, _REMEDY)
    return WELL


CHECK = Check(
    id="gpu-pcie-replay",
    title="No GPU repeats PCIe packets at a high rate",
    tags=("health", "counter"),
    needs=("gpus",),
    run=run,
    thresholds=(Threshold("of_allowance", 100, "percent", "of what DCGM allows: 0.15 to 3.84 a minute and lane"),),
    group="gpu",
    after=(*ANSWERING, "gpu-pcie"),
)
