"""What `diagnose` found, for people: a verdict and its reason first, then the worst, each with what follows from it."""

from __future__ import annotations

from rich.text import Text

from ..node.report import Finding, Report, Status
from .causes import roots
from .findings import folded, one
from .headline import CALLS, headline, mocked, tally
from .terminal import STYLES, Terminal


def diagnosis(terminal: Terminal, report: Report, quiet: bool, verbose: bool) -> None:
    """Print one node; with `quiet`, only what calls for somebody, and nothing where nothing does."""
    said = headline(report)
    shown = [finding for finding in roots(report.findings) if _is_shown(finding, quiet, verbose)]
    if quiet and not shown:
        return
    style = STYLES[said.status] if said.status else "bold red"
    terminal.line(Text.assemble((report.node, "bold"), ": ", (said.word, style), "  ", said.reason))
    if report.mock:
        terminal.line(Text(mocked(report.mock), style="yellow"))
    width = max((len(finding.check) for finding in shown), default=0)
    for checks, finding in folded(shown):
        one(terminal, finding, checks, report.findings, width, verbose)
    if shown:
        terminal.line(Text(tally(report.findings), style="dim"))


def _is_shown(finding: Finding, quiet: bool, verbose: bool) -> bool:
    if verbose or finding.status in CALLS:
        return True
    return finding.status is Status.INFO and not quiet
