"""What `diagnose` found, for people: a verdict and its reason first, then the worst, each with what follows from it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from ..node.report import Finding, Report, Status
from .causes import roots, then
from .findings import folded
from .headline import headline, tally
from .terminal import NARROWEST, STYLES, Terminal, mocked

_CALLS = (Status.CRIT, Status.WARN, Status.UNKNOWN)


def diagnosis(terminal: Terminal, report: Report, quiet: bool, verbose: bool) -> None:
    """Print one node; with `quiet`, only what calls for somebody, and nothing where nothing does."""
    said = headline(report)
    shown = [finding for finding in roots(report.findings) if _is_shown(finding, quiet, verbose)]
    if quiet and not shown:
        return
    style = STYLES[said.status] if said.status else "bold red"
    terminal.line(Text.assemble((report.node, "bold"), ": ", (said.word, style), "  ", said.reason))
    if report.mock:
        terminal.line(Text(mocked(report.mock).strip(), style="yellow"))
    width = max((len(finding.check) for finding in shown), default=0)
    for checks, finding in folded(shown):
        _one(terminal, finding, checks, report.findings, width, verbose)
    if shown:
        terminal.line(Text(tally(report.findings), style="dim"))


def _is_shown(finding: Finding, quiet: bool, verbose: bool) -> bool:
    if verbose or finding.status in _CALLS:
        return True
    return finding.status is Status.INFO and not quiet


def _one(
    terminal: Terminal, finding: Finding, checks: Sequence[str], found: Sequence[Finding], width: int, verbose: bool
) -> None:
    status = finding.status
    head = Text.assemble((f"{status.value.upper():8}", STYLES[status]), f"{finding.check:{width}}  ")
    indent = head.cell_len if terminal.console.width - head.cell_len >= NARROWEST else 4
    terminal.hanging(head, finding.summary, head.cell_len)
    if len(checks) > 1:
        terminal.line(Text(f"so also {', '.join(checks[1:])}", style="dim"), indent)
    if verbose or status in _CALLS:
        for item in finding.evidence:
            terminal.line(Text(f"{item.what}: {item.value}  ({item.source})", style="dim"), indent)
    for line in then(finding, found, verbose):
        terminal.line(line, indent)
    if finding.remedy and (verbose or status in _CALLS):
        terminal.line(Text.assemble(("do: ", "bold"), finding.remedy), indent)
