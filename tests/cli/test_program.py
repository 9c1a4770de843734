"""The program as it is installed: start-up, pipes, signals."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

BRCTL = [sys.executable, "-m", "brctl"]
HANG = ["--mock", "dgx-h100+gpu3-hang", "node-manager", "check"]
pytestmark = pytest.mark.process


def _run(*argv: str, **options: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*BRCTL, *argv], capture_output=True, text=True, timeout=60, check=False, **options)  # type: ignore[call-overload,no-any-return]


def _imported(*argv: str) -> set[str]:
    lines = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "brctl", *argv],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stderr.splitlines()
    return {line.rpartition("|")[2].strip() for line in lines}


def test_version_imports_nothing_heavy() -> None:
    heavy = {"typer", "rich", "pydantic", "yaml", "psutil", "pynvml", "ClusterShell", "json", "subprocess", "pathlib"}
    assert not heavy & _imported("--version")


def test_help_imports_neither_rich_nor_pydantic() -> None:
    assert not {"rich", "pydantic", "yaml", "psutil", "pynvml", "ClusterShell"} & _imported("--help")


def test_without_a_config_pydantic_stays_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    assert not {"pydantic", "yaml", "ClusterShell"} & _imported("--mock", "dgx-h100", "node-manager", "check")


def test_a_hung_driver_does_not_hold_up_a_pipe(tmp_path: Path) -> None:
    began = time.monotonic()
    pipe = subprocess.run(
        ["bash", "-c", '"$@" | cat; exit "${PIPESTATUS[0]}"', "-", *BRCTL, *HANG, "-o", "json"],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert time.monotonic() - began < 30
    assert pipe.returncode == 3
    findings = json.loads(pipe.stdout)["reports"][0]["findings"]
    assert [f["check"] for f in findings if f["reason"] == "hung"] == ["gpu-responding"]


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    child = subprocess.Popen(
        [*BRCTL, "--mock", "dgx-h100", "node-manager", "show", "-o", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdout is not None
    child.stdout.close()
    _, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (141, b"")


def test_ctrl_c_ends_it_and_its_agent() -> None:
    child = subprocess.Popen(
        [*BRCTL, *HANG, "-q"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    time.sleep(1)
    os.kill(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=10)
    assert (child.returncode, out) == (130, b"")
    assert err == b"error: interrupted\n"


def test_output_in_an_encoding_without_our_letters() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "100"}
    result = _run("--mock", "dgx-h100", "node-manager", "check", env=environment)
    assert (result.returncode, result.stderr) == (0, "")
    assert "PASS" in result.stdout


def _br_node_manager(folder: Path, nodes: str) -> "subprocess.CompletedProcess[str]":
    """The call of the run books, in a folder with a config of these nodes."""
    (folder / "cluster-config.yaml").write_text(f'version: 1\ncluster: {{name: c, nodes: "{nodes}"}}\n')
    command = "import sys; sys.argv[0] = 'br-node-manager'; from brctl.__main__ import br_node_manager as m; m()"
    return subprocess.run(
        [sys.executable, "-c", command, "--config", "cluster-config.yaml", "--mock", "dgx-h100"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_br_node_manager_takes_the_call_of_the_run_books(tmp_path: Path) -> None:
    result = _br_node_manager(tmp_path, "gpu001")
    assert (result.returncode, result.stderr) == (0, "")
    assert "gpu-responding" in result.stdout


def test_br_node_manager_discovers_and_checks_every_node(tmp_path: Path) -> None:
    result = _br_node_manager(tmp_path, "gpu[001-003]")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == (
        "config  3 nodes\n"
        "3 answer  gpu[001-003]\n"
        "gpu[001-003]:  mock machine dgx-h100, composed\n"
        "gpu[001-003]: ok\n"
        "3 nodes:  3 ok\n"
    )


CHECK = ["--mock", "dgx-h100", "node-manager", "check"]
SHOW = ["--mock", "dgx-h100", "node-manager", "show"]


def _shell(redirections: str, *argv: str) -> "subprocess.CompletedProcess[bytes]":
    command = ["bash", "-c", f'"$@" {redirections}', "-", *BRCTL, *argv]
    return subprocess.run(command, capture_output=True, timeout=60, check=False)


@pytest.mark.parametrize("argv", [SHOW, ["config", "explain", "transport.fanout"], ["--help"], ["--version"]])
def test_a_reader_that_goes_away_is_141(argv: list[str]) -> None:
    result = _shell('| true; exit "${PIPESTATUS[0]}"', *argv)
    assert (result.returncode, result.stdout, result.stderr) == (141, b"", b"")


@pytest.mark.parametrize(
    ("redirections", "argv", "code", "err"),
    [
        (">&-", CHECK, 0, b""),
        ("<&- >&- 2>&-", CHECK, 0, b""),
        (">/dev/null 2>/dev/full", CHECK, 0, b""),
        ("2>/dev/full", ["addbr"], 2, b""),
        ("2>/dev/full", ["--bogus"], 2, b""),
        (">/dev/full", ["addbr", "--version"], 2, None),
        (">/dev/full", ["--version"], 3, b"error: standard output: No space left on device\n"),
        (">/dev/full 2>/dev/full", ["--version"], 3, b""),
        (">/dev/full", ["--help"], 3, b"error: standard output: No space left on device\n"),
        (">/dev/full", SHOW, 3, b"error: standard output: No space left on device\n"),
    ],
)
def test_streams_that_are_closed_or_full(redirections: str, argv: list[str], code: int, err: "bytes | None") -> None:
    result = _shell(redirections, *argv)
    assert (result.returncode, result.stdout) == (code, b"")
    assert err is None or result.stderr == err


def test_warnings_stay_out_of_json_where_stderr_is_closed(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("version: 1\ncluster: {name: c, nodes: a}\n")
    result = _shell("2>&-", *CHECK, "-c", str(tmp_path / "c.yaml"), "-o", "json")
    assert json.loads(result.stdout)["command"] == "node-manager check"


def test_ctrl_c_before_and_after_the_run() -> None:
    code = "import os, brctl.__main__ as m; {}; os.kill(os.getpid(), 2); print('not reached')"
    early = [sys.executable, "-c", code.format("0")]
    assert subprocess.run(early, capture_output=True, check=False, timeout=60).returncode == 130
    during = "m._run = lambda _: os.kill(os.getpid(), 2); m.main()"
    result = subprocess.run([sys.executable, "-c", code.format(during)], capture_output=True, check=False, timeout=60)
    assert (result.returncode, result.stdout, result.stderr) == (130, b"", b"")


def test_arguments_that_are_no_utf_8() -> None:
    for argv in (["--as", b"x\xff", "-o", "yaml"], ["--mock", b"bu\xff"], ["--nodes", b"x\xff"]):
        command = [*BRCTL, "--mock", "dgx-h100", "node-manager", "check", *argv]
        result = subprocess.run(command, capture_output=True, check=False, timeout=60)
        assert (result.returncode, result.stdout) == (2, b"")
        assert result.stderr.startswith(b"error: ")
        assert b"fault of brctl" not in result.stderr
