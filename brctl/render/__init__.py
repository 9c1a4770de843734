"""Values -> stdout. The only room that prints data, and the only one that imports rich.

Each form is imported when it is asked for: JSON needs no tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..config.mistake import Mistake
    from ..config.reference import Explanation, Value
    from ..fleet.discover import Discovery
    from ..fleet.drain import Outcome
    from ..fleet.listing import Row
    from ..node.diagnose import Check
    from ..node.diagnose.manual import Card
    from ..node.diagnose.ranking import Answer
    from ..node.report import Report
    from ..node.tune.manual import Page
    from .terminal import Terminal


def prepare(form: str, seldom: bool = False) -> None:
    """Import what a form needs, while the agent is at work: rich takes 40 ms. `seldom`: what is well needs none."""
    if form != "table":
        import_module(".data", __name__)
    elif not seldom:
        import_module(".findings", __name__)
        import_module(".inventory", __name__)


def show(reports: Sequence[Report], form: str, verbose: bool) -> None:
    """The inventory: of one node whole, of many by what they have in common."""
    if form != "table":
        return _reports("node-manager show", reports, form)
    from .inventory import inventory
    from .terminal import Terminal

    terminal = Terminal()
    if len(reports) > 1:
        from .fleet import inventories

        inventories(terminal, reports, verbose)
    for report in reports if verbose or len(reports) == 1 else ():
        inventory(terminal, report, verbose)
    return None


def capabilities(reports: Sequence[Report], form: str) -> None:
    """What can be read of the GPUs of each node."""
    if form != "table":
        return _reports("node-manager capabilities", reports, form)
    from .libraries import libraries
    from .terminal import Terminal

    terminal = Terminal()
    for report in _heard(terminal, reports):
        libraries(terminal, report)
    return None


def check(
    reports: Sequence[Report],
    form: str,
    quiet: bool,
    verbose: bool,
    outcomes: Sequence[Outcome] = (),
    found: Discovery | None = None,
    command: str = "node-manager check",
) -> None:
    """The findings, worst first: of one node each, of many folded; what was done, and what was discovered with them."""
    if form != "table":
        return _reports(command, reports, form, outcomes, found)
    from .terminal import Terminal

    terminal = Terminal()
    if found and not quiet:
        from .nodes import discovery

        discovery(terminal, found)
    if len(reports) > 1:
        from .fleet import findings as many

        many(terminal, reports, quiet, verbose)
    else:
        from .findings import findings

        findings(terminal, reports[0], quiet, verbose)
    if outcomes:
        from .nodes import outcomes as acted

        acted(terminal, outcomes)
    return None


def changes(command: str, reports: Sequence[Report], form: str, quiet: bool, verbose: bool) -> None:
    """What a plan comes to, or what became of each change: of one node, of many folded."""
    if form != "table":
        return _reports(command, reports, form)
    from .terminal import Terminal
    from .tune import changes as tables

    return tables(Terminal(), command, reports, quiet, verbose)


def history(reports: Sequence[Report], form: str, verbose: bool) -> None:
    """The transactions of each node, newest first; with `verbose`, every value of them."""
    if form != "table":
        return _reports("tune history", reports, form)
    from .terminal import Terminal
    from .tune import history as tables

    terminal = Terminal()
    _heard(terminal, reports)
    return tables(terminal, reports, verbose)


def pages(found: Sequence[Page], form: str) -> None:
    """What `tune` sets, and what it has a page of besides."""
    if form != "table":
        plain = [{"id": each.id, "title": each.title, "keys": list(each.keys)} for each in found]
        return _data({"command": "tune list", "settings": plain}, form)
    from .terminal import Terminal
    from .tune import pages as table

    return table(Terminal(), found)


def page(it: Page, form: str) -> None:
    """One of them, in its own words."""
    if form != "table":
        told = {"id": it.id, "title": it.title, "keys": list(it.keys), "text": it.text.split("\n\n")}
        return _data({"command": "tune explain", "setting": told}, form)
    from .terminal import Terminal
    from .tune import page as text

    return text(Terminal(), it)


def benchmark(report: Report, figures: Mapping[str, str], form: str, quiet: bool, verbose: bool) -> None:
    """The figures of a benchmark's log, and what is wrong with them."""
    if form != "table":
        plain = {"log": report.node, "figures": dict(figures), "findings": _plain(list(report.findings))}
        return _data({"command": "diagnose comm", **plain}, form)
    from .findings import findings as table
    from .terminal import Terminal

    terminal = Terminal()
    for name, value in figures.items() if not quiet else ():
        terminal.line(f"{name:16} {value}")
    return table(terminal, report, quiet, verbose)


