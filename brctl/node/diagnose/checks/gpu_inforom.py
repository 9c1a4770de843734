"""The InfoROM of every GPU is valid.

The checksum of the configuration on the board is looked at; a corrupt one is a warning, as in nvidia-smi: the GPU
works, but its counters and settings are in doubt, and it does not pass the vendor's own tests.
"""

from typing import Optional, Sequence

from ...facts import Gpu
from ...report import Evidence, Finding, Status
from .. import Case, Check
from ..verdicts import ANSWERING, WELL, Verdict, judge

_CALL = "nvmlDeviceGetInforomConfigurationChecksum"
_REMEDY = (
    "power-cycle the node; if it stays so, have the GPU's firmware written anew by its vendor, or the GPU replaced"
)


def run(case: Case) -> Sequence[Finding]:
    return judge(CHECK, case, _look, "valid InfoROM", "whether its InfoROM is valid")


def _look(gpu: Gpu) -> Optional[Verdict]:
    valid = gpu.errors.inforom_valid if gpu.errors else None
    if valid is None:
        return None
    evidence = (Evidence("answer", "NVML_ERROR_CORRUPTED_INFOROM", _CALL),)
    return WELL if valid else Verdict(Status.WARN, "its InfoROM is corrupt", evidence, _REMEDY)


CHECK = Check(
    id="gpu-inforom",
    title="The InfoROM of every GPU is valid",
    tags=("health",),
    needs=("gpus",),
    run=run,
    group="gpu",
    after=ANSWERING,
)
