"""Every GPU has the VBIOS that the config declares, a version or a shell pattern.

Where none is declared, GPUs of one model are compared, and one that differs is named. Both are warnings: the GPU works,
but it may differ in clocks, power and known defects.
"""

from typing import Sequence

from ...report import Finding, Status
from ...request import ExpectedAccelerator
from .. import Case, Check, gpus
from ..parts import judge, pattern


def run(case: Case) -> Sequence[Finding]:
    want = (case.want.accelerator or ExpectedAccelerator()).vbios
    return judge(
        CHECK,
        "GPUs",
        gpus.parts(
            case.seen.gpus or (),
            lambda gpu: gpu.identity and gpu.identity.vbios,
            "VBIOS {}".format,
            "nvmlDeviceGetVbiosVersion",
        ),
        pattern("hardware.accelerator.vbios", want, Status.WARN) if want else None,
        "drain the node and update the GPU's firmware with the system vendor's package; a replaced board often differs",
    )


CHECK = Check(
    id="gpu-vbios",
    title="Every GPU has the declared VBIOS",
    tags=("inventory",),
    needs=("gpus",),
    run=run,
    group="gpu",
    after=("gpu-driver", "gpu-responding"),
)
