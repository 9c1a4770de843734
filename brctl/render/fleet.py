"""Many nodes, for people: what is the same is told once, outliers first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence

from rich.text import Text

from ..fleet.fold import ALIKE, Group, Telling, fold, group, node_set, silences, tellings
from ..fleet.traits import near
from ..node.facts import Inventory, Problem
from ..node.report import WORST_FIRST, Finding, Report, Status
from .causes import roots, then
from .headline import CALLS, headline, mocked
from .terminal import STYLES, Column, Terminal

_ANSWERED = ("busy", "tune-error", "not-attempted", "not-drained", "not-resumed")
"""Errors of nodes that are not silent: why something is not done there."""
_LONGEST_SET = 300
"""Characters of a node set; irregular names of a large cluster would fill the screen."""
_FEW = 4
"""Wordings of one finding that are all shown."""
_INDENT = 2

Wordings = Sequence[Telling]
"""One finding of a group."""


def findings(terminal: Terminal, reports: Sequence[Report], quiet: bool, verbose: bool, reasons: bool = False) -> None:
    """Print groups of nodes with what calls for somebody there; with `quiet`, nothing where nothing does.

    With `reasons` a group begins with its verdict and the reason, else with the number of its findings.
    """
    groups = fold(reports, everything=verbose)
    heard = [group for group in groups if not group.reports[0].errors]
    if quiet and not any(group.worst in (None, *CALLS) for group in groups):
        return
    mocks(terminal, reports)
    unreachable(terminal, reports, verbose)
    told = False
    for each in heard:
        if quiet and each.worst not in CALLS:
            continue
        before, told = told, _is_told(each, verbose)
        if before or told:
            terminal.gap()
        _group(terminal, each, quiet, verbose, reasons)
    if told:
        terminal.gap()
    terminal.line(_tally(groups, reports))


def unreachable(terminal: Terminal, reports: Sequence[Report], verbose: bool) -> None:
    """Print the nodes that gave no Report, by kind of error, with what to do about it."""
    for silence in silences(reports):
        error, speaker = silence.error, f"{silence.speaker}: " if silence.speaker else ""
        word = "NOT DONE  " if error.kind in _ANSWERED else "NO ANSWER  "
        terminal.line(Text.assemble((word, "bold red"), (_set(silence.nodes, verbose), "bold")))
        terminal.line(f"{error.kind}: {speaker}{error.message}", _INDENT)
        if error.hint:
            terminal.line(Text.assemble(("do: ", "bold"), error.hint), _INDENT)


def inventories(terminal: Terminal, reports: Sequence[Report], verbose: bool) -> None:
    """Print a row for each kind of node: the rarest first."""
    mocks(terminal, reports)
    unreachable(terminal, reports, verbose)
    heard = [report for report in reports if report.inventory is not None]
    sizes = near(size for size in map(_memory, heard) if size)
    groups = group(heard, lambda report: _inventory(report, sizes))
    rows = [[_set(each.nodes, verbose), str(len(each.reports)), *_inventory(each.reports[0], sizes)] for each in groups]
    if rows:
        terminal.table(_INVENTORY_COLUMNS, rows)
    for problem, names in _problems(heard).items():
        text = f"{problem.part}: not read ({problem.reason}): {problem.message}"
        terminal.line(Text(f"{_set(node_set(names), verbose)}: {text}", style="magenta"))


_INVENTORY_COLUMNS = (
    Column("Nodes", wrap=True),
    Column("Count", right=True),
    Column("GPUs", right=True),
    Column("Model", wrap=True, least=12),
    Column("Driver", rank=1),
    Column("NICs", rank=5),
    Column("Memory", rank=3, right=True),
    Column("CPUs", rank=4, right=True),
    Column("Kernel", rank=2),
)


def _inventory(report: Report, sizes: Mapping[int, int]) -> tuple[str | None, ...]:
    """What tells kinds of nodes apart. `sizes` makes those of memory equal that differ by little."""
    seen = report.inventory or Inventory()
    models = sorted({gpu.identity.name for gpu in seen.gpus or () if gpu.identity})
    return (
        None if seen.gpus is None else _count(len(seen.gpus), sum(gpu.fault is not None for gpu in seen.gpus)),
        " and ".join(models) or None,
        seen.accelerator_driver.version if seen.accelerator_driver else None,
        _nics(seen),
        f"{sizes[_memory(report)] / 2**30:.0f} GiB" if seen.memory else None,
        str(seen.cpu.threads) if seen.cpu else None,
        seen.kernel.release if seen.kernel else None,
    )


def _problems(reports: Sequence[Report]) -> dict[Problem, list[str]]:
    found: dict[Problem, list[str]] = {}
    for report in reports:
        for problem in report.inventory.problems if report.inventory else ():
            found.setdefault(problem, []).append(report.node)
    return found


def _memory(report: Report) -> int:
    return report.inventory.memory.total_bytes if report.inventory and report.inventory.memory else 0


def _count(gpus: int, faulty: int) -> str:
    return f"{gpus - faulty}/{gpus}" if faulty else str(gpus)


def _nics(seen: Inventory) -> str | None:
    """`8 x 400 Gb/s, 2 x 100 Gb/s`: the physical ones with a link."""
    speeds = Counter(nic.speed_mbps for nic in seen.nics or () if nic.kind == "physical" and nic.speed_mbps)
    told = [f"{count} x {speed / 1000:g} Gb/s" for speed, count in sorted(speeds.items(), reverse=True)]
    return ", ".join(told) or None


def mocks(terminal: Terminal, reports: Sequence[Report]) -> None:
    """What every screen says of machines that are not there."""
    found: dict[Hashable, list[Report]] = {}
    for report in reports:
        if report.mock:
            found.setdefault(report.mock, []).append(report)
    for same in found.values():
        mock = same[0].mock
        if mock:
            names = node_set(report.node for report in same)
            terminal.line(Text(f"{names}:  {mocked(mock)}", style="yellow"))


def _group(terminal: Terminal, group: Group, quiet: bool, verbose: bool, reasons: bool) -> None:
    if not _is_told(group, verbose):
        terminal.line(Text.assemble((_set(group.nodes, verbose), "bold"), ": ", ("ok", STYLES[Status.PASS])))
        return
    if reasons:
        _verdict(terminal, group, verbose)
    else:
        terminal.line(_title(group, verbose))
    told = tellings(group, lambda finding: _is_shown(finding, quiet, verbose))
    shown = _alike(sorted(told, key=lambda wordings: WORST_FIRST.index(wordings[0].finding.status)))
    width = max((len(checks[0]) for checks, _ in shown), default=0)
    for checks, wordings in shown:
        _finding(terminal, checks, wordings, width, verbose, _follows(wordings[0].finding, group, verbose))


def _follows(finding: Finding, group: Group, verbose: bool) -> list[Text]:
    """What follows from it, on the first node that has it in these words."""
    return next(then(finding, report.findings, verbose) for report in group.reports if finding in report.findings)


def _verdict(terminal: Terminal, group: Group, verbose: bool) -> None:
    said, style = headline(group.reports[0]), STYLES[group.worst or Status.CRIT]
    many = f"  {len(group.reports)} nodes" if len(group.reports) > 1 else ""
    title = Text.assemble((_set(group.nodes, verbose), "bold"), f"{many}: ", (said.word, style), "  ")
    terminal.line(title + Text(said.reason))


def _is_told(group: Group, verbose: bool) -> bool:
    """Whether there is more to say than that it is well."""
    return verbose or group.worst not in ALIKE


def _alike(told: Sequence[Wordings]) -> list[tuple[list[str], Wordings]]:
    """What several checks cannot tell for one reason is said once, with the names of the checks."""
    found: dict[object, tuple[list[str], Wordings]] = {}
    for wordings in told:
        first = wordings[0].finding
        alone = first.status not in (Status.UNKNOWN, Status.NA)
        same = tuple((telling.nodes, telling.finding.subject, telling.finding.summary) for telling in wordings)
        found.setdefault((first.status, same, first.check if alone else ""), ([], wordings))[0].append(first.check)
    return list(found.values())


def _is_shown(finding: Finding, quiet: bool, verbose: bool) -> bool:
    if quiet or finding.cause:
        return finding.status in CALLS
    return verbose or finding.status not in ALIKE


def _title(group: Group, verbose: bool) -> Text:
    title = Text.assemble((_set(group.nodes, verbose), "bold"))
    if len(group.reports) > 1:
        title.append(f"  {len(group.reports)} nodes")
    counts = Counter(finding.status for finding in roots(group.reports[0].findings))
    for status in WORST_FIRST:
        if counts[status] and (verbose or status not in ALIKE):
            title.append("  ")
            title.append(f"{counts[status]} {status.value}", style=STYLES[status])
    return title


def _finding(
    terminal: Terminal, checks: Sequence[str], wordings: Wordings, width: int, verbose: bool, follows: Sequence[Text]
) -> None:
    first = wordings[0].finding
    head = Text.assemble((f"{first.status.value.upper():8}", STYLES[first.status]), f"{checks[0]:{width}}  ")
    indent = head.cell_len
    shown = wordings if verbose or len(wordings) <= _FEW else wordings[:1]
    for telling in shown:
        where = "" if len(wordings) == 1 else f"{_set(telling.nodes, verbose)}: "
        terminal.hanging(head, where + telling.finding.summary, indent)
        head = Text(" " * indent)
    left = sum(telling.node_count for telling in wordings[len(shown) :])
    if left:
        terminal.line(Text(f"and alike on {left} more nodes", style="dim"), indent)
    if len(checks) > 1:
        terminal.line(Text(f"so also {', '.join(checks[1:])}", style="dim"), indent)
    for line in (*follows, *_details(first, verbose)):
        terminal.line(line, indent)


def _details(finding: Finding, verbose: bool) -> Iterator[Text]:
    if verbose:
        for item in finding.evidence:
            yield Text(f"{item.what}: {item.value}  ({item.source})", style="dim")
    if finding.remedy:
        yield Text.assemble(("do: ", "bold"), finding.remedy)


def _tally(groups: Sequence[Group], reports: Sequence[Report]) -> Text:
    """`128 nodes: 2 no answer, 1 crit, 125 ok`"""
    counts: Counter[Status | None] = Counter()
    for each in groups:
        counts[Status.PASS if each.worst in ALIKE else each.worst] += len(each.reports)
    line = Text.assemble((f"{len(reports)} nodes:", "bold"))
    for status in (None, *WORST_FIRST):
        if counts[status]:
            word = "no answer" if status is None else "ok" if status is Status.PASS else status.value
            line.append(f"  {counts[status]} {word}", style=STYLES[status] if status else "bold red")
    return line


def _set(nodes: str, verbose: bool) -> str:
    """A node set, cut where it is endless."""
    if verbose or len(nodes) <= _LONGEST_SET:
        return nodes
    kept = nodes[:_LONGEST_SET].rpartition(",")[0]
    bracket = "]" if kept.rfind("[") > kept.rfind("]") else ""
    return f"{kept},...{bracket} (--verbose names all)"
