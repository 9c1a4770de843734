"""Every GPU has the memory that the config declares: less is critical, more a warning.

Where none is declared, GPUs of one model are compared, and one that differs is a warning. What is compared is NVML's
total, which is less than the chips hold: 81559 MiB on a recorded H100 80GB.
"""

from typing import Sequence

from ...report import Finding
from ...request import ExpectedAccelerator
from ...siblings import Part
from .. import Case, Check, Threshold, gpus
from ..parts import amount, judge, shortage

_REMEDY = (
    "compare `nvidia-smi -q -d MEMORY,ECC,ROW_REMAPPER` with a sibling's: ECC mode takes 6 % of GDDR memory; "
    "otherwise drain, reset, and have the GPU inspected"
)


def run(case: Case) -> Sequence[Finding]:
    want = (case.want.accelerator or ExpectedAccelerator()).memory_bytes
    tolerance = case.thresholds["tolerance"]
    found = gpus.parts(
        case.seen.gpus or (), lambda gpu: gpu.identity and gpu.identity.memory_bytes, _mib, "nvmlDeviceGetMemoryInfo_v2"
    )
    if want is None:
        return judge(CHECK, "GPUs", _levelled(found, tolerance), None, _REMEDY)
    return judge(CHECK, "GPUs", found, amount("hardware.accelerator.memory", want, _mib(want), tolerance), _REMEDY)


def _mib(size: int) -> str:
    """As nvidia-smi has it; `79.6 GiB` would not show a difference of less than a percent."""
    return "{:.0f} MiB".format(size / 1048576)


def _levelled(parts: Sequence[Part], tolerance: float) -> Sequence[Part]:
    """Sizes that are equal within the tolerance get the value of the first of them."""
    sizes = [part.value for part in parts if part.value is not None]
    return [
        part
        if part.value is None
        else part._replace(value=next(size for size in sizes if shortage(part.value, size, tolerance) is None))
        for part in parts
    ]


CHECK = Check(
    id="gpu-memory",
    title="Every GPU has the declared memory",
    tags=("inventory",),
    needs=("gpus",),
    run=run,
    thresholds=(
        Threshold(
            "tolerance",
            1,
            "percent",
            "An H100 80GB shows 81559 of 81920 MiB (0.4 % less, nvidia-smi of a recorded machine); "
            "the smallest real loss, ECC on GDDR memory, is 6 %.",
        ),
    ),
    group="gpu",
    after=("gpu-driver", "gpu-responding"),
)
