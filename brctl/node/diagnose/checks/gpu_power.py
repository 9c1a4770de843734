"""Every GPU may draw the power that is requested for it, and as much as its siblings.

The limit that is enforced is the least of all, also of those that the board or a management controller sets behind the
driver's back: one below what was requested is a warning. So is one that differs from that of most GPUs of its model,
as of one V100 at 150 W among siblings at 300 W.
"""

from typing import Dict, List, Optional, Sequence, Tuple

from ...facts import Gpu
from ...report import Evidence, Finding, Status, Subject
from ...siblings import compare
from .. import Case, Check, Threshold, gpus
from ..verdicts import ANSWERING, WELL, Verdict, judge

_CALL, _REQUESTED = "nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPowerManagementLimit"
_BRAKE = (
    "it was set out of band: look at the power supplies and at the management controller's power cap (ipmitool dcmi "
    "power get_limit), then at the board's power connector"
)
_ALIGN = "give it its siblings' limit: brctl tune apply --set gpu.power_limit=100%"


def run(case: Case) -> Sequence[Finding]:
    usual = _usual(case.seen.gpus or ())
    tolerance = case.thresholds["tolerance"] / 100
    well = "power limit as requested and as of the siblings"
    return judge(CHECK, case, lambda gpu: _look(gpu, usual, tolerance), well, "its power limit")


def _look(gpu: Gpu, usual: Dict[Optional[str], float], tolerance: float) -> Optional[Verdict]:
    enforced, requested = _limits(gpu)
    if enforced is None:
        return None
    evidence: Tuple[Evidence, ...] = (Evidence("enforced", "{:g} W".format(enforced), _CALL),)
    if requested is not None and enforced < requested * (1 - tolerance):
        evidence += (Evidence("requested", "{:g} W".format(requested), _REQUESTED),)
        text = "{:g} W are enforced from outside, {:g} W requested".format(enforced, requested)
        return Verdict(Status.WARN, text, evidence, _BRAKE)
    common = usual.get(gpus.model(gpu))
    if common is not None and abs(enforced - common) > common * tolerance:
        evidence += (Evidence("most siblings", "{:g} W".format(common), _CALL),)
        return Verdict(
            Status.WARN, "limited to {:g} W, its siblings to {:g} W".format(enforced, common), evidence, _ALIGN
        )
    return WELL


def _usual(known: Sequence[Gpu]) -> Dict[Optional[str], float]:
    """By model, the limit of a strict majority."""
    models: Dict[Optional[str], List[Tuple[Subject, float]]] = {}
    for gpu in known:
        enforced = _limits(gpu)[0]
        if enforced is not None and not gpu.fault:
            models.setdefault(gpus.model(gpu), []).append((gpus.subject(gpu), enforced))
    compared = {model: compare(values) for model, values in models.items()}
    return {model: found.common.value for model, found in compared.items() if found and found.common}


def _limits(gpu: Gpu) -> Tuple[Optional[float], Optional[float]]:
    limits = gpu.limits
    return (limits.enforced_power_limit_watts, limits.power_limit_watts) if limits else (None, None)


CHECK = Check(
    id="gpu-power",
    title="Every GPU may draw the power that is requested for it",
    tags=("health",),
    needs=("gpus",),
    run=run,
    thresholds=(Threshold("tolerance", 1, "percent", "limits are whole watts; drivers round them"),),
    group="gpu",
    after=ANSWERING,
)
