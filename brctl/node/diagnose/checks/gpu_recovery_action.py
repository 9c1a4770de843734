"""The driver asks for no recovery of a GPU.

The driver knows best what brings a GPU back, and says so (driver 550 and later): its own word goes before any other
advice, and where another check says why, it is told there. An action for which work may first come to its end (drain)
is a warning, one without which the GPU is of no use is critical.
"""

from typing import Dict, Optional, Sequence, Tuple

from ...facts import Gpu
from ...report import Evidence, Finding, Status
from .. import Case, Check
from ..verdicts import ANSWERING, WELL, Verdict, judge

_RESET = "reset it (nvidia-smi --gpu-reset; with NVSwitch all GPUs of the node)"
_ACTIONS: Dict[str, Tuple[Status, str]] = {
    "gpu-reset": (Status.CRIT, "end what uses the GPU and " + _RESET),
    "node-reboot": (Status.CRIT, "drain and reboot the node"),
    "drain-p2p": (Status.WARN, "let jobs that use several GPUs end, take no new ones, then " + _RESET),
    "drain-and-reset": (Status.WARN, "let its work end, take no new one, then " + _RESET),
    "recover-imex-domain": (Status.CRIT, "restart nvidia-imex on all nodes of the NVLink domain"),
    "bus-reset": (Status.CRIT, "end what uses the GPU and reset its PCI bus, or reboot"),
    "system-reboot": (Status.CRIT, "drain the node and power-cycle it"),
}
"""nvmlGpuRecoveryAction_t (nvml.h)."""
_NEWER = (Status.WARN, "see `nvidia-smi -q` for what the driver means; until then drain the node")


def run(case: Case) -> Sequence[Finding]:
    return judge(CHECK, case, _look, "no recovery asked for", "what recovery it needs")


def _look(gpu: Gpu) -> Optional[Verdict]:
    action = gpu.errors.recovery_action if gpu.errors else None
    if action is None:
        return None
    if action == "none":
        return WELL
    status, remedy = _ACTIONS.get(action, _NEWER)
    evidence = (Evidence("recovery action", action, "NVML_FI_DEV_GET_GPU_RECOVERY_ACTION"),)
    return Verdict(status, "the driver asks for {}".format(action), evidence, remedy)


CHECK = Check(
    id="gpu-recovery-action",
    title="The driver asks for no recovery of a GPU",
    tags=("health",),
    needs=("gpus",),
    run=run,
    group="gpu",
    after=(*ANSWERING, "gpu-remap", "gpu-retired-pages", "gpu-sram", "gpu-ecc-volatile", "gpu-fabric", "gpu-inforom"),
)
