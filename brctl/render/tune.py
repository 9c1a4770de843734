"""What tuning would do, has done and did, for people."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.text import Text

from ..node.report import HOST, Change, Outcome, Report, Transaction
from ..node.tune.manual import Page
from .headline import mocked
from .terminal import Column, Terminal

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
_UNTOUCHED = (Outcome.OK, Outcome.NA)
_WIDE = 80
"""Columns from which on there is a table; below, a paragraph each."""

_MILDEST_FIRST = (
    Outcome.NA,
    Outcome.OK,
    Outcome.RESTORED,
    Outcome.CHANGED,
    Outcome.PENDING_REBOOT,
    Outcome.CAPPED,
    Outcome.PENDING,
    Outcome.NOT_ATTEMPTED,
    Outcome.CONFLICT,
    Outcome.REFUSED,
)
_AS_WANTED = "as wanted"
_EACH = "a transaction on each"


class Row(NamedTuple):
    """What is the same of several parts."""

    change: Change
    """Of the first of them."""
    parts: list[str]
    sources: list[str]
    """Where it is read what the next boot gives."""


def changes(terminal: Terminal, command: str, reports: Sequence[Report], quiet: bool, verbose: bool) -> None:
    """Print each kind of node with its changes in the order in which they are made."""
    if len(reports) == 1:
        return _node(terminal, command, reports[0], reports[0].node, quiet, verbose)
    from ..fleet.fold import group
    from .fleet import unreachable

    unreachable(terminal, reports, verbose)
    done = [report for report in reports if report.changes or not report.errors]
    for each in group(done, _content):
        nodes = f"{each.nodes}  {len(each.reports)} nodes" if len(each.reports) > 1 else each.nodes
        report = each.reports[0]
        if len({tuple(it.id for it in other.transactions) for other in each.reports}) > 1:
            report = report._replace(transactions=tuple(it._replace(id=_EACH) for it in report.transactions))
        _node(terminal, command, report, nodes, quiet, verbose)
    counts, silent = Counter(map(_worst, done)), len(reports) - len(done)
    words = ([(f"{silent} with nothing done", "bold red")] if silent else []) + [
        (f"{counts[outcome]} {outcome.value}", _STYLES[outcome])
        for outcome in reversed(_MILDEST_FIRST)
        if counts[outcome]
    ]
    terminal.line(Text.assemble((f"{len(reports)} nodes:", "bold"), *[part for word in words for part in ("  ", word)]))
    return None


def history(terminal: Terminal, reports: Sequence[Report], verbose: bool) -> None:
    """Print the transactions of each node."""
    for report in reports:
        if report.transactions or not report.errors:  # an error may be about one of them
            _title(terminal, report, report.node, ())
            if not report.transactions:
                terminal.line("nothing was changed here by brctl", 2)
            elif verbose:
                for transaction in report.transactions:
                    _transaction(terminal, transaction)
            elif terminal.console.width >= _WIDE:
                terminal.table(_HISTORY, [_history_row(transaction) for transaction in report.transactions])
            else:
                for transaction in report.transactions:
                    _brief(terminal, transaction)


def pages(terminal: Terminal, found: Sequence[Page]) -> None:
    """Print what there is, in the order in which it is made."""
    if terminal.console.width < _WIDE:
        for each in found:
            terminal.line(Text(each.id, style="bold"))
            terminal.line(each.title + (f": {', '.join(each.keys)}" if each.keys else ""), 2)
        return
    columns = (Column("Setting"), Column("Sets"), Column("Keys of tune", wrap=True))
    terminal.table(columns, [[each.id, each.title, ", ".join(each.keys)] for each in found])


def page(terminal: Terminal, it: Page) -> None:
    """Print one."""
    terminal.line(Text.assemble((it.id, "bold"), f"  {it.title}"))
    if it.keys:
        terminal.line(f"keys of tune: {', '.join(it.keys)}")
    for paragraph in it.text.split("\n\n"):
        terminal.line()
        if paragraph.startswith(" ") or "\n " in paragraph:  # commands stand as they are
            for line in paragraph.splitlines():
                terminal.line(line)
        else:
            terminal.line(" ".join(paragraph.split()))


def _node(terminal: Terminal, command: str, report: Report, name: str, quiet: bool, verbose: bool) -> None:
    shown = [change for change in report.changes if not quiet or change.outcome not in _QUIET]
    if quiet and not shown:
        return
    _title(terminal, report, name, report.changes)
    if not report.changes and not report.errors:
        terminal.line(
            "nothing is wanted of this host" if command in ("tune plan", "tune apply") else "nothing was done"
        )
    wide = terminal.console.width >= _WIDE
    rows = _alike([change for change in shown if wide or verbose or change.outcome not in _UNTOUCHED])
    if rows and wide:
        _table(terminal, command, rows)
    for row in rows:
        brief = row.change.outcome in _QUIET and not verbose
        details = _why_not(row.change) if brief else list(_details(row))
        if wide and details:
            several = sum(other.change.key == row.change.key for other in rows) > 1
            what = f"{row.change.key} of {_named(row.parts)}" if several else row.change.key
            terminal.line(Text.assemble((f"{what}: ", "bold"), details[0]), 2)
            for line in details[1:]:
                terminal.line(line, 4)
        elif not wide:
            _paragraph(terminal, command, row, details)
    for transaction in report.transactions:
        terminal.line(_closing(transaction))


def _title(terminal: Terminal, report: Report, name: str, found: Sequence[Change]) -> None:
    title = Text(name, style="bold")
    if report.mock:
        title.append(f"  {mocked(report.mock)}", style="yellow")
    for (outcome, is_file), number in Counter((change.outcome, _is_file(change)) for change in found).items():
        files = f" file{'s' if number > 1 else ''}" if is_file else ""
        title.append("  ")
        title.append(f"{number}{files} {outcome.value}", style=_STYLES[outcome])
    terminal.line(title)


def _is_file(change: Change) -> bool:
    """Whether it is what rollback tells of a file, which may have served many values."""
    return change.subject == HOST and change.key.startswith("/")


def _table(terminal: Terminal, command: str, rows: Sequence[Row]) -> None:
    """Of what is next at boot only where anybody tells."""
    columns = [Column("State"), Column("Setting", rank=2), Column("Part"), Column("Value", wrap=True)]
    columns += map(Column, _TITLES.get(command, ("Before", "Now")))
    cells = [_cells(command, row) for row in rows]
    if any(row.change.boot for row in rows):
        columns.append(Column("Next boot", rank=1))
        cells = [[*line, _boot(row.change)] for line, row in zip(cells, rows, strict=True)]
    terminal.table(columns, cells)


_TITLES = {"tune plan": ("Live", "Wanted"), "tune rollback": ("Ours", "Now")}


def _cells(command: str, row: Row) -> list[Text | str | None]:
    change = row.change
    state = Text(change.outcome.value, style=_STYLES[change.outcome])
    return [state, change.setting, _named(row.parts), change.key, *_values(command, change)]


def _boot(change: Change) -> str | None:
    return _AS_WANTED if change.boot and change.boot == change.wanted else change.boot


def _values(command: str, change: Change) -> tuple[str | None, str | None]:
    """What it is or was, and what it shall be or is."""
    if command == "tune plan":
        return change.live, change.wanted
    untouched = change.outcome in (Outcome.OK, Outcome.NA) and change.before is None
    return change.live if untouched else change.before, change.live


def _paragraph(terminal: Terminal, command: str, row: Row, details: Sequence[Text | str]) -> None:
    change = row.change
    terminal.line(Text.assemble((change.outcome.value, _STYLES[change.outcome]), f"  {_what(row)}"))
    old, new = _values(command, change)
    told = new or "-" if old == new else f"{old or '-'} -> {new or '-'}"
    terminal.line(told + (f"; next boot {_boot(change)}" if change.boot else ""), 2)
    for line in details:
        terminal.line(line, 2)


def _why_not(change: Change) -> list[Text | str]:
    """What is said even of a value that calls for nobody: why there is none."""
    return [Text(change.reason, style="dim")] if change.outcome is Outcome.NA and change.reason else []


def _details(row: Row) -> Iterator[Text | str]:
    change = row.change
    if change.reason:
        yield Text(change.reason, style=_STYLES[change.outcome])
    yield from change.effects
    if row.sources:
        yield Text(f"next boot: {change.boot or 'nothing'} ({', '.join(row.sources)})", style="dim")
    if change.source:
        yield Text(f"recommended by: {change.source}", style="dim")


def _alike(found: Sequence[Change]) -> list[Row]:
    """Changes that differ in the part, and in the file that tells of the next boot, alone."""
    same: dict[object, Row] = {}
    for change in found:
        quiet = change.outcome in _UNTOUCHED
        key = change._replace(
            subject=HOST, fold="", boot_source=None, effects=() if quiet else change.effects, source=None
        )
        row = same.setdefault(key, Row(change, [], []))
        row.parts.append(change.subject.name)
        if change.boot_source and change.boot_source not in row.sources:
            row.sources.append(change.boot_source)
    return list(same.values())


_GPU = "GPU "


def _what(row: Row) -> str:
    """`mtu of ens[1-8]np0`; a file's path says it all."""
    return row.change.key if _is_file(row.change) else f"{row.change.key} of {_named(row.parts)}"


