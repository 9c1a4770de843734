"""Rules of ARCHITECTURE.md that no linter knows."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "brctl").rglob("*.py"))
DOORS = {"io", "subprocess", "socket", "shutil", "pathlib", "tempfile", "glob", "fcntl", "signal", "psutil", "pynvml"}
FILES = {"open", "read", "write", "listdir", "scandir", "readlink", "stat", "lstat", "remove", "rename", "system"}
MAY = {"host": DOORS - {"pynvml"}, "accel/nvml.py": {"pynvml"}}


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield (node.module or "").partition(".")[0]


def _file_calls(path: Path) -> Iterator[str]:
    """`open(...)` and `os.FUNCTION(...)`"""
    for node in ast.walk(ast.parse(path.read_text())):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Name) and called.id == "open":
            yield called.id
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "os":
            yield from {called.attr} & FILES


@pytest.mark.parametrize("path", sorted((ROOT / "brctl" / "node").rglob("*.py")), ids=_name)
def test_a_node_needs_nothing_installed(path: Path) -> None:
    assert set(_imports(path)) <= sys.stdlib_module_names | {"pynvml", "psutil"}


@pytest.mark.parametrize("path", sorted((ROOT / "brctl" / "node").rglob("*.py")), ids=_name)
def test_a_machine_is_reached_through_its_host_alone(path: Path) -> None:
    place = str(path.relative_to(ROOT / "brctl" / "node"))
    allowed = next((doors for prefix, doors in MAY.items() if place.startswith(prefix)), set())
    assert not set(_imports(path)) & (DOORS - allowed)
    if not place.startswith("host") and place != "agent.py":  # which reads and writes its own pipes
        assert not set(_file_calls(path))


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_a_module_is_short_and_so_are_its_functions(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) < 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= 50, f"{node.name} has {length} lines"


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_what_is_taken_for_a_number_is_one(path: Path) -> None:
    """`isdigit` and `isnumeric` are true of a superscript two too, which int() refuses; `isdecimal` is not."""
    assert not re.search(r"\.is(digit|numeric)\(", path.read_text())


def test_the_readme_names_two_set_up_commands_that_ci_can_find() -> None:
    readme = (ROOT / "README.md").read_text()
    commands = re.findall(r"^ {4}(python3 -m venv .*)$", readme, re.MULTILINE)
    assert len(commands) == 2
    assert commands[0].endswith("brctl --mock dgx-h100 node-manager check")
    assert commands[1].endswith("pytest --cov")


def test_the_architecture_page_stays_one_page_and_names_what_exists() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text()
    assert len(page.splitlines()) <= 150
    rows = [line for line in page.splitlines() if line.startswith("|")]
    for test in re.findall(r"tests/[\w/]+(?:\.py|/)", "\n".join(rows)):
        assert (ROOT / test).exists(), test
