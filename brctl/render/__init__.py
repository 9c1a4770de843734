"""Values -> stdout. The only room that prints data, and the only one that imports rich.

Each form is imported when it is asked for: JSON needs no tables.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..node.report import Report

if TYPE_CHECKING:
    from ..config.mistake import Mistake
    from ..config.reference import Explanation, Value


def prepare(form: str) -> None:
    """Import what a form needs, while the agent is at work: rich takes 40 ms."""
    if form == "table":
        import_module(".findings", __name__)
        import_module(".inventory", __name__)
    else:
        import_module(".data", __name__)


def show(report: Report, form: str, verbose: bool) -> None:
    """The inventory."""
    if form != "table":
        return _reports("node-manager show", report, form)
    from .inventory import inventory
    from .terminal import Terminal

    return inventory(Terminal(), report, verbose)


def check(report: Report, form: str, quiet: bool, verbose: bool) -> None:
    """The findings, worst first."""
    if form != "table":
        return _reports("node-manager check", report, form)
    from .findings import findings
    from .terminal import Terminal

    return findings(Terminal(), report, quiet, verbose)


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


def _reports(command: str, report: Report, form: str) -> None:
    from .data import reports

    _data(reports(command, [report]), form)


def _data(plain: Mapping[str, Any], form: str) -> None:
    """One entry a node, never folded (docs/json.md)."""
    from .data import dump

    print(dump(plain, form))
