"""What merely follows from a finding is told under it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from ..node.report import Cause, Finding

_FEW = 4
"""Checks that are all named."""


def roots(found: Sequence[Finding]) -> list[Finding]:
    """Those that follow from no other."""
    return [finding for finding in found if finding.cause is None]


def then(finding: Finding, found: Sequence[Finding], verbose: bool) -> list[Text]:
    """A line for each thing that follows from `finding`; what several checks say alike is said once."""
    me = Cause(finding.check, finding.subject)
    said: dict[str, list[str]] = {}
    for other in found:
        if other.cause == me:
            said.setdefault(other.summary, []).append(other.check)
    return [_line(checks, summary, verbose) for summary, checks in said.items()]


def _line(checks: Sequence[str], summary: str, verbose: bool) -> Text:
    shown = checks if verbose or len(checks) <= _FEW else [*checks[:1], f"{len(checks) - 1} more checks"]
    return Text.assemble(("then: ", "bold"), f"{', '.join(shown)}: {summary}")
