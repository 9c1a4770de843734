"""Checks and Xids, explained: for people and for programs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from rich.text import Text

from ..node.codec import encode
from ..node.diagnose import GROUPS, Check
from ..node.diagnose import xid as policy
from ..node.report import SCHEMA_VERSION
from .terminal import STYLES, Column, Terminal

_COLUMNS = (Column("Check"), Column("Group", rank=1), Column("True when it passes", wrap=True))


def checks(terminal: Terminal, found: Sequence[Check]) -> None:
    """A row a check, by group."""
    ordered = sorted(found, key=lambda check: (GROUPS.index(check.group), check.id))
    terminal.table(_COLUMNS, [[check.id, check.group, check.title] for check in ordered])


def check(terminal: Terminal, it: Check) -> None:
    """What it is, in the words of its own file."""
    terminal.line(Text.assemble((it.id, "bold"), f"  {it.title}."))
    for paragraph in _paragraphs(it):
        terminal.line()
        terminal.line(paragraph, indent=2)
    terminal.line()
    for label, text in (
        ("group", it.group),
        ("looks at", ", ".join(it.needs + it.reads).replace("_", " ") or None),
        ("after", ", ".join(it.after) or None),
    ):
        if text:
            _labelled(terminal, label, text)
    for threshold in it.thresholds:
        text = f"{threshold.default:g} {threshold.unit}. {threshold.source}"
        _labelled(terminal, threshold.name, text)
    if it.thresholds:
        terminal.line(Text(f"set with diagnose.checks.{it.id} in the config", style="dim"), indent=2)


def xid(terminal: Terminal, number: int) -> None:
    """What it means, who says what, what to do."""
    row = policy.of(number)
    title = f"Xid {number}  {row.name}" if row.action != "unused" else f"Xid {number}, unused in NVIDIA's catalogue"
    terminal.line(Text(title, style="bold"))
    if row.means:
        terminal.line(row.means, indent=2)
    terminal.line()
    verdict = Text.assemble((row.status.value, STYLES[row.status]), f": {row.why}")
    remedy = policy.remedy(number, "UUID")
    _labelled(terminal, "verdict", verdict)
    if remedy:
        _labelled(terminal, "do", remedy)
    terminal.line()
    others = dict(row.others)
    terminal.table(
        (Column("Who"), Column("Says"), Column("Where", rank=1, wrap=True)),
        [["NVIDIA", row.action, policy.SOURCES["NVIDIA"]]]
        + [[tool, word, policy.SOURCES[tool]] for tool, word in others.items()],
    )
    if row.is_disputed:
        terminal.line(Text("They disagree whether the GPU is to be taken out of service.", style="dim"))


def _labelled(terminal: Terminal, label: str, text: str | Text) -> None:
    head = Text.assemble("  ", (f"{label}: ", "bold"))
    terminal.hanging(head, text, head.cell_len)


def _paragraphs(it: Check) -> list[str]:
    doc = sys.modules[it.run.__module__].__doc__ or ""
    return [" ".join(part.split()) for part in doc.strip().split("\n\n")]


def checks_data(found: Sequence[Check]) -> dict[str, Any]:
    """All of them, by id."""
    return {"schema_version": SCHEMA_VERSION, "command": "diagnose list", "checks": [_plain(one) for one in found]}


def check_data(it: Check) -> dict[str, Any]:
    """One, with its documentation."""
    whole = {**_plain(it), "text": "\n\n".join(_paragraphs(it))}
    return {"schema_version": SCHEMA_VERSION, "command": "diagnose explain", "check": whole}


def xid_data(number: int) -> dict[str, Any]:
    """One, with all that is said of it."""
    row = policy.of(number)
    said = [("NVIDIA", row.action), *row.others]
    whole = {
        "number": number,
        "name": row.name,
        "means": row.means,
        "status": row.status.value,
        "why": row.why,
        "remedy": policy.remedy(number, "UUID"),
        "disputed": row.is_disputed,
        "says": [{"who": who, "word": word, "source": policy.SOURCES[who]} for who, word in said],
    }
    return {"schema_version": SCHEMA_VERSION, "command": "diagnose explain", "xid": whole}


def _plain(it: Check) -> dict[str, Any]:
    return {
        "id": it.id,
        "group": it.group,
        "title": it.title,
        "needs": list(it.needs),
        "after": list(it.after),
        "thresholds": encode(it.thresholds),
    }