def environment(reports: Sequence[Report], form: str, kind: str) -> None:
    """The communication environment of each node, in a form of node.comm.formats; once for nodes that share it."""
    if form != "table":
        return _reports("tune env", reports, form)
    from .environments import environments

    return environments(reports, kind)


def diagnosis(reports: Sequence[Report], form: str, quiet: bool, verbose: bool, command: str = "diagnose run") -> None:
    """What `diagnose run` or `log` found: of one node each, of many folded, a verdict and its reason first."""
    if form in ("nagios", "markdown"):
        from . import plugin

        return plain(getattr(plugin, form)(reports) + "\n")
    if form != "table":
        return _reports(command, reports, form)
    from .headline import all_well

    text = all_well(reports) if not (quiet or verbose) else ""
    if text:
        return plain(text)
    from .terminal import Terminal

    terminal = Terminal()
    if len(reports) > 1:
        from .fleet import findings as many

        return many(terminal, reports, quiet, verbose, reasons=True)
    from .diagnosed import diagnosis as one

    return one(terminal, reports[0], quiet, verbose)


def answers(
    reports: Sequence[Report], found: Sequence[Answer], card: Card, form: str, quiet: bool, verbose: bool
) -> None:
    """What each node says of a symptom: of one its causes with their evidence, of many folded."""
    command = f"diagnose symptom {card.symptom}"
    if form in ("json", "yaml"):
        from .data import reports as plain

        return _data({**plain(command, reports), "answers": _plain(list(found))}, form)
    from ..node.diagnose.ranking import told

    if form != "table" or len(reports) > 1:
        folded = [report._replace(findings=told(it)) for report, it in zip(reports, found, strict=True)]
        return diagnosis(folded, form, quiet, verbose, command)
    from .symptoms import answered
    from .terminal import Terminal

    return answered(Terminal(), reports[0], found[0], card, quiet, verbose)


def card_explained(card: Card, form: str) -> None:
    """One symptom."""
    from . import symptoms

    if form != "table":
        return _data(symptoms.card_data(card), form)
    from .terminal import Terminal

    return symptoms.explained(Terminal(), card)


def checks(found: Sequence[Check], cards: Sequence[Card], form: str) -> None:
    """What there is to check, and the symptoms that the checks are evidence for."""
    from . import explanations, symptoms

    if form != "table":
        named = [{"symptom": card.symptom, "title": card.title} for card in cards]
        return _data({**explanations.checks_data(found), "symptoms": named}, form)
    from .terminal import Terminal

    terminal = Terminal()
    explanations.checks(terminal, found)
    terminal.line()
    return symptoms.cards(terminal, cards)


def check_explained(check: Check, form: str) -> None:
    """One check."""
    from . import explanations

    if form != "table":
        return _data(explanations.check_data(check), form)
    from .terminal import Terminal

    return explanations.check(Terminal(), check)


def xid_explained(number: int, form: str) -> None:
    """One Xid."""
    from . import explanations

    if form != "table":
        return _data(explanations.xid_data(number), form)
    from .terminal import Terminal

    return explanations.xid(Terminal(), number)


def notes(command: str, reports: Sequence[Report], form: str) -> None:
    """What each node says, where that is all."""
    if form != "table":
        return _reports(command, reports, form)
    from .nodes import notes as lines
    from .terminal import Terminal

    terminal = Terminal()
    return lines(terminal, _heard(terminal, reports))


