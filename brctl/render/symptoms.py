"""Symptoms, for people: their causes with what speaks for and against each; and the cards themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.text import Text

from ..node.codec import encode
from ..node.diagnose.manual import Card, Fact, PossibleCause, Step
from ..node.diagnose.ranking import Answer, Conclusion, Heard, Ranked, Verdict
from ..node.report import SCHEMA_VERSION, Report, Status
from .headline import headline, mocked
from .terminal import STYLES, Column, Terminal

_STYLES = {
    Verdict.LIKELY: "bold red",
    Verdict.POSSIBLE: "yellow",
    Verdict.OPEN: "magenta",
    Verdict.UNLIKELY: "cyan",
    Verdict.RULED_OUT: "green",
}
_WORDS = {Conclusion.FOUND: "LIKELY", Conclusion.ABSTAINED: "ABSTAINS", Conclusion.NONE: "NO CAUSE"}
_INDENT, _LABEL = 2, 9
_FEW = 4
"""Findings of one check that are all shown."""
_COLUMNS = (Column("Symptom"), Column("Causes", rank=1, right=True), Column("What it is", wrap=True))


def answered(terminal: Terminal, report: Report, it: Answer, card: Card, quiet: bool, verbose: bool) -> None:
    """Print one node's answer, the likeliest cause first; with `quiet`, nothing where nothing calls for anybody."""
    calls = it.status in (Status.WARN, Status.CRIT, Status.UNKNOWN)
    if quiet and not calls and not report.errors:
        return None
    if report.errors:
        said = headline(report)
        return terminal.line(Text.assemble((report.node, "bold"), ": ", (said.word, "bold red"), "  ", said.reason))
    word = Text(_WORDS[it.conclusion], style=STYLES[it.status])
    terminal.line(Text.assemble((it.node, "bold"), f": {it.symptom}: ", word, "  ", it.reason))
    if report.mock:
        terminal.line(Text(mocked(report.mock), style="yellow"))
    width = max(len(cause.id) for cause in it.causes)
    for cause in it.causes:
        if not quiet or cause.speaks_for:
            _cause(terminal, cause, width, verbose, it.conclusion is Conclusion.FOUND)
    if it.conclusion is not Conclusion.FOUND:
        for step in card.beyond:
            _labelled(terminal, "try", _step(step), "bold")
    for note in card.notes if not quiet else ():
        _labelled(terminal, "note", note, "bold")
    for text in it.beside:
        _labelled(terminal, "besides", f"{text} (`brctl diagnose run`)", "yellow")
    return None


def _cause(terminal: Terminal, cause: Ranked, width: int, verbose: bool, decided: bool) -> None:
    head = Text.assemble((f"{cause.verdict.value.upper():11}", _STYLES[cause.verdict]), f"{cause.id:{width}}  ")
    if cause.verdict is Verdict.RULED_OUT and not verbose:
        return terminal.hanging(head, Text(_joined(cause.against), style="dim"), head.cell_len)
    terminal.hanging(head, cause.title, head.cell_len)
    for line in _heard(cause.speaks_for, verbose):
        _labelled(terminal, "for", line)
    for text in _heard(cause.against, verbose) if verbose else filter(None, [_joined(cause.against)]):
        _labelled(terminal, "against", text)
    if not (cause.speaks_for or cause.against or cause.missing):
        _labelled(terminal, "against", "all of its evidence was read, and tells of something else")
    for why, checks in _missing(cause, verbose).items():
        _labelled(terminal, "missing", Text.assemble((", ".join(checks), "magenta"), f": {why}"))
    for text in cause.explains:
        _labelled(terminal, "explains", text)
    if (
        verbose
        or cause.verdict in (Verdict.LIKELY, Verdict.POSSIBLE)
        or (cause.verdict is Verdict.OPEN and not decided)
    ):
        _advice(terminal, cause, verbose)
    return None


