"""No mode of a GPU waits for a reset to take effect.

ECC and MIG mode are changed at once in the driver's books, and on the GPU at its next reset: until then it is not what
somebody wanted it to be, and after an accidental reset it is not what it was.
"""

from typing import Optional, Sequence

from ...facts import Gpu
from ...report import Evidence, Finding, Status
from .. import Case, Check
from ..verdicts import ANSWERING, WELL, Verdict, judge

_REMEDY = "drain the node and reset the GPU (nvidia-smi --gpu-reset), or set the mode back"
_WORDS = {True: "on", False: "off"}


def run(case: Case) -> Sequence[Finding]:
    return judge(CHECK, case, _look, "no mode waits for a reset", "its pending modes")


def _look(gpu: Gpu) -> Optional[Verdict]:
    health = gpu.health
    modes = (
        ("ECC", gpu.errors and gpu.errors.ecc_enabled, health and health.ecc_pending, "nvmlDeviceGetEccMode"),
        ("MIG", gpu.identity and gpu.identity.mig_enabled, health and health.mig_pending, "nvmlDeviceGetMigMode"),
    )
    known = [mode for mode in modes if mode[1] is not None and mode[2] is not None]
    waiting = [(name, bool(now), bool(then), call) for name, now, then, call in known if now != then]
    if not waiting:
        return WELL if known else None
    text = " and ".join("{} mode is to be {}".format(name, _WORDS[then]) for name, _, then, _ in waiting)
    told = ("{} now, {} after a reset".format(_WORDS[now], _WORDS[then]) for _, now, then, _ in waiting)
    evidence = tuple(Evidence(mode[0] + " mode", words, mode[3]) for mode, words in zip(waiting, told))
    return Verdict(Status.WARN, text + ", and waits for a reset", evidence, _REMEDY)


CHECK = Check(
    id="gpu-pending",
    title="No mode of a GPU waits for a reset",
    tags=("health",),
    needs=("gpus",),
    run=run,
    group="gpu",
    after=ANSWERING,
)
