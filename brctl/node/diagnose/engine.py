"""Finds the checks and runs them. One that cannot be answered is unknown, with the reason, and stops no other."""

from functools import lru_cache
from typing import Dict, List, Optional, Sequence, Tuple

from ..facts import Inventory, Problem
from ..host.members import members
from ..patterns import natural
from ..report import WORST_FIRST, Finding, Status
from ..request import Expected, Override
from . import Case, Check, Earlier, checks, reason
from .causes import attributed


@lru_cache(maxsize=None)
def registry() -> Tuple[Check, ...]:
    """All checks, by id: the CHECK of every module in checks/."""
    found: List[Check] = members(checks, "CHECK")
    return tuple(sorted(found, key=lambda check: check.id))


def tagged(tag: str) -> Tuple[Check, ...]:
    """Those that bear a tag."""
    return tuple(check for check in registry() if tag in check.tags)


def run(
    seen: Inventory,
    want: Expected,
    overrides: Sequence[Override],
    chosen: Sequence[Check],
    earlier: Sequence[Earlier] = (),
) -> Tuple[Finding, ...]:
    """Run checks: at least one Finding each, worst first, then by check and part; consequences name their cause."""
    found = [finding for check in chosen for finding in examine(check, seen, want, overrides, earlier)]
    return tuple(sorted(attributed(found, chosen, seen), key=_order))


def since_boot(seen: Inventory, earlier: Inventory) -> bool:
    """Whether both looks are of one boot of one machine, so that counters can be compared."""
    boots = [look.kernel.boot_id if look.kernel else None for look in (seen, earlier)]
    return boots[0] is not None and boots[0] == boots[1]


def examine(
    check: Check,
    seen: Inventory,
    want: Expected,
    overrides: Sequence[Override] = (),
    earlier: Sequence[Earlier] = (),
) -> Tuple[Finding, ...]:
    """Run one check, if the facts allow it. Never raises, never gives nothing.

    A part that lacks single values only (one call to a GPU failed) is judged as it is; gpu-responding reports the call.
    """
    problem = _problem(check, seen)
    if problem:
        return (check.finding(Status.UNKNOWN, problem.message, reason=reason(problem.reason)),)
    absent = [part for part in check.needs if getattr(seen, part) is None]
    if absent:
        return (check.finding(Status.NA, "this machine has no {}".format(", no ".join(absent))),)
    try:
        findings = tuple(check.run(Case(seen, want, _thresholds(check, overrides), tuple(earlier))))
    except Exception as error:  # a check that breaks must not take the others along
        return (_broken(check, "{}: {}".format(type(error).__name__, error)),)
    return findings or (_broken(check, "it gave no verdict"),)


def _problem(check: Check, seen: Inventory) -> Optional[Problem]:
    """The worst reason why a part of the machine that the check looks at is missing."""
    missing = [part for part in check.needs + check.reads if getattr(seen, part) is None]
    found = [problem for problem in seen.problems if problem.part in missing]
    return min(found, key=lambda problem: problem.reason != "hung", default=None)


def _broken(check: Check, why: str) -> Finding:
    return check.finding(Status.UNKNOWN, "the check {} itself failed: {}".format(check.id, why), reason="error")


def _thresholds(check: Check, overrides: Sequence[Override]) -> Dict[str, float]:
    given = {override.threshold: override.value for override in overrides if override.check == check.id}
    return {threshold.name: given.get(threshold.name, threshold.default) for threshold in check.thresholds}


def _order(finding: Finding) -> Tuple[int, str, List[Tuple[int, str]]]:
    return WORST_FIRST.index(finding.status), finding.check, natural(finding.subject.name)
