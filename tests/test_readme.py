"""README.md and docs/guide.md: what they tell a newcomer to type is there, and what they link to too."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from brctl.cli.app import app

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/guide.md")
TREE: Any = typer.main.get_command(app)


def _lines(page: str) -> Iterator[str]:
    for line in (ROOT / page).read_text().splitlines():
        if re.match(r" {4}(journalctl .*\| |sudo \"\$\(command -v )?br(ctl|-monitor)\b", line):
            yield line.strip()


COMMANDS = sorted({line for page in PAGES for line in _lines(page)})


def test_there_are_some() -> None:
    assert "brctl monitor --once -o json           # one sample for programs; -o jsonl and csv go on" in COMMANDS
    assert len(COMMANDS) > 60


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_readme_exists(line: str) -> None:
    plain = line.replace('sudo "$(command -v brctl)"', "brctl").rpartition("| ")[2]
    words = shlex.split(plain, comments=True)
    arguments = words[1:] if words[0] == "brctl" else ["monitor", *words[1:]]
    command, context = TREE, None
    arguments = arguments[: arguments.index(">")] if ">" in arguments else arguments
    while True:
        context = command.make_context(command.name or "brctl", list(arguments), parent=context)
        rest = [*context._protected_args, *context.args]
        if not rest or not hasattr(command, "get_command"):
            break
        name, *arguments = rest
        command = command.get_command(context, name)
    assert not rest


@pytest.mark.parametrize("page", PAGES)
def test_what_is_linked_is_there(page: str) -> None:
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / page).read_text())
    assert links
    for link in links:
        path, _, title = link.partition("#")
        text = ((ROOT / page).parent / path).read_text()
        assert not title or title in [_anchor(line) for line in text.splitlines() if line.startswith("#")], link


def _anchor(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lstrip("# ").lower()).replace(" ", "-")


def test_the_readme_is_read_in_five_minutes() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) < 1250, "250 words a minute; what is reference stands in docs/"
    assert all(len(line) <= 120 for page in PAGES for line in (ROOT / page).read_text().splitlines())
