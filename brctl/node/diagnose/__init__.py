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


class Earlier(NamedTuple):
    """An earlier look at the same machine, since the same boot. Counters are judged by what they grew since; what they
    have come to in all their life is no verdict."""

    seen: Inventory
    since: str
    """For people: `the first sample`, or `the baseline`."""


class Case(NamedTuple):
    """What a check judges."""

    seen: Inventory
    want: Expected
    thresholds: Mapping[str, float]
    """This check's own, by name: the default or what the config says."""
    earlier: Tuple[Earlier, ...] = ()
    """The nearest first; none where one look is all there is, and then a check of counters abstains (n/a)."""


GROUPS = ("gpu", "network", "host", "log")
"""What `--only` and `--skip` take besides the checks' ids."""


def reason(kind: str) -> str:
    """The kind of a Problem or GpuFault in the three words of `Finding.reason`."""
    return kind if kind in ("hung", "permission") else "error"


def fold(check: str, status: Status, subject: Subject) -> str:
    """Of a Finding, `Finding.fold`."""
    return "{} {} {}".format(check, status.value, subject.name)


class Check(NamedTuple):
    id: str
    title: str
    """What is true when it passes: `All GPUs that are expected are there`."""
    tags: Tuple[str, ...]
    """`inventory`: whether the machine is what it should be, also for `node-manager check`; `health`: whether it is
    well; `counter`: judged by growth. `diagnose run` runs them all."""
    needs: Tuple[str, ...]
    """Fields of Inventory. One that could not be read makes the verdict unknown, one that is None makes it n/a;
    `run` is called only when all are there."""
    run: "Callable[[Case], Iterable[Finding]]"
    thresholds: Tuple[Threshold, ...] = ()
    reads: Tuple[str, ...] = ()
    """Further fields of Inventory that `run` looks at. They may be None, but one that could not be read makes the
    verdict unknown too."""
    group: str = "host"
    """One of GROUPS."""
    after: Tuple[str, ...] = ()
    """Ids of checks, the likeliest first, whose bad finding on the same part of the machine (causes.py: or on the host
    as a whole, or on a PCI port above) explains a bad finding of this one: it is then told as its consequence."""

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
        return Finding(self.id, status, subject, summary, evidence, remedy, reason, fold(self.id, status, subject))
