"""Findings in the form of a monitoring plugin, and as Markdown for a ticket."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..node.report import Cause, Finding, Report, Status
from .causes import roots
from .clean import clean
from .headline import CALLS, Headline, headline, mocks, tally

_NAGIOS = {Status.CRIT: "CRITICAL", Status.UNKNOWN: "UNKNOWN", None: "UNKNOWN", Status.WARN: "WARNING"}
_ORDER = ("CRITICAL", "UNKNOWN", "WARNING", "OK")


def nagios(reports: Sequence[Report]) -> str:
    """One line of status with performance data, then a line for each finding that calls for somebody
    (Monitoring Plugins Development Guidelines: `|` begins the figures, so no text may have it)."""
    heads = [headline(report) for report in reports]
    worst = min(heads, key=lambda head: _ORDER.index(_state(head)))
    speaker = reports[heads.index(worst)]
    bad = sum(_state(head) != "OK" for head in heads)
    among = f"{bad} of {len(reports)} nodes; " if len(reports) > 1 and bad else ""
    where = f"{speaker.node}: " if bad or len(reports) == 1 else f"{len(reports)} nodes: "
    counts = Counter(finding.status for report in reports for finding in roots(report.findings))
    figures = " ".join(f"{status.value}={counts[status]}" for status in CALLS)
    silent = sum(head.status is None for head in heads)
    mock = "".join(f" ({each})" for each in mocks(reports))
    first = f"BRCTL {_state(worst)} - {_line(among + where + worst.reason + mock)} | {figures} no_answer={silent}"
    return "\n".join([first, *(line for report in reports for line in _long(report))])


def unknown(why: str) -> str:
    """The line of status where there is nothing else: nobody was asked."""
    return f"BRCTL UNKNOWN - {_line(why)}"


def _state(head: Headline) -> str:
    return _NAGIOS.get(head.status, "OK")


def _long(report: Report) -> list[str]:
    lines = [f"{report.node}: NO ANSWER: {error.message}" for error in report.errors]
    calls = [finding for finding in roots(report.findings) if finding.status in CALLS]
    lines += [f"{report.node}: {finding.status.value.upper()} {finding.check}: {finding.summary}" for finding in calls]
    return [_line(line) for line in lines]


def _line(text: str) -> str:
    return clean(text).replace("|", "/")


def markdown(reports: Sequence[Report]) -> str:
    """A section a node, worst first in each; the evidence in a list, so that it can be pasted into a ticket."""
    return "\n".join(line for report in reports for line in _section(report)).rstrip("\n")


def _section(report: Report) -> list[str]:
    head = headline(report)
    lines = [f"## {_text(report.node)}: {head.word}", "", _text(head.reason), ""]
    if report.mock:
        lines += [f"*mock machine {_text(report.mock.machine)}*", ""]
    for finding in roots(report.findings):
        if finding.status in (*CALLS, Status.INFO):
            lines += _entry(finding, report.findings)
    return [*lines, _text(tally(report.findings)), ""]


def _entry(finding: Finding, found: Sequence[Finding]) -> list[str]:
    lines = [f"### {finding.status.value.upper()} {finding.check}", "", _text(finding.summary), ""]
    lines += [f"- {_text(item.what)}: `{_code(item.value)}` ({_text(item.source)})" for item in finding.evidence]
    me = Cause(finding.check, finding.subject)
    lines += [f"- then {other.check}: {_text(other.summary)}" for other in found if other.cause == me]
    lines += ["", f"**Do:** {_text(finding.remedy)}"] if finding.remedy else []
    return [*lines, ""]


def _text(text: str) -> str:
    """No machine's text makes markup, a link or a mention of anybody."""
    kept = clean(text)
    for mark in "\\`*_[]<>#|@!":
        kept = kept.replace(mark, "\\" + mark)
    return kept


def _code(text: str) -> str:
    return clean(text).replace("`", "'")
