"""A node in one line: a verdict and its reason."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..node.report import WORST_FIRST, Finding, Mock, Report, Status

CALLS = (Status.CRIT, Status.WARN, Status.UNKNOWN)
"""These call for somebody: shown with their evidence, and alone where --quiet is given."""
PIPE_COLUMNS = 160
"""Where there is no terminal, no width is known: wide enough for all columns, so that grep finds what it looks for."""
_WORDS = {Status.CRIT: "CRIT", Status.WARN: "WARN", Status.UNKNOWN: "UNKNOWN"}


def mocked(mock: Mock) -> str:
    """What every screen says of a machine that is not there."""
    origin = "recorded from hardware" if mock.recorded else "composed"
    return f"mock machine {mock.machine}, {origin}"


def mocks(reports: Iterable[Report]) -> list[str]:
    """Of all that are not there, each once."""
    return list(dict.fromkeys(mocked(report.mock) for report in reports if report.mock))


class Headline(NamedTuple):
    status: Status | None
    """None: the node gave no Report."""
    word: str
    """`CRIT`, `WARN`, `UNKNOWN`, `OK` or `NO ANSWER`."""
    reason: str
    """The worst finding, and how many more of its kind there are; of a node that is well, how much."""


def headline(report: Report) -> Headline:
    """The verdict on a node."""
    for error in report.errors:
        return Headline(None, "NO ANSWER", f"{error.kind}: {error.message}")
    calls = [finding for finding in report.findings if finding.status in CALLS]
    if not calls:
        return Headline(Status.PASS, "OK", _well(report.findings))
    first, others = calls[0], len({finding.summary for finding in calls}) - 1
    more = f" (and {others} more)" if others else ""
    return Headline(first.status, _WORDS[first.status], first.summary + more)


def bare() -> bool:
    """Whether stdout has neither colours nor a width, for all that rich is told."""
    return not sys.stdout.isatty() and os.environ.keys().isdisjoint(("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"))


def all_well(reports: Sequence[Report]) -> str:
    """All that a bare stdout gets of one node where everything passes; empty: there is more to print."""
    found = {finding.status for report in reports for finding in report.findings}
    if len(reports) > 1 or not bare() or reports[0].errors or found - {Status.PASS, Status.NA}:
        return ""
    said = headline(reports[0])
    lines = [f"{reports[0].node}: {said.word}  {said.reason}", *mocks(reports)]
    if not all(line.isascii() and line.isprintable() and len(line) <= PIPE_COLUMNS for line in lines):
        return ""  # it is to be cleaned, or wrapped
    return "\n".join([*lines, ""])


def _well(findings: Sequence[Finding]) -> str:
    well = len({finding.check for finding in findings if finding.status in (Status.PASS, Status.INFO)})
    return "1 check passes" if well == 1 else f"{well} checks pass"


def tally(findings: Iterable[Finding]) -> str:
    """`1 crit, 38 pass, 6 n/a`: worst first; consequences of others do not count."""
    counts = Counter(finding.status for finding in findings if finding.cause is None)
    return (
        ", ".join(f"{counts[status]} {status.value}" for status in WORST_FIRST if counts[status]) or "nothing to check"
    )
