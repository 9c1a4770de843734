"""From Reports to an exit code and to what stderr is told, in one place."""

from __future__ import annotations

from collections.abc import Sequence

from ..node.report import Outcome, Report, Status
from .common import Common
from .errors import CLEAN, FOUND, INCOMPLETE, INTERRUPTED, tell

_AT_LEAST = {
    "info": (Status.INFO, Status.WARN, Status.CRIT),
    "warn": (Status.WARN, Status.CRIT),
    "crit": (Status.CRIT,),
}


def interrupted(reports: Sequence[Report]) -> bool:
    """Whether Ctrl-C ended it before all nodes had answered."""
    return any(error.kind in ("interrupted", "not-asked") for report in reports for error in report.errors)


def exit_code(reports: Sequence[Report], fail_on: str, strict: bool) -> int:
    """What the whole run comes to. Not done (3) beats found (1): a silent node is worse than a sick one."""
    findings = [finding for report in reports for finding in report.findings]
    unknown = [finding for finding in findings if finding.reason]  # also where it follows from another finding
    kinds = {error.kind for report in reports for error in report.errors}
    if interrupted(reports):
        return INTERRUPTED
    if kinds or any(_hung(report) for report in reports):
        return INCOMPLETE
    if strict and unknown:
        return INCOMPLETE
    return FOUND if any(finding.status in _AT_LEAST[fail_on] for finding in findings) else CLEAN


_UNDONE = (Outcome.REFUSED, Outcome.NOT_ATTEMPTED, Outcome.CONFLICT)
_OPEN = (Outcome.PENDING, Outcome.CAPPED, Outcome.PENDING_REBOOT)


def tune_code(reports: Sequence[Report]) -> int:
    """What a plan, or what was done of it, comes to: 3 where something wanted is not possible or was not done, 1 where
    something is not yet so."""
    code = exit_code(reports, "crit", strict=False)
    found = {change.outcome for report in reports for change in report.changes}
    if code == CLEAN and found.intersection(_UNDONE):
        return INCOMPLETE
    return FOUND if code == CLEAN and found.intersection(_OPEN) else code


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


def silent(given: Common, form: str, code: int) -> bool:
    """Whether --quiet prints nothing: a cron line mails what is printed, and where the exit code is 0 all is well
    enough for whoever chose --fail-on and --strict."""
    return given.quiet and form == "table" and code == CLEAN


def tell_reports(reports: Sequence[Report], form: str, quiet: bool) -> None:
    """What goes to stderr: why a node gave no answer, and what hindered nothing. The table of many nodes has their
    errors itself."""
    if len(reports) == 1:
        for error in reports[0].errors:
            tell(f"{reports[0].node}: {error.message}", error.hint)
        for note in reports[0].notes if not quiet else ():
            tell(f"{reports[0].node}: {note}", word="warning")
    else:
        _tell_many(reports, silent=form != "table", notes=not quiet)


def _tell_many(reports: Sequence[Report], silent: bool, notes: bool) -> None:
    """What is the same of many nodes is said once."""
    from ..fleet.fold import node_set, silences

    for silence in silences(reports) if silent else ():
        who = f"{silence.speaker}: " if silence.speaker else ""
        tell(f"{silence.nodes}: {silence.error.kind}: {who}{silence.error.message}", silence.error.hint)
    said: dict[str, list[str]] = {}
    for report in reports if notes else ():
        for note in report.notes:
            said.setdefault(note, []).append(report.node)
    for note, nodes in said.items():
        tell(f"{node_set(nodes)}: {note}", word="warning")