def _named(parts: Sequence[str]) -> str:
    """`GPU 0-7`, `ens[1-8]np0`"""
    if len(parts) == 1:
        return parts[0]
    numbers = [part[len(_GPU) :] for part in parts if part.startswith(_GPU)]
    if len(numbers) == len(parts) and all(map(str.isdigit, numbers)):
        return _GPU + ",".join(_runs(sorted(map(int, numbers))))
    if any(" " in part for part in parts):
        return ", ".join(parts)
    from ..fleet.fold import node_set  # interfaces are numbered as nodes are

    return node_set(parts)


def _runs(numbers: Sequence[int]) -> Iterator[str]:
    start = last = numbers[0]
    for number in [*numbers[1:], -1]:
        if number != last + 1:
            yield str(start) if start == last else f"{start}-{last}"
            start = number
        last = number


def _closing(transaction: Transaction) -> Text:
    text = Text.assemble((transaction.id, "bold"), f": {transaction.state}")
    left = sum(change.outcome is Outcome.CONFLICT for change in transaction.changes)
    if left and transaction.state == "rolled back":
        text.append(f", but {left} changed since and left so", style="yellow")
    held = any(map(_holds, transaction.changes))
    if transaction.state in ("done", "open") or (transaction.state == "failed" and held):
        text.append("; `brctl tune rollback` takes it back", style="dim")
    if transaction.state == "unconfirmed":
        text.append("; `brctl tune confirm` over a new connection keeps it", style="yellow")
    return text


