"""The config, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.text import Text

from ..config.mistake import Mistake
from ..config.reference import Explanation, Value, plain
from .terminal import Column, Terminal

_COLUMNS = (Column("Key"), Column("Value", wrap=True), Column("From", rank=1))
_VALUE = 24
"""Cells that a value needs to be read at all."""


def values_table(terminal: Terminal, nodes: Sequence[tuple[str | None, Sequence[Value]]]) -> None:
    """Every value with where it comes from; what stands in the file is told apart from the defaults."""
    for name, values in nodes:
        if name:
            terminal.line(Text(name, style="bold"))
        rows = [(value.key, plain(value.value), value.origin) for value in values]
        width = terminal.console.width - 4  # two gaps
        files = {value.origin.removeprefix("override at ").rpartition(":")[0] for value in values} - {""}
        if sum(max((len(row[i]) for row in rows), default=0) for i in (0, 2)) + _VALUE > width:
            rows = list(_narrowed(rows, width))
        else:
            files = set()
        terminal.table(_COLUMNS, [[_style(cell, row[2]) for cell in row] for row in rows])
        for file in sorted(files):
            terminal.line(Text(f"lines of {file}", style="dim"))


def _narrowed(rows: Sequence[tuple[str, str, str]], width: int) -> Iterator[tuple[str, str, str]]:
    """The rows with lines alone for files, and long keys broken behind a dot."""
    short = [_short(origin) for _, _, origin in rows]
    room = width - _VALUE - max(map(len, short))
    for (key, value, _), origin in zip(rows, short, strict=True):
        end = key.rfind(".", 0, room) + 1 if len(key) > room else 0
        if end:
            yield key[:end], "", ""
        yield "  " * bool(end) + key[end:], value, origin


def _short(origin: str) -> str:
    """`line 12`, `override, line 12`"""
    line = origin.rpartition(":")[2]
    return "override, " * origin.startswith("override at ") + f"line {line}" if line != origin else origin


def explain(terminal: Terminal, it: Explanation) -> None:
    """One key."""
    terminal.line(Text(it.key, style="bold"))
    terminal.line(it.meaning, indent=2)
    needed = "required" if it.required else it.default
    for label, text in (
        ("write", it.kind),
        ("default", needed),
        ("example", it.example),
        ("source", it.source),
        ("keys", ", ".join(it.keys)),
    ):
        if text:
            terminal.hanging(Text(f"  {label:9}", style="bold"), text, 11)


def values_data(nodes: Sequence[tuple[str | None, Sequence[Value]]]) -> dict[str, Any]:
    """The values as plain data; `node` is null for the cluster as a whole."""
    return {
        "command": "config show",
        "nodes": [
            {"node": name, "values": [{"key": v.key, "value": v.value, "from": v.origin} for v in values]}
            for name, values in nodes
        ],
    }


def explanation_data(it: Explanation) -> dict[str, Any]:
    """One key as plain data."""
    return {"command": "config explain", **it._asdict()}


def mistakes_data(errors: Sequence[Mistake], warnings: Sequence[Mistake]) -> dict[str, Any]:
    """What is wrong with a config as plain data; `place` is null for the file as a whole."""
    return {
        "command": "config validate",
        "valid": not errors,
        "errors": [_mistake(it) for it in errors],
        "warnings": [_mistake(it) for it in warnings],
    }


def _mistake(it: Mistake) -> dict[str, Any]:
    place = it.place and {"file": it.place.file, "line": it.place.line, "column": it.place.column}
    return {"message": it.message, "place": place, "path": it.path, "hint": it.hint}


def _style(cell: str, origin: str) -> Text:
    return Text(cell, style="dim" if origin == "default" else "")
