"""Values -> stdout. The only room that prints data, and the only one that imports rich.

Each form is imported when it is asked for: JSON needs no tables.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..node.report import Report, encode

if TYPE_CHECKING:
    from ..config.mistake import Mistake
    from ..config.reference import Explanation, Value
    from ..fleet.discover import Discovery
    from ..fleet.drain import Outcome
    from ..fleet.listing import Row


def prepare(form: str) -> None:
    """Import what a form needs, while the agent is at work: rich takes 40 ms."""
    if form == "table":
        import_module(".findings", __name__)
        import_module(".inventory", __name__)
    else:
        import_module(".data", __name__)


def show(reports: Sequence[Report], form: str, verbose: bool) -> None:
    """The inventory: of one node whole, of many by what they have in common."""
    if form != "table":
        return _data(_plain_reports("node-manager show", reports), form)
    from .inventory import inventory
    from .terminal import Terminal

    terminal = Terminal()
    if len(reports) > 1:
        from .fleet import inventories

        inventories(terminal, reports, verbose)
    for report in reports if verbose or len(reports) == 1 else ():
        inventory(terminal, report, verbose)
    return None


def check(
    reports: Sequence[Report],
    form: str,
    quiet: bool,
    verbose: bool,
    outcomes: Sequence[Outcome] = (),
    found: Discovery | None = None,
) -> None:
    """The findings, worst first: of one node each, of many folded; what was done, and what was discovered with them."""
    if form != "table":
        return _data(_plain_check(reports, outcomes, found), form)
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


def rows(found: Sequence[Row], form: str) -> None:
    """A row a node."""
    if form != "table":
        return _data({"command": "node-manager list", "nodes": [encode(row) for row in found]}, form)
    from .nodes import rows as table
    from .terminal import Terminal

    return table(Terminal(), found)


def discovery(found: Discovery, form: str) -> None:
    """What the sources say, who answers, and the change of the config."""
    if form != "table":
        return _data({"command": "node-manager discover", "discovery": encode(found)}, form)
    from .nodes import discovery as table
    from .terminal import Terminal

    return table(Terminal(), found)


def outcomes(command: str, found: Sequence[Outcome], form: str) -> None:
    """What came of a drain or resume on each node."""
    if form != "table":
        return _data({"command": command, "nodes": [encode(outcome) for outcome in found]}, form)
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


def explanation(it: Explanation) -> None:
    """One key of the config."""
    from .config import explain
    from .terminal import Terminal

    explain(Terminal(), it)


def valid(path: Path, nodes: int, groups: int, warnings: int) -> None:
    """One line that says that a config is fine."""
    print(f"{path}: valid: {nodes} nodes, {groups} groups, {warnings} warnings")


def mistakes(errors: Sequence[Mistake], warnings: Sequence[Mistake], form: str) -> None:
    """What is wrong with a config, for programs."""
    from .config import mistakes_data

    _data(mistakes_data(errors, warnings), form)


def plain(text: str) -> None:
    """Text of our own, as it is."""
    print(text, end="")


def plain_json(plain: Mapping[str, Any]) -> None:
    """JSON as it is."""
    print(json.dumps(plain, indent=2))


def _plain_reports(command: str, found: Sequence[Report]) -> dict[str, Any]:
    from .data import reports

    return reports(command, found)


def _plain_check(reports: Sequence[Report], outcomes: Sequence[Outcome], found: Discovery | None) -> dict[str, Any]:
    plain = _plain_reports("node-manager check", reports)
    if outcomes:
        plain["drained"] = [encode(outcome) for outcome in outcomes]
    if found:
        plain["discovery"] = encode(found)
    return plain


def _data(plain: Mapping[str, Any], form: str) -> None:
    """One entry a node, never folded (docs/json.md)."""
    from .data import dump

    print(dump(plain, form))
