"""Every GPU on NVSwitches has joined the fabric, and is well there.

Until it has, CUDA does not start on it. Joining takes a while after the boot, and is then only noted. Of what the GPU
itself says is wrong with its routes, lower bandwidth and a recovery under way are warnings, the rest is critical.
"""

from typing import Optional, Sequence, Tuple

from ...facts import GpuFabric
from ...report import Evidence, Finding, Status
from .. import Case, Check, Threshold
from ..verdicts import ANSWERING, WELL, Verdict, judge

_CALL = "nvmlDeviceGetGpuFabricInfoV"
_MANAGER = (
    "see that the fabric manager runs and what it says (systemctl status nvidia-fabricmanager; nvidia-imex on a "
    "multi-node fabric), and look for SXid in the kernel log; start it, or drain and reset all GPUs of the node"
)
_LIGHT = ("degraded-bandwidth", "route-recovery")


def run(case: Case) -> Sequence[Finding]:
    kernel = case.seen.kernel
    young = kernel is not None and kernel.uptime_s < case.thresholds["joining"]
    return judge(
        CHECK, case, lambda gpu: _look(gpu.fabric, young) if gpu.fabric else None, "on the fabric", "of a fabric"
    )


def _look(fabric: GpuFabric, young: bool) -> Optional[Verdict]:
    evidence: Tuple[Evidence, ...] = (Evidence("state", fabric.state, _CALL),)
    if fabric.status:
        evidence += (Evidence("status", fabric.status, _CALL),)
    if fabric.state != "completed":
        if young:
            return Verdict(Status.INFO, "joins the fabric since the boot just now", evidence)
        return Verdict(Status.CRIT, "has not joined the fabric: {}".format(fabric.state), evidence, _MANAGER)
    if fabric.status not in (None, "Success"):
        return Verdict(Status.CRIT, "failed to join the fabric: {}".format(fabric.status), evidence, _MANAGER)
    if fabric.unhealthy:
        evidence += (Evidence("health", ", ".join(fabric.unhealthy), _CALL),)
        status = Status.WARN if set(fabric.unhealthy) <= set(_LIGHT) else Status.CRIT
        return Verdict(status, "on the fabric with {}".format(", ".join(fabric.unhealthy)), evidence, _MANAGER)
    return WELL


CHECK = Check(
    id="gpu-fabric",
    title="Every GPU on NVSwitches has joined the fabric",
    tags=("health",),
    needs=("gpus",),
    run=run,
    thresholds=(
        Threshold(
            "joining", 180, "seconds", "of uptime; links and the fabric manager come up in the first two minutes"
        ),
    ),
    reads=("kernel",),
    group="gpu",
    after=ANSWERING,
)
