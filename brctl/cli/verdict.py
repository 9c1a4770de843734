"""From Reports to an exit code, in one place."""

from __future__ import annotations

from collections.abc import Sequence

from ..node.report import Report, Status
from .errors import CLEAN, FOUND, INCOMPLETE, INTERRUPTED

FAIL_ON = {
    "info": (Status.INFO, Status.WARN, Status.CRIT),
    "warn": (Status.WARN, Status.CRIT),
    "crit": (Status.CRIT,),
}


def exit_code(reports: Sequence[Report], fail_on: str, strict: bool) -> int:
    """What the whole run comes to. Not done (3) beats found (1): a silent node is worse than a sick one."""
    findings = [finding for report in reports for finding in report.findings]
    unknown = [finding for finding in findings if finding.reason]  # also where it follows from another finding
    kinds = {error.kind for report in reports for error in report.errors}
    if kinds & {"interrupted", "not-asked"}:
        return INTERRUPTED
    if kinds or any(_hung(report) for report in reports):
        return INCOMPLETE
    if strict and unknown:
        return INCOMPLETE
    return FOUND if any(finding.status in FAIL_ON[fail_on] for finding in findings) else CLEAN


def plugin_code(reports: Sequence[Report]) -> int:
    """As monitoring plugins end: 0 ok, 1 warning, 2 critical, 3 unknown; critical beats unknown."""
    found = {finding.status for report in reports for finding in report.findings}
    if Status.CRIT in found:
        return 2
    if Status.UNKNOWN in found or any(report.errors for report in reports):
        return 3
    return 1 if Status.WARN in found else 0


def _hung(report: Report) -> bool:
    """Whether a call did not come back: part of the job could not be done, whatever was asked."""
    if any(finding.reason == "hung" for finding in report.findings):
        return True
    seen = report.inventory
    if seen is None:
        return False
    faults = [gpu.fault.kind for gpu in seen.gpus or () if gpu.fault]
    return "hung" in faults or any(problem.reason == "hung" for problem in seen.problems)