def _advice(terminal: Terminal, cause: Ranked, verbose: bool) -> None:
    for step in cause.tests if verbose else cause.tests[:1]:
        _labelled(terminal, "next", _step(step))
    for fix in cause.fixes if cause.verdict is Verdict.LIKELY or verbose else ():
        _labelled(terminal, "fix", fix.step)
        _labelled(terminal, "", Text(f"risk: {fix.risk}; it helped if {fix.verified}", style="dim"))


def _heard(ones: Sequence[Heard], verbose: bool) -> Iterator[Text]:
    shown = ones if verbose else ones[:_FEW]
    said = set()
    for one in shown:
        weight = f" {one.weight:+g}" if verbose else ""
        why = "" if one.why in said else f" ({one.why})"
        said.add(one.why)
        yield Text.assemble((one.check, "cyan"), f"{weight}: {one.summary}", (why, "dim"))
    if len(ones) > len(shown):
        yield Text(f"and {len(ones) - len(shown)} more", style="dim")


def _joined(ones: Sequence[Heard]) -> str:
    return "; ".join(dict.fromkeys(one.summary for one in ones))


def _missing(cause: Ranked, verbose: bool) -> dict[str, list[str]]:
    """Checks by the reason why they tell nothing. What a machine has not is told where that leaves a cause open."""
    found: dict[str, list[str]] = {}
    silent = cause.verdict is Verdict.OPEN and not cause.against
    for missing in cause.missing:
        if missing.kind != "absent" or verbose or silent:
            found.setdefault(missing.why, []).append(missing.check)
    return found


def _step(step: Step) -> Text:
    return Text.assemble(step.do, (f" ({step.cost}; disturbs {step.disturbs})", "dim"))


def _labelled(terminal: Terminal, label: str, text: str | Text, style: str = "bold") -> None:
    head = Text.assemble(" " * _INDENT, (f"{label:{_LABEL}}", style))
    terminal.hanging(head, text, head.cell_len)


def cards(terminal: Terminal, found: Sequence[Card]) -> None:
    """A row a symptom."""
    terminal.table(_COLUMNS, [[card.symptom, str(len(card.causes)), card.title] for card in found])


def explained(terminal: Terminal, card: Card) -> None:
    """A whole card: each cause with its evidence, tests and fixes."""
    terminal.line(Text.assemble((card.symptom, "bold"), f"  {card.title}."))
    for label, checks in (("needs", card.needs.every), ("any of", card.needs.any), ("optional", card.needs.optional)):
        if checks:
            _labelled(terminal, label, ", ".join(checks))
    for cause in card.causes:
        terminal.line()
        terminal.line(Text.assemble((cause.id, "bold"), f"  {cause.title}"))
        _possible(terminal, cause)
    terminal.line()
    for step in card.beyond:
        _labelled(terminal, "try", _step(step))
    for note in card.notes:
        _labelled(terminal, "note", note)


def _possible(terminal: Terminal, cause: PossibleCause) -> None:
    for fact in cause.facts:
        style = "red" if fact.weight > 0 else "green"
        _labelled(terminal, f"{fact.weight:+g}", f"{evidence(fact)}: {fact.why}", style)
    for step in cause.tests:
        _labelled(terminal, "next", _step(step))
    for fix in cause.fixes:
        _labelled(terminal, "fix", f"{fix.step} (risk: {fix.risk}; it helped if {fix.verified})")
    if cause.masks:
        _labelled(terminal, "explains", ", ".join(cause.masks))


def evidence(fact: Fact) -> str:
    """`gpu-throttle bad (for heat)`"""
    words = f" ({', '.join(fact.says)})" if fact.says else ""
    return f"{fact.check} {fact.found}{words}"


def card_data(card: Card) -> dict[str, Any]:
    """One, whole."""
    return {"schema_version": SCHEMA_VERSION, "command": "diagnose explain", "symptom": encode(card)}
