"""Every FILE that a command reads: what cannot be read is one error and 2, and nothing is read for ever."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from brctl.cli import diagnose_run
from brctl.cli.app import app
from brctl.cli.common import Common

Brctl = Callable[..., Any]

READ = {
    "diagnose run --baseline": ("--mock", "cpu-only", "diagnose", "run", "--baseline"),
    "diagnose symptom --baseline": ("--mock", "cpu-only", "diagnose", "symptom", "slow-node", "--baseline"),
    "diagnose comm --from-log": ("diagnose", "comm", "--from-log"),
    "diagnose log FILE|-": ("diagnose", "log"),
    "diagnose log --baseline": ("diagnose", "log", "clean.log", "--apart", "1m", "--baseline"),
    "monitor alerts test FILE": ("monitor", "alerts", "test"),
    "tune env --lint": ("--mock", "cpu-only", "tune", "env", "--lint"),
    "config validate FILE": ("config", "validate"),
    "monitor --tls-cert": ("--mock", "cpu-only", "monitor", "--listen", "127.0.0.1:0", "--tls-cert"),
    "--config": ("--mock", "cpu-only", "diagnose", "run", "--config"),
    "--mock": ("diagnose", "run", "--mock"),
}
WRITTEN = {"diagnose bundle FILE", "config init FILE", "monitor --textfile"}
BESIDE_ANOTHER = {"monitor --tls-key", "monitor --tls-client-ca"}


def _files(command: Any, path: str = "") -> Iterator[str]:
    for param in command.params:
        if "FILE" in str(param.metavar) and param.name not in Common._fields:
            argument = param.param_type_name == "argument"
            yield f"{path} {param.metavar if argument else max(param.opts, key=len)}"
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from _files(command.get_command(None, name), f"{path} {name}".strip())


def test_every_file_of_a_command_is_here() -> None:
    found = set(_files(typer.main.get_command(app)))
    assert found == (READ.keys() - {"--config", "--mock"}) | WRITTEN | BESIDE_ANOTHER


@pytest.mark.parametrize("argv", READ.values(), ids=READ)
@pytest.mark.parametrize("file", ["none/such.txt", "./folder", "./zeros", "./words"])
def test_what_cannot_be_read_is_one_error_and_2(brctl: Brctl, argv: tuple[str, ...], file: str) -> None:
    if (argv[-1], file) == ("--lint", "./words"):
        pytest.skip("any text may be a script")
    Path("folder").mkdir()
    Path("zeros").symlink_to("/dev/zero")
    Path("words").write_text("hello\n")
    Path("clean.log").write_text("[    0.000000] Linux version 6.8.0\n")
    result = brctl(*argv, file)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: ")
    assert result.err.count("error: ") == 1
    assert file.removeprefix("./") in result.err


def test_a_baseline_is_bounded(brctl: Brctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnose_run, "_LARGEST_BYTES", 5000)
    Path("b.json").write_text('{"reports": []}' + " " * 5000)
    result = brctl("--mock", "cpu-only", "diagnose", "run", "--baseline", "b.json")
    assert (result.code, result.err.partition("\n")[0]) == (2, "error: b.json is no output of brctl in JSON")
    Path("b.json").write_text('{"reports": []}' + " " * 4000)
    assert brctl("--mock", "cpu-only", "diagnose", "run", "--baseline", "b.json").code == 0
