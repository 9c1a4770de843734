"""Every brctl command that a check or a card of the manual prints is one that there is."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from brctl.cli import diagnose_run
from brctl.cli.app import app

DIAGNOSE = Path(__file__).parents[2] / "brctl" / "node" / "diagnose"
QUOTED = re.compile(r"`[^`]*?\bbrctl ([^`|]+)")
PLAIN = re.compile(r"\bbrctl ([a-z]+(?:-[a-z]+)* [a-z]+(?: --[a-z-]+(?: [\w=.,%-]+)?)*)")
TREE: Any = typer.main.get_command(app)
NO_GROUPS = ("looks", "looked", "does", "itself", "runs", "was", "is", "may", "needs", "prints")
"""What follows the name where brctl is spoken of."""


def _texts(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield node.value


def _commands() -> Iterator[tuple[str, str]]:
    for path in sorted(DIAGNOSE.rglob("*.py")):
        for text in _texts(path):
            found = QUOTED.findall(text) or PLAIN.findall(text)
            for command in found:
                if command.split()[0] not in NO_GROUPS:
                    yield path.stem, command.strip()


COMMANDS = sorted(set(_commands()))


def test_there_are_some() -> None:
    assert {"node-manager drain --reason gpu-lost --wait 30m", "tune apply --set numa_balancing=false"} <= {
        command for _, command in COMMANDS
    }


@pytest.mark.parametrize(("where", "command"), COMMANDS)
def test_a_printed_command_exists(where: str, command: str) -> None:
    group, name, *arguments = shlex.split(command)
    root = typer.Context(TREE, info_name="brctl")
    commands = TREE.get_command(root, group)
    above = typer.Context(commands, info_name=group, parent=root)
    made = commands.commands[name].make_context(name, arguments, parent=above)
    assert not made.args, where
    if (group, name) == ("diagnose", "run"):
        assert diagnose_run.chosen(made.params["only"], made.params["skip"])
    if (group, name) == ("diagnose", "symptom"):
        assert diagnose_run.card_of(made.params["which"])
    if group == "tune" and "only" in made.params:
        _is_tuned(made.params["only"], made.params["sets"])


def _is_tuned(only: list[str], sets: list[str]) -> None:
    """Raises where there is no such setting or key, or the value does not fit it."""
    from importlib import import_module

    settings = {setting.id for setting in import_module("brctl.node.tune.engine").registry()}
    assert set(only) <= settings
    import_module("brctl.config.wanted").wanted(None, "gpu001", sets)
