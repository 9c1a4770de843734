"""Every screen of a machine that is not there says so."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from brctl.cli.app import app

Brctl = Callable[..., Any]  # the fixture of conftest.py
CONFIG = "version: 1\ncluster: {name: c, nodes: gpu001}\n"
SAID = "mock machine dgx-h100, composed"
LIMIT = ("--set", "gpu.power_limit=650W")

SCREENS: dict[str, tuple[str, ...]] = {
    "node-manager show": (),
    "node-manager capabilities": (),
    "node-manager check": (),
    "node-manager clean": (),
    "node-manager list": ("-w", "gpu001"),
    "node-manager discover": ("-w", "gpu001"),
    "tune plan": LIMIT,
    "tune apply": ("--yes", *LIMIT),
    "tune rollback": (),
    "tune confirm": (),
    "tune history": (),
    "tune env": (),
    "config init": (),
    "diagnose run": (),
    "diagnose symptom": ("slow-node",),
    "diagnose bundle": ("x.json",),
    "monitor release": ("--for", "0s"),
    "monitor alerts": (),
}
"""Commands that look at a machine, and what they need."""
_MARKS = dict.fromkeys(("node-manager clean", "node-manager discover"), pytest.mark.process)
REFUSED = ("node-manager drain", "node-manager resume", "diagnose comm")
"""They say that they are not for mocked machines."""
APART = ("monitor alerts history", "monitor alerts silence")
"""They tell of records, those of mocks apart."""
ASK_NOBODY = (
    *("tune list", "tune explain", "config validate", "config show", "config explain", "config schema"),
    *("diagnose log", "diagnose explain", "diagnose list", "monitor rules", "monitor dashboard"),
    *("monitor alerts list", "monitor alerts test"),
)
"""Their words are of the config, of a file, of brctl itself."""


def commands(group: Any, context: Any, names: tuple[str, ...] = ()) -> Iterator[str]:
    for name in group.list_commands(context):
        command, path = group.get_command(context, name), (*names, name)
        if hasattr(command, "list_commands"):
            yield from commands(command, typer.Context(command, info_name=name, parent=context), path)
        if getattr(command, "invoke_without_command", True):
            yield " ".join(path)


def test_each_command_is_known_here() -> None:
    """A new one that looks at a machine belongs into SCREENS."""
    tree = typer.main.get_command(app)
    found = set(commands(tree, typer.Context(tree, info_name="brctl")))
    assert found - {"monitor"} == {*SCREENS, *REFUSED, *APART, *ASK_NOBODY}  # the live view has tests of its own


@pytest.fixture
def told(brctl: Brctl) -> Callable[..., str]:
    Path("cluster-config.yaml").write_text(CONFIG)

    def call(*argv: str) -> str:
        result = brctl("--mock", "dgx-h100", *argv)
        return str(result.out + result.err)

    return call


@pytest.mark.parametrize("command", [pytest.param(each, marks=_MARKS.get(each, ())) for each in SCREENS])
def test_it_is_said(told: Callable[..., str], command: str) -> None:
    said = SAID.partition(",")[0] if command == "node-manager list" else SAID  # its rows have the name alone
    assert said in told(*command.split(), *SCREENS[command])


@pytest.mark.parametrize("command", APART)
def test_records_of_mocks_are_apart(told: Callable[..., str], command: str) -> None:
    assert told(*command.split()).startswith("of mocked machines, of which there is a record of its own\n")


@pytest.mark.parametrize("command", REFUSED)
def test_it_is_refused(told: Callable[..., str], command: str) -> None:
    more = ("--reason", "x") if command.endswith("drain") else ()
    assert "mocked machines" in told(*command.split(), "-w", "gpu001", *more)


def test_as_a_monitoring_plugin(told: Callable[..., str]) -> None:
    assert f"({SAID}) | crit=0" in told("diagnose", "run", "-o", "nagios")


@pytest.mark.parametrize("kind", ["shell", "nccl-conf", "systemd", "slurm", "kubernetes"])
def test_an_environment_says_it_in_a_comment(told: Callable[..., str], kind: str) -> None:
    assert f"\n# {SAID}\n" in told("tune", "env", "--format", kind)