def _holds(change: Change) -> bool:
    """Whether something is there that rollback could take back."""
    written = change.outcome in (Outcome.CHANGED, Outcome.CAPPED, Outcome.PENDING_REBOOT, Outcome.CONFLICT)
    return written or (change.outcome is Outcome.REFUSED and change.before != change.live)


_HISTORY = (
    Column("Transaction"),
    Column("When (UTC)"),
    Column("State"),
    Column("Values", right=True, rank=1),
    Column("Who", wrap=True),
    Column("Config", rank=2),
    Column("Boot", rank=3),
)


def _history_row(it: Transaction) -> list[Text | str | None]:
    return [it.id, _when(it), it.state, str(_touched(it)), it.who, it.config_hash, it.boot_id[:8] or None]


def _touched(it: Transaction) -> int:
    """How many values; the files that made them last are counted only where there is nothing else."""
    done = [change for change in it.changes if change.outcome not in _UNTOUCHED]
    return sum(not _is_file(change) for change in done) or len(done)


def _brief(terminal: Terminal, it: Transaction) -> None:
    count = _touched(it)
    terminal.line(Text.assemble((it.id, "bold"), f"  {it.state}"))
    terminal.line(f"{_when(it)} UTC, {count} value{'' if count == 1 else 's'}", 2)
    terminal.line(f"by {it.who}", 2)
    terminal.line(Text(f"config {it.config_hash or '-'}, boot {it.boot_id[:8] or '-'}", style="dim"), 2)


def _transaction(terminal: Terminal, it: Transaction) -> None:
    terminal.line()
    terminal.line(Text.assemble((it.id, "bold"), f"  {it.state}  {_when(it)} UTC  by {it.who}"))
    terminal.line(Text(f"config {it.config_hash or '-'}, boot {it.boot_id or '-'}", style="dim"), 2)
    for row in _alike([change for change in it.changes if change.outcome not in _UNTOUCHED]):
        change, what = row.change, f"  {_what(row)}: "
        head = Text.assemble((change.outcome.value, _STYLES[change.outcome]), what)
        values = f"{change.before or '-'} -> {change.live or '-'}"
        if change.outcome is Outcome.CHANGED and change.before == change.live:  # it was so, but not at the next boot
            values = f"next boot: {change.boot or '-'}"
        terminal.hanging(Text("  "), head + Text(values), 4)
        if change.reason:
            terminal.line(change.reason, 6)


def _when(it: Transaction) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(it.time))


def _content(report: Report) -> object:
    return tuple((change.fold, change.outcome, change.live, change.wanted, change.boot) for change in report.changes)


def _worst(report: Report) -> Outcome:
    return max((change.outcome for change in report.changes), key=_MILDEST_FIRST.index, default=Outcome.OK)
