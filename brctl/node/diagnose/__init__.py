"""Checks: facts -> Findings. One file each in checks/; the engine finds them by themselves."""

from typing import Callable, Iterable, Mapping, NamedTuple, Optional, Tuple

from ..facts import Inventory
from ..report import HOST, Evidence, Finding, Status, Subject
from ..request import Expected


class Threshold(NamedTuple):
    """A number that decides a verdict, with the reason for it."""

    name: str
    default: float
    unit: str
    source: str


class Case(NamedTuple):
    """What a check judges."""

    seen: Inventory
    want: Expected
    thresholds: Mapping[str, float]
    """This check's own, by name: the default or what the config says."""


def reason(kind: str) -> str:
    """The kind of a Problem or GpuFault in the three words of `Finding.reason`."""
    return kind if kind in ("hung", "permission") else "error"


class Check(NamedTuple):
    id: str
    title: str
    """What is true when it passes: `All GPUs that are expected are there`."""
    tags: Tuple[str, ...]
    needs: Tuple[str, ...]
    """Fields of Inventory. One that could not be read makes the verdict unknown, one that is None makes it n/a;
    `run` is called only when all are there."""
    run: "Callable[[Case], Iterable[Finding]]"
    thresholds: Tuple[Threshold, ...] = ()
    reads: Tuple[str, ...] = ()
    """Further fields of Inventory that `run` looks at. They may be None, but one that could not be read makes the
    verdict unknown too."""

    def finding(
        self,
        status: Status,
        summary: str,
        subject: Subject = HOST,
        evidence: Tuple[Evidence, ...] = (),
        remedy: Optional[str] = None,
        reason: Optional[str] = None,
    ) -> Finding:
        """A Finding of this check; equal statuses on parts of one name fold together over nodes."""
        fold = "{} {} {}".format(self.id, status.value, subject.name)
        return Finding(self.id, status, subject, summary, evidence, remedy, reason, fold)
