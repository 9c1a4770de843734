"""Errors and exit codes, in one place. The codes are a promise: docs/exit-codes.md."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence

from ..node.report import Report, Status

CLEAN, FOUND, USAGE, INCOMPLETE, INTERRUPTED = 0, 1, 2, 3, 130
BROKEN_PIPE = 141
"""As a shell shows a program that SIGPIPE ended: the reader of our stdout went away."""

FAIL_ON = {
    "info": (Status.INFO, Status.WARN, Status.CRIT),
    "warn": (Status.WARN, Status.CRIT),
    "crit": (Status.CRIT,),
}


class CommandError(Exception):
    """What went wrong, what to do about it, and the exit code for it."""

    def __init__(self, what: str, hint: str | None = None, code: int = USAGE) -> None:
        super().__init__(what)
        self.what, self.hint, self.code = what, hint, code


def tell(what: str, hint: str | None = None, word: str = "error") -> None:
    """Say it on stderr, in the one form that all errors and warnings have."""
    print(f"{word}: {what}", file=sys.stderr)
    if hint:
        print(f"hint: {hint}", file=sys.stderr)


def tell_unforeseen(error: Exception, debug: bool) -> int:
    """An error that is our own fault."""
    if debug:
        traceback.print_exception(error)
    tell(f"{type(error).__name__}: {error}", None if debug else "this is a fault of brctl; --debug shows where")
    return INCOMPLETE


def exit_code(reports: Sequence[Report], fail_on: str, strict: bool) -> int:
    """What the whole run comes to. Not done (3) beats found (1): a silent node is worse than a sick one."""
    findings = [finding for report in reports for finding in report.findings]
    unknown = [finding for finding in findings if finding.status is Status.UNKNOWN]
    if any(report.errors for report in reports) or any(_hung(report) for report in reports):
        return INCOMPLETE
    if strict and unknown:
        return INCOMPLETE
    return FOUND if any(finding.status in FAIL_ON[fail_on] for finding in findings) else CLEAN


def _hung(report: Report) -> bool:
    """Whether a call did not come back: part of the job could not be done, whatever was asked."""
    if any(finding.reason == "hung" for finding in report.findings):
        return True
    seen = report.inventory
    if seen is None:
        return False
    faults = [gpu.fault.kind for gpu in seen.gpus or () if gpu.fault]
    return "hung" in faults or any(problem.reason == "hung" for problem in seen.problems)
