"""Every GPU is of the model that the config declares, a name or a shell pattern; another is critical.

Where none is declared, a GPU that differs from the majority is a warning. Without a majority there is only a note:
a machine with two kinds of GPU may be meant so.
"""

from typing import Sequence

from ...report import Finding, Status
from ...request import ExpectedAccelerator
from .. import Case, Check, gpus
from ..parts import judge, pattern


def run(case: Case) -> Sequence[Finding]:
    want = (case.want.accelerator or ExpectedAccelerator()).model
    found = gpus.parts(case.seen.gpus or (), lambda gpu: gpu.identity and gpu.identity.name, str, "nvmlDeviceGetName")
    return judge(
        CHECK,
        "GPUs",
        [part._replace(kin=None) for part in found],  # here the model is what is judged
        pattern("hardware.accelerator.model", want, Status.CRIT) if want else None,
        "replace the GPU, or correct the config",
        mixed=Status.INFO,
    )


CHECK = Check(
    id="gpu-model",
    title="Every GPU is of the declared model",
    tags=("inventory",),
    needs=("gpus",),
    run=run,
    group="gpu",
    after=("gpu-driver", "gpu-responding"),
)
