"""What tuning would do, has done and did, for people."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from rich.text import Text

from ..node.report import Change, Outcome, Report, Transaction
from ..node.tune import Setting
from .terminal import Column, Terminal, mocked

_STYLES = {
    Outcome.OK: "green",
    Outcome.PENDING: "yellow",
    Outcome.CHANGED: "green",
    Outcome.RESTORED: "green",
    Outcome.NA: "dim",
    Outcome.CAPPED: "yellow",
    Outcome.PENDING_REBOOT: "yellow",
    Outcome.NOT_ATTEMPTED: "magenta",
    Outcome.CONFLICT: "bold red",
    Outcome.REFUSED: "bold red",
}
_QUIET = (Outcome.OK, Outcome.NA, Outcome.CHANGED, Outcome.RESTORED)
"""These call for nobody."""
_WIDE = 80
"""Columns from which on there is a table; below, a paragraph each."""

Rows = list[tuple[Change, list[str]]]
"""What is the same of several parts, and the names of those parts."""


def changes(terminal: Terminal, command: str, reports: Sequence[Report], quiet: bool, verbose: bool) -> None:
    """Print each kind of node with its changes in the order in which they are made."""
    if len(reports) == 1:
        return _node(terminal, command, reports[0], reports[0].node, quiet, verbose)
    from ..fleet.fold import group
    from .fleet import unreachable

    unreachable(terminal, reports, verbose)
    for each in group([report for report in reports if not report.errors], _content):
        nodes = f"{each.nodes}  {len(each.reports)} nodes" if len(each.reports) > 1 else each.nodes
        _node(terminal, command, each.reports[0], nodes, quiet, verbose)
    counts = Counter(_worst(report) for report in reports if not report.errors)
    silent = sum(bool(report.errors) for report in reports)
    words = ([(f"{silent} no answer", "bold red")] if silent else []) + [
        (f"{counts[outcome]} {outcome.value}", _STYLES[outcome]) for outcome in reversed(Outcome) if counts[outcome]
    ]
    terminal.line(Text.assemble((f"{len(reports)} nodes:", "bold"), *[part for word in words for part in ("  ", word)]))
    return None


def history(terminal: Terminal, reports: Sequence[Report], verbose: bool) -> None:
    """Print the transactions of each node."""
    for report in reports:
        if not report.errors:
            _title(terminal, report, report.node, ())
            if not report.transactions:
                terminal.line("nothing was changed here by brctl", 2)
            elif verbose:
                for transaction in report.transactions:
                    _transaction(terminal, transaction)
            else:
                terminal.table(_HISTORY, [_history_row(transaction) for transaction in report.transactions])


def settings(terminal: Terminal, found: Sequence[Setting]) -> None:
    """Print what there is, in the order in which it is made."""
    columns = (Column("Setting"), Column("Sets", rank=1), Column("Keys of tune", wrap=True))
    terminal.table(columns, [[each.id, each.title, ", ".join(each.keys)] for each in found])


def setting(terminal: Terminal, it: Setting) -> None:
    """Print the page of one."""
    terminal.line(Text.assemble((it.id, "bold"), f"  {it.title}"))
    terminal.line(f"keys of tune: {', '.join(it.keys)}")
    for paragraph in pages(it):
        terminal.line()
        if paragraph.startswith(" ") or "\n " in paragraph:  # commands stand as they are
            for line in paragraph.splitlines():
                terminal.line(line)
        else:
            terminal.line(" ".join(paragraph.split()))


def pages(it: Setting) -> list[str]:
    """The paragraphs of the docstring of its file."""
    module = sys.modules[it.plan.__module__]
    return [paragraph for paragraph in (module.__doc__ or "").strip("\n").split("\n\n") if paragraph.strip()]


def _node(terminal: Terminal, command: str, report: Report, name: str, quiet: bool, verbose: bool) -> None:
    shown = [change for change in report.changes if not quiet or change.outcome not in _QUIET]
    if quiet and not shown:
        return
    _title(terminal, report, name, report.changes)
    if not report.changes and not report.errors:
        terminal.line(
            "nothing is wanted of this host" if command in ("tune plan", "tune apply") else "nothing was done"
        )
    rows = _alike(shown)
    wide = terminal.console.width >= _WIDE
    if rows and wide:
        _table(terminal, command, rows)
    for change, parts in rows:
        details = [] if change.outcome in _QUIET and not verbose else list(_details(change))
        if wide and details:
            terminal.line(Text.assemble((f"{change.key}: ", "bold"), details[0]), 2)
            for line in details[1:]:
                terminal.line(line, 4)
        elif not wide:
            _paragraph(terminal, command, change, parts, details)
    for transaction in report.transactions:
        terminal.line(_closing(transaction))


def _title(terminal: Terminal, report: Report, name: str, found: Sequence[Change]) -> None:
    title = Text(name, style="bold")
    if report.mock:
        title.append(mocked(report.mock), style="yellow")
    for outcome, number in Counter(change.outcome for change in found).items():
        title.append("  ")
        title.append(f"{number} {outcome.value}", style=_STYLES[outcome])
    terminal.line(title)


def _table(terminal: Terminal, command: str, rows: Rows) -> None:
    """Of what is next at boot only where anybody tells."""
    old, new = _TITLES.get(command, ("Before", "Now"))
    columns = [Column("State"), Column("Setting", rank=1), Column("Part"), Column("Value", wrap=True)]
    columns += [Column(old), Column(new)]
    cells = [_row(command, change, parts) for change, parts in rows]
    if any(change.boot for change, _ in rows):
        columns.append(Column("Next boot", rank=2))
        cells = [[*row, change.boot] for row, (change, _) in zip(cells, rows, strict=True)]
    terminal.table(columns, cells)


_TITLES = {"tune plan": ("Live", "Wanted"), "tune rollback": ("Ours", "Now")}


def _row(command: str, change: Change, parts: Sequence[str]) -> list[Text | str | None]:
    state = Text(change.outcome.value, style=_STYLES[change.outcome])
    return [state, change.setting, _named(parts), change.key, *_values(command, change)]


def _values(command: str, change: Change) -> tuple[str | None, str | None]:
    """What it is or was, and what it shall be or is."""
    if command == "tune plan":
        return change.live, change.wanted
    untouched = change.outcome in (Outcome.OK, Outcome.NA) and change.before is None
    return change.live if untouched else change.before, change.live


def _paragraph(
    terminal: Terminal, command: str, change: Change, parts: Sequence[str], details: Sequence[Text | str]
) -> None:
    head = Text.assemble((change.outcome.value, _STYLES[change.outcome]), f"  {change.key} of {_named(parts)}")
    terminal.line(head)
    old, new = _values(command, change)
    boot = f"; next boot {change.boot}" if change.boot else ""
    told = new or "-" if old == new else f"{old or '-'} -> {new or '-'}"
    terminal.line(told + boot, 2)
    for line in details:
        terminal.line(line, 2)


def _details(change: Change) -> Iterator[Text | str]:
    if change.reason:
        yield Text(change.reason, style=_STYLES[change.outcome])
    yield from change.effects
    if change.boot_source:
        yield Text(f"next boot: {change.boot or 'nothing'} ({change.boot_source})", style="dim")
    if change.source:
        yield Text(f"recommended by: {change.source}", style="dim")


def _alike(found: Sequence[Change]) -> Rows:
    """Changes that differ in the part alone, as one."""
    same: dict[object, tuple[Change, list[str]]] = {}
    for change in found:
        key = change._replace(subject=change.subject._replace(id="", name=""), fold="")
        same.setdefault(key, (change, []))[1].append(change.subject.name)
    return list(same.values())


_NUMBERED = re.compile(r"(.*?)([0-9]+)$")


def _named(parts: Sequence[str]) -> str:
    """`GPU 0-7`, `ens1np0, ens2np0`"""
    matches = [_NUMBERED.match(part) for part in parts]
    stems = {match.group(1) for match in matches if match}
    numbers = sorted(int(match.group(2)) for match in matches if match)
    if len(parts) > 1 and len(numbers) == len(parts) and len(stems) == 1 and stems.pop() == "GPU ":
        return "GPU " + ",".join(_runs(numbers))
    return ", ".join(parts)


def _runs(numbers: Sequence[int]) -> Iterator[str]:
    start = last = numbers[0]
    for number in [*numbers[1:], -1]:
        if number != last + 1:
            yield str(start) if start == last else f"{start}-{last}"
            start = number
        last = number


def _closing(transaction: Transaction) -> Text:
    text = Text.assemble((transaction.id, "bold"), f": {transaction.state}")
    if transaction.state in ("done", "failed"):
        text.append("; `brctl tune rollback` takes it back", style="dim")
    if transaction.state == "unconfirmed":
        text.append("; `brctl tune confirm` over a new connection keeps it", style="yellow")
    return text


_HISTORY = (
    Column("Transaction"),
    Column("When (UTC)", rank=2),
    Column("State"),
    Column("Values", right=True, rank=1),
    Column("Who", wrap=True),
    Column("Config", rank=3),
    Column("Boot", rank=4),
)


def _history_row(it: Transaction) -> list[Text | str | None]:
    done = sum(change.outcome is not Outcome.OK for change in it.changes)
    return [it.id, _when(it), it.state, str(done), it.who, it.config_hash, it.boot_id[:8] or None]


def _transaction(terminal: Terminal, it: Transaction) -> None:
    terminal.line()
    terminal.line(Text.assemble((it.id, "bold"), f"  {it.state}  {_when(it)} UTC  by {it.who}"))
    terminal.line(Text(f"config {it.config_hash or '-'}, boot {it.boot_id or '-'}", style="dim"), 2)
    for change, parts in _alike([change for change in it.changes if change.outcome is not Outcome.OK]):
        head = Text.assemble((change.outcome.value, _STYLES[change.outcome]), f"  {change.key} of {_named(parts)}: ")
        terminal.hanging(Text("  "), head + Text(f"{change.before or '-'} -> {change.live or '-'}"), 4)
        if change.reason:
            terminal.line(change.reason, 6)


def _when(it: Transaction) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(it.time))


def _content(report: Report) -> object:
    return tuple((change.fold, change.outcome, change.live, change.wanted, change.boot) for change in report.changes)


def _worst(report: Report) -> Outcome:
    order = list(Outcome)
    return max((change.outcome for change in report.changes), key=order.index, default=Outcome.OK)
