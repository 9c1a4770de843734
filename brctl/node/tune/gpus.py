"""What the GPU Settings have in common: which GPUs, and why one of them cannot be set."""

from typing import Iterator, Optional, Sequence, Tuple

from ..facts import Gpu
from ..report import HOST, Change, Outcome, Subject
from . import Scene, Step

PERSISTENCE = "persistence mode"
"""The key of the Steps of gpu-persistence."""


def subject(gpu: Gpu) -> Subject:
    number = "?" if gpu.gpu_index is None else gpu.gpu_index
    return Subject("gpu", gpu.uuid or gpu.pci or "", "GPU {}".format(number))


def nothing_wanted(setting: str, key: str, why: str) -> Step:
    """The one Step of a machine of which nothing is wanted."""
    return Step(Change(setting, HOST, key, Outcome.NA, reason=why))


def persistence(scene: Scene, gpu: Gpu) -> Tuple[Tuple[str, ...], Tuple[str, ...]]:
    """What a value that the driver forgets when it is unloaded needs first, and what becomes of it without that."""
    if gpu.identity is None or gpu.identity.persistence_mode is not False:
        return (), ()
    if scene.want.persistence_mode:
        return ("gpu-persistence {} {}".format(gpu.uuid, PERSISTENCE),), ()
    return (), ("persistence mode is off: it is lost when the last process on the GPU ends",)


def split(scene: Scene, setting: str, key: str, wanted: str) -> Tuple[Sequence[Gpu], Sequence[Step]]:
    """The GPUs that can be asked, and a refused Step for each that cannot, or one n/a where there is none."""
    gpus = scene.seen.gpus
    if not gpus:
        problem = next((problem for problem in scene.seen.problems if problem.part == "gpus"), None)
        outcome = Outcome.REFUSED if problem else Outcome.NA
        why = problem.message if problem else "this machine has no GPU"
        return (), (Step(Change(setting, HOST, key, outcome, wanted, reason=why)),)
    return [gpu for gpu in gpus if _why_not(gpu) is None], tuple(_refused(gpus, setting, key, wanted))


def _refused(gpus: Sequence[Gpu], setting: str, key: str, wanted: str) -> Iterator[Step]:
    for gpu in gpus:
        why = _why_not(gpu)
        if why is not None:
            yield Step(Change(setting, subject(gpu), key, Outcome.REFUSED, wanted, reason=why))


def _why_not(gpu: Gpu) -> Optional[str]:
    if gpu.fault:
        return "{}: {}: {}".format(gpu.fault.kind, gpu.fault.call, gpu.fault.message)
    if gpu.vendor not in (None, "nvidia"):
        return "brctl sets nothing of this vendor's GPUs"
    return None if gpu.uuid and gpu.identity else "it tells no UUID"
