"""Counters that should hardly grow: kinds of loss, each with a limit, and what is told of a port beyond it."""

from typing import Iterable, NamedTuple, Optional, Sequence, Tuple

from ..report import Finding, Status
from . import Case, Check
from .growth import sustained
from .port_looks import Look, judge, totals
from .verdicts import WELL, Verdict


class Loss(NamedTuple):
    limit: str
    """The threshold's name; it is one a second."""
    says: str
    names: Tuple[str, ...]
    """Of the counters, whatever driver has them (probe/port_counters.py)."""
    remedy: str
    least_s: float = 1.0
    """What the limit was given for, as 60 of one that is so many a minute: fewer than those are no rate."""


def judged(check: Check, case: Case, losses: Sequence[Loss], well: str, lacking: str) -> Tuple[Finding, ...]:
    """The first kind of loss that is beyond its limit is told of a port, with its rate."""
    if not case.earlier:
        return (totals(check, case, [name for loss in losses for name in loss.names]),)
    return judge(check, case, lambda look: _look(look, case, losses), well, lacking)


def _number(rates: Iterable[float]) -> str:
    """Of the fastest, as it was between these two looks."""
    fastest = max(rates)
    return "{:.0f}".format(fastest) if fastest >= 10 else "{:.2g}".format(fastest)


def _look(look: Look, case: Case, losses: Sequence[Loss]) -> Optional[Verdict]:
    told = False
    for loss in losses:
        names = [name for name in loss.names if name in look.grown]
        told = told or bool(names)
        limit = case.thresholds[loss.limit]
        fast = [name for name in names if sustained(look.grown[name], loss.least_s) > limit]
        if fast:
            words = ", ".join(name.rpartition("/")[2] for name in fast)
            text = "{}, {} a second ({})".format(
                loss.says, _number(look.grown[name].per_second for name in fast), words
            )
            return Verdict(Status.WARN, text, look.evidence(*fast), loss.remedy)
    return WELL if told else None
