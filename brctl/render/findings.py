"""Findings, for people: worst first, each with what it rests on and what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.text import Text

from ..node.report import Finding, Report, Status
from .causes import roots, then
from .terminal import STYLES, Terminal, mocked

_CALLS = (Status.CRIT, Status.WARN, Status.UNKNOWN)
"""These call for somebody: shown with their evidence, and alone where --quiet is given."""


def findings(terminal: Terminal, report: Report, quiet: bool, verbose: bool) -> None:
    """Print a Report's findings as they come, worst first; with `quiet`, nothing where nothing calls for anybody."""
    shown = [finding for finding in roots(report.findings) if _is_shown(finding, quiet, verbose)]
    if quiet and not shown:
        return
    terminal.line(_title(report))
    groups = folded(shown)
    width = max((len(checks[0]) for checks, _ in groups), default=0)
    for checks, finding in groups:
        _one(terminal, finding, checks, width, verbose, then(finding, report.findings, verbose))


def folded(shown: Sequence[Finding]) -> list[tuple[list[str], Finding]]:
    """What several checks cannot tell for one reason is said once, with the names of the checks."""
    groups: dict[object, tuple[list[str], Finding]] = {}
    for finding in shown:
        same = finding.status in (Status.UNKNOWN, Status.NA)
        key = (finding.status, finding.subject, finding.summary) if same else finding
        groups.setdefault(key, ([], finding))[0].append(finding.check)
    return list(groups.values())


def _is_shown(finding: Finding, quiet: bool, verbose: bool) -> bool:
    if quiet:
        return finding.status in _CALLS
    return verbose or finding.status is not Status.NA


def _title(report: Report) -> Text:
    title = Text(report.node, style="bold")
    if report.mock:
        title.append(mocked(report.mock), style="yellow")
    for status, number in Counter(finding.status for finding in roots(report.findings)).items():
        title.append("  ")
        title.append(f"{number} {status.value}", style=STYLES[status])
    return title


def _one(
    terminal: Terminal, finding: Finding, checks: Sequence[str], width: int, verbose: bool, follows: Sequence[Text]
) -> None:
    status = finding.status
    head = Text.assemble((f"{status.value.upper():8}", STYLES[status]), f"{checks[0]:{width}}  ")
    indent = head.cell_len
    terminal.hanging(head, finding.summary, indent)
    if len(checks) > 1:
        terminal.line(Text(f"so also {', '.join(checks[1:])}", style="dim"), indent)
    for line in follows:
        terminal.line(line, indent)
    if verbose or status in _CALLS:
        for line in _details(finding):
            terminal.line(line, indent)


def _details(finding: Finding) -> Sequence[Text]:
    lines = [Text(f"{item.what}: {item.value}  ({item.source})", style="dim") for item in finding.evidence]
    if finding.remedy:
        lines.append(Text.assemble(("do: ", "bold"), finding.remedy))
    return lines
