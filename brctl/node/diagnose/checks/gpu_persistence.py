"""Persistence mode is on, so that the driver keeps every GPU initialised.

Without it the first call of each job initialises the GPU anew, which takes over a second, and settings such as clocks
are lost in between. Off on all GPUs it is a choice, and noted; off on one among others a warning.
"""

from typing import Optional, Sequence

from ...facts import Gpu
from ...report import Evidence, Finding, Status
from .. import Case, Check
from ..verdicts import ANSWERING, WELL, Verdict, judge

_CALL = "nvmlDeviceGetPersistenceMode"
_REMEDY = "run nvidia-persistenced, or brctl tune apply --set gpu.persistence_mode=true"


def run(case: Case) -> Sequence[Finding]:
    modes = [_mode(gpu) for gpu in case.seen.gpus or () if not gpu.fault]
    if True not in modes and False in modes:
        evidence = (Evidence("persistence mode", "off", _CALL),)
        return (CHECK.finding(Status.INFO, "persistence mode is off on all GPUs", evidence=evidence, remedy=_REMEDY),)
    return judge(CHECK, case, _look, "persistence mode on", "its persistence mode")


def _look(gpu: Gpu) -> Optional[Verdict]:
    mode = _mode(gpu)
    if mode is not False:
        return WELL if mode else None
    evidence = (Evidence("persistence mode", "off", _CALL),)
    return Verdict(Status.WARN, "persistence mode is off, unlike on its siblings", evidence, _REMEDY)


def _mode(gpu: Gpu) -> Optional[bool]:
    return gpu.identity.persistence_mode if gpu.identity else None


CHECK = Check(
    id="gpu-persistence",
    title="Persistence mode is on",
    tags=("health",),
    needs=("gpus",),
    run=run,
    group="gpu",
    after=ANSWERING,
)
