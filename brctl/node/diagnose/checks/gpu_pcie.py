"""The PCIe link of every GPU is as wide and fast as the two ends of it can.

The width is always judged. Fewer lanes than both ends have are a fault where most GPUs of the model have more, critical
at less than half of those; all alike are of that design (a slot of eight lanes). A GPU alone, which nothing can be
compared with, is noted, and a warning at less than half. The generation is judged only of a GPU that works in one of
its fastest states, as idle links slow down (ASPM): a slow one is then a warning.
"""

from typing import Dict, List, Optional, Sequence, Tuple

from ...facts import Gpu
from ...report import Evidence, Finding, Status
from .. import Case, Check, Threshold, gpus
from ..verdicts import ANSWERING, WELL, Verdict, judge

_WIDTH, _MOST = "nvmlDeviceGetCurrPcieLinkWidth", "nvmlDeviceGetMaxPcieLinkWidth"
_GENERATION, _NEWEST = "nvmlDeviceGetCurrPcieLinkGeneration", "nvmlDeviceGetMaxPcieLinkGeneration"
_REMEDY = (
    "look for AER lines in the kernel log and at LnkSta of the port above (lspci -vv); drain, power-cycle cold, and "
    "reseat the board or riser if it stays so"
)


def run(case: Case) -> Sequence[Finding]:
    widths: Dict[Optional[str], List[int]] = {}
    for gpu in case.seen.gpus or ():
        if not gpu.fault and gpu.pcie and gpu.pcie.width:
            widths.setdefault(gpus.model(gpu), []).append(gpu.pcie.width)
    busy = case.thresholds["busy"]
    return judge(
        CHECK, case, lambda gpu: _look(gpu, widths, busy), "PCIe links as wide as they can be", "its PCIe link"
    )


def _look(gpu: Gpu, widths: Dict[Optional[str], List[int]], busy: float) -> Optional[Verdict]:
    pcie = gpu.pcie
    if pcie is None or not pcie.width:
        return None
    if pcie.max_width and pcie.width < pcie.max_width:
        verdict = _narrow(pcie.width, pcie.max_width, widths[gpus.model(gpu)])
        if verdict:
            return verdict
    if pcie.generation and pcie.max_generation and pcie.generation < pcie.max_generation and gpus.works(gpu, busy):
        text = "PCIe generation {} of {} under load".format(pcie.generation, pcie.max_generation)
        evidence = _pair(("generation", pcie.generation, _GENERATION), ("both ends can", pcie.max_generation, _NEWEST))
        return Verdict(Status.WARN, text, evidence, _REMEDY)
    return WELL


def _narrow(width: int, most: int, siblings: Sequence[int]) -> Optional[Verdict]:
    """Nothing to say of it where most of the siblings are no wider."""
    evidence = _pair(("lanes", width, _WIDTH), ("both ends have", most, _MOST))
    text = "{} of {} PCIe lanes".format(width, most)
    wider = [other for other in siblings if other > width]
    if 2 * len(wider) > len(siblings):
        evidence += (Evidence("{} siblings".format(len(wider)), "{} lanes".format(max(wider)), _WIDTH),)
        return Verdict(Status.CRIT if 2 * width < most else Status.WARN, text, evidence, _REMEDY)
    if len(siblings) > 1:
        return None
    status = Status.WARN if 2 * width < most else Status.INFO
    return Verdict(status, text + ", and no sibling to compare", evidence, _REMEDY)


def _pair(*values: Tuple[str, int, str]) -> Tuple[Evidence, ...]:
    return tuple(Evidence(what, str(value), source) for what, value, source in values)


CHECK = Check(
    id="gpu-pcie",
    title="The PCIe link of every GPU is as wide and fast as it can be",
    tags=("health",),
    needs=("gpus",),
    run=run,
    thresholds=(Threshold("busy", 10, "percent", "a GPU that works has its link at full speed; idle ones save power"),),
    group="gpu",
    after=ANSWERING,
)
