"""GPUs that are judged each by itself: one Finding for each that is not well, one for all where all are alike."""

from typing import Callable, List, NamedTuple, Optional, Sequence, Tuple

from ..facts import Gpu
from ..report import HOST, Evidence, Finding, Status
from ..siblings import Part
from . import Case, Check, gpus
from .parts import nothing

ANSWERING = ("gpu-driver", "gpu-responding")
"""Where the driver or a GPU does not answer, nothing else about it can be told, and need not be."""


class Verdict(NamedTuple):
    """About one GPU."""

    status: Status
    text: str = ""
    """Behind its name; of a pass nothing is told."""
    evidence: Tuple[Evidence, ...] = ()
    remedy: Optional[str] = None


WELL = Verdict(Status.PASS)


def judge(
    check: Check, case: Case, look: Callable[[Gpu], Optional[Verdict]], well: str, lacking: str
) -> Tuple[Finding, ...]:
    """What `look` says of each GPU that answers; None: this one does not tell.

    `well` stands behind the number of those that pass (`no remapped row`), `lacking` behind `no GPU tells`.
    """
    known = case.seen.gpus or ()
    seen = [(gpu, None if gpu.fault else look(gpu)) for gpu in known]
    told = [(gpu, verdict) for gpu, verdict in seen if verdict]
    if not told:
        return (_untold(check, known, lacking),)
    bad = [(gpu, verdict) for gpu, verdict in told if verdict.status is not Status.PASS]
    if not bad:
        return (check.finding(Status.PASS, _well(known, len(told), well)),)
    alike = {(verdict.status, verdict.text) for _, verdict in bad}
    if len(bad) == len(told) > 1 and len(alike) == 1:  # a fault of what they share: a supply, a fabric, a setting
        return (_of_all(check, bad[0][1], len(bad), len(known)),)
    return tuple(_finding(check, gpu, verdict) for gpu, verdict in bad)


def _of_all(check: Check, verdict: Verdict, bad: int, known: int) -> Finding:
    summary = "{} of {} GPUs: {}".format(bad, known, verdict.text)
    return check.finding(verdict.status, summary, HOST, verdict.evidence, verdict.remedy)


def _finding(check: Check, gpu: Gpu, verdict: Verdict) -> Finding:
    subject = gpus.subject(gpu)
    summary = "{}: {}".format(subject.name, verdict.text)
    return check.finding(verdict.status, summary, subject, verdict.evidence, verdict.remedy)


def _well(known: Sequence[Gpu], told: int, well: str) -> str:
    return "{} of {} GPUs: {}".format(told, len(known), well)


def _untold(check: Check, known: Sequence[Gpu], lacking: str) -> Finding:
    if known and all(gpu.fault for gpu in known):
        unread: List[Part] = list(gpus.parts(known, lambda _: None, str, ""))
        return nothing(check, "GPUs", unread)
    return check.finding(Status.NA, "no GPU tells {}".format(lacking), HOST)
