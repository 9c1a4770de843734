"""Findings, for people: worst first, each with what it rests on and what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.text import Text

from ..node.report import Finding, Report, Status
from .causes import roots, then
from .headline import CALLS, mocked
from .terminal import NARROWEST, STYLES, Terminal


def findings(terminal: Terminal, report: Report, quiet: bool, verbose: bool) -> None:
    """Print a Report's findings as they come, worst first; with `quiet`, nothing where nothing calls for anybody."""
    shown = [finding for finding in roots(report.findings) if _is_shown(finding, quiet, verbose)]
    if quiet and not shown:
        return
    terminal.line(_title(report))
    groups = folded(shown)
    width = max((len(checks[0]) for checks, _ in groups), default=0)
    for checks, finding in groups:
        one(terminal, finding, checks, report.findings, width, verbose)


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
        return finding.status in CALLS
    return verbose or finding.status is not Status.NA


def _title(report: Report) -> Text:
    title = Text(report.node, style="bold")
    if report.mock:
        title.append(f"  {mocked(report.mock)}", style="yellow")
    for status, number in Counter(finding.status for finding in roots(report.findings)).items():
        title.append("  ")
        title.append(f"{number} {status.value}", style=STYLES[status])
    return title


def one(
    terminal: Terminal, finding: Finding, checks: Sequence[str], found: Sequence[Finding], width: int, verbose: bool
) -> None:
    """One finding, with what it rests on, what of `found` follows from it, and what to do; `checks` all say it."""
    head = Text.assemble((f"{finding.status.value.upper():8}", STYLES[finding.status]), f"{checks[0]:{width}}  ")
    indent = head.cell_len if terminal.console.width - head.cell_len >= NARROWEST else 4
    told = verbose or finding.status in CALLS
    terminal.hanging(head, finding.summary, head.cell_len)
    if len(checks) > 1:
        terminal.line(Text(f"so also {', '.join(checks[1:])}", style="dim"), indent)
    for item in finding.evidence if told else ():
        terminal.line(Text(f"{item.what}: {item.value}  ({item.source})", style="dim"), indent)
    for line in then(finding, found, verbose):
        terminal.line(line, indent)
    if finding.remedy and told:
        terminal.line(Text.assemble(("do: ", "bold"), finding.remedy), indent)
