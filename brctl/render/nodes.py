"""A row a node, what was done to nodes, and which nodes there are: for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from ..fleet.discover import Discovery, Said
from ..fleet.drain import Outcome, Result
from ..fleet.fold import node_set
from ..fleet.listing import Row
from ..node.report import Report, Status
from .fleet import mocks
from .terminal import STYLES, Column, Terminal

_ROW_COLUMNS = (
    Column("Node"),
    Column("State"),
    Column("Scheduler"),
    Column("GPUs", right=True),
    Column("Worst", wrap=True, least=14),
    Column("Model", rank=2),
    Column("Driver", rank=1),
    Column("Reason", rank=3),
)
_GOOD, _PENDING, _BAD = STYLES[Status.PASS], STYLES[Status.WARN], STYLES[Status.CRIT]
_RESULTS = {
    Result.DRAINED: _GOOD,
    Result.RESUMED: _GOOD,
    Result.UNCHANGED: "dim",
    Result.DRAINING: _PENDING,
    Result.REFUSED: _BAD,
    Result.BLOCKED: _BAD,
    Result.FAILED: _BAD,
}


def rows(terminal: Terminal, found: Sequence[Row]) -> None:
    """Print a table; without a scheduler or reasons, without their columns."""
    for mock in dict.fromkeys(row.mock for row in found if row.mock):
        names = node_set(row.node for row in found if row.mock == mock)
        terminal.line(Text(f"{names}:  mock machine {mock}", style="yellow"))
    cells = [
        [row.node, _state(row.state), row.scheduler, _gpus(row), _worst(row.worst), row.model, row.driver, row.reason]
        for row in found
    ]
    empty = {"Scheduler": all(row.scheduler is None for row in found), "Reason": not any(row.reason for row in found)}
    shown = [i for i, column in enumerate(_ROW_COLUMNS) if not empty.get(column.title)]
    terminal.table([_ROW_COLUMNS[i] for i in shown], [[row[i] for i in shown] for row in cells])


def watched_rows(terminal: Terminal, head: str, found: Sequence[Row], trouble: tuple[str, str | None] | None) -> None:
    """Print a table with a line above, and below it why the scheduler does not answer."""
    terminal.line(Text(head, style="dim"))
    rows(terminal, found)
    if trouble:
        terminal.line(Text.assemble(("NO ANSWER  ", _BAD), trouble[0]))
        if trouble[1]:
            terminal.line(Text.assemble(("do: ", "bold"), trouble[1]), 2)


def outcomes(terminal: Terminal, found: Sequence[Outcome]) -> None:
    """Print a line a node, and what to do where it was not done."""
    width = max((len(outcome.node) for outcome in found), default=0)
    for outcome in found:
        word = f"{outcome.result.value.upper():9}  "
        head = Text.assemble((word, _RESULTS[outcome.result]), (f"{outcome.node:{width}}  ", "bold"))
        terminal.hanging(head, outcome.message, head.cell_len)
        if outcome.hint:
            terminal.line(Text.assemble(("do: ", "bold"), outcome.hint), head.cell_len)


def notes(terminal: Terminal, reports: Sequence[Report]) -> None:
    """Print what each says."""
    mocks(terminal, reports)
    for report in reports:
        for note in report.notes:
            terminal.line(f"{report.node}: {note}")


def discovery(terminal: Terminal, found: Discovery, reports: Sequence[Report] = ()) -> None:
    """Print a line a source, who answers, and the change of the config; without Reports, above a screen of theirs."""
    mocks(terminal, reports)
    width = max(len(said.source) for said in found.sources)
    for said in found.sources:
        head = Text(f"{said.source:{width}}  ", style="bold")
        terminal.hanging(head, _said(said), head.cell_len)
    _names(terminal, "answer", found.answered, "")
    _names(terminal, "no answer", found.silent, _BAD)
    if found.diff:
        terminal.line()
        for line in found.diff:
            terminal.line(Text(line, style=_diff_style(line)))
        terminal.line()
        if found.applied:
            terminal.line("written; put the new nodes into groups, so that something is expected of them")
        else:
            terminal.line("nothing is changed: --yes writes it into the config")


def _said(said: Said) -> Text:
    if said.error:
        return Text(f"no answer: {said.error}", style=_BAD)
    text = Text(f"{len(said.nodes)} nodes")
    for word, names, style in (("missing", said.missing, _PENDING), ("unexpected", said.unexpected, _PENDING)):
        if names:
            text.append(f"; {word}: ").append(node_set(names), style=style)
    if said.passed_over:
        text.append(f"; {said.passed_over} other names passed over", style="dim")
    return text


def _names(terminal: Terminal, word: str, names: Sequence[str], style: str) -> None:
    if names:
        head = Text(f"{len(names)} {word}  ", style="bold")
        terminal.hanging(head, Text(node_set(names), style=style), head.cell_len)


def _diff_style(line: str) -> str:
    if line.startswith(("+++", "---", "@@")):
        return "bold"
    return _GOOD if line.startswith("+") else _BAD if line.startswith("-") else ""


def _state(state: str) -> Text:
    return Text(state, style=_GOOD if state == "up" else _BAD)


def _gpus(row: Row) -> Text | str | None:
    """`7/8` where one does not answer."""
    if row.gpus is None:
        return None
    return Text(f"{row.gpus}/{row.gpus + row.gpus_faulty}", style=_BAD) if row.gpus_faulty else str(row.gpus)


def _worst(worst: str) -> Text:
    word = worst.partition(" ")[0]
    style = next((STYLES[status] for status in STYLES if status.value == word), _GOOD)
    return Text(worst, style=style)