def rows(found: Sequence[Row], form: str) -> None:
    """A row a node."""
    if form != "table":
        return _data({"command": "node-manager list", "nodes": _plain(found)}, form)
    from .nodes import rows as table
    from .terminal import Terminal

    return table(Terminal(), found)


@contextmanager
def watched(form: str) -> Iterator[Callable[[str, Sequence[Row], tuple[str, str | None] | None], None]]:
    """What shows rows again and again, with a line above and what hinders below; as JSON, one document each time."""
    if form != "table":
        yield lambda _head, found, _trouble: rows(found, form)
        return
    from .nodes import watched_rows
    from .watch import Screen

    with Screen() as screen:
        yield lambda *shown: screen.draw(lambda terminal: watched_rows(terminal, *shown))


def discovery(found: Discovery, reports: Sequence[Report], form: str) -> None:
    """What the sources say, who answers with which Report, and the change of the config."""
    if form != "table":
        return _data({"command": "node-manager discover", "discovery": _plain(found)}, form)
    from .nodes import discovery as table
    from .terminal import Terminal

    return table(Terminal(), found, reports)


def outcomes(command: str, found: Sequence[Outcome], form: str) -> None:
    """What came of a drain or resume on each node."""
    if form != "table":
        return _data({"command": command, "nodes": _plain(found)}, form)
    from .nodes import outcomes as table
    from .terminal import Terminal

    return table(Terminal(), found)


def values(nodes: Sequence[tuple[str | None, Sequence[Value]]], form: str) -> None:
    """Config values with their origins, by node; the node None is the cluster as a whole."""
    from .config import values_data, values_table

    if form != "table":
        return _data(values_data(nodes), form)
    from .terminal import Terminal

    return values_table(Terminal(), nodes)


def explanation(it: Explanation, form: str) -> None:
    """One key of the config."""
    from .config import explain, explanation_data

    if form != "table":
        return _data(explanation_data(it), form)
    from .terminal import Terminal

    return explain(Terminal(), it)


def valid(path: Path, nodes: int, groups: int, warnings: int) -> None:
    """One line that says that a config is fine."""
    from .clean import clean

    counts = ((nodes, "node"), (groups, "group"), (warnings, "warning"))
    words = ", ".join(f"{number} {noun}{'' if number == 1 else 's'}" for number, noun in counts)
    print(f"{clean(str(path))}: valid: {words}")


def mistakes(errors: Sequence[Mistake], warnings: Sequence[Mistake], form: str) -> None:
    """What is wrong with a config, for programs."""
    from .config import mistakes_data

    _data(mistakes_data(errors, warnings), form)


def plain(text: str) -> None:
    """Text of our own, as it is."""
    print(text, end="")


def _heard(terminal: Terminal, reports: Sequence[Report]) -> Sequence[Report]:
    """Those that there is something to print of, once it is printed who among many is silent."""
    if len(reports) == 1:
        return reports
    from .fleet import unreachable

    unreachable(terminal, reports, verbose=False)
    return [report for report in reports if not report.errors]


def _reports(
    command: str,
    found: Sequence[Report],
    form: str,
    outcomes: Sequence[Outcome] = (),
    discovered: Discovery | None = None,
) -> None:
    from .data import reports

    plain = reports(command, found)
    if outcomes:
        plain["drained"] = _plain(outcomes)
    if discovered:
        plain["discovery"] = _plain(discovered)
    _data(plain, form)


def _plain(value: Sequence[Any]) -> Any:
    """A NamedTuple, or several, as plain data."""
    from ..node.codec import encode

    return encode(tuple(value)) if isinstance(value, list) else encode(value)


def _data(plain: Mapping[str, Any], form: str) -> None:
    """One entry a node, never folded (docs/json.md)."""
    from .data import dump

    print(dump(plain, form), flush=True)
