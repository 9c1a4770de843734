import errno
import json
import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from brctl.cli import files, session
from brctl.fleet import engine
from brctl.mock import machines
from brctl.mock.machines import load
from brctl.node import deadline
from brctl.node.agent import answer
from brctl.node.report import NodeError, Report
from brctl.render import headline

Brctl = Callable[..., Any]  # the fixture of conftest.py

LOOK = "look through it before you pass it on: a mask knows forms, not meanings\n"
_IDENTIFIERS = (
    "uuid",
    "serial",
    "mac",
    "gid",
    "boot_id",
    "hostname",
    "node",
    "id",
    "fold",
    "time",
    "elapsed_s",
    "mock",
)


def _seen(brctl: Brctl, machine: str, command: str) -> Any:
    """What is told of a machine, without identifiers and times."""
    (report,) = json.loads(brctl("--mock", machine, "node-manager", command, "-o", "json").out)["reports"]
    return _without(report)


def _without(plain: Any) -> Any:
    if isinstance(plain, dict):
        return {key: _without(value) for key, value in plain.items() if key not in _IDENTIFIERS}
    if isinstance(plain, list):
        return [_without(item) for item in plain]
    return plain


@pytest.mark.parametrize("fault", ["", "+gpu3-lost+gpu5-link-down", "+no-driver"])
def test_a_bundle_is_the_machine_again(brctl: Brctl, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 60)  # on a busy machine nothing hangs for that
    machine = "dgx-h100" + fault
    assert brctl("--mock", machine, "diagnose", "bundle", "x.json").code == 0
    for command in ("show", "check"):
        first, again = _seen(brctl, machine, command), _seen(brctl, "x.json", command)
        for report in (first, again):
            for mount in report["inventory"]["mounts"]:
                mount["source"] = mount["source"].partition(":")[2]
            for finding in report["findings"]:
                if fault:  # a GPU that is not well is named, by its UUID too
                    finding["summary"] = finding["evidence"] = ""
        assert again == first
    codes = [brctl("--mock", name, "node-manager", "check").code for name in (machine, "x.json")]
    assert codes[0] == codes[1]


def test_what_is_said_and_written(brctl: Brctl, tmp_path: Path) -> None:
    result = brctl("--mock", "dgx-h100", "diagnose", "bundle", "x.json")
    assert (result.code, result.out) == (0, "")
    mock, first, second, third = result.err.splitlines()
    assert mock == "mock machine dgx-h100, composed"
    text = (tmp_path / "x.json").read_text()
    plain = json.loads(text)
    parts = f"{len(plain['files'])} files, {len(plain['commands'])} commands, NVML of 8 GPUs"
    assert first == f"x.json: {parts}; {len(text) // 1000} kB"
    assert second == plain["sources"][1]
    assert second.startswith("masked: ")
    assert "8 serial numbers" in second
    assert third + "\n" == LOOK
    assert stat.S_IMODE((tmp_path / "x.json").stat().st_mode) == 0o600
    assert text == json.dumps(plain, indent=1) + "\n"
    assert (plain["recorded"], plain["partial"]) == (False, True)
    assert os.listdir(tmp_path) == ["x.json"]


def test_nothing_that_was_masked_is_left(brctl: Brctl, tmp_path: Path) -> None:
    (report,) = json.loads(brctl("--mock", "dgx-h100", "node-manager", "show", "-o", "json").out)["reports"]
    brctl("--mock", "dgx-h100", "diagnose", "bundle", "x.json")
    text, seen = (tmp_path / "x.json").read_text(), report["inventory"]
    secrets = [seen["kernel"]["boot_id"], *(gpu["uuid"] for gpu in seen["gpus"])]
    secrets += [gpu["identity"]["serial"] for gpu in seen["gpus"]] + [nic["mac"] for nic in seen["nics"]]
    secrets += [gid["gid"] for port in seen["rdma"] for gid in port["gids"]]
    assert len(set(secrets)) > 40
    assert [secret for secret in secrets if secret and secret.strip("0:") and secret in text] == []
    assert f'"{seen["kernel"]["hostname"]}' not in text


def test_quiet(brctl: Brctl) -> None:
    assert brctl("-q", "--mock", "cpu-only", "diagnose", "bundle", "x.json") == (0, "", "")


def test_a_machine_without_nvml(brctl: Brctl) -> None:
    assert "commands; " in brctl("--mock", "cpu-only", "diagnose", "bundle", "x.json").err


def test_a_file_that_is_there_stays(brctl: Brctl, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("mine")
    result = brctl("--mock", "cpu-only", "diagnose", "bundle", "x.json")
    assert (result.code, result.err) == (2, "error: x.json exists\nhint: --force overwrites it\n")
    assert (tmp_path / "x.json").read_text() == "mine"
    assert brctl("--mock", "cpu-only", "diagnose", "bundle", "x.json", "--force").code == 0
    assert json.loads((tmp_path / "x.json").read_text())["name"] == "recording"


def test_a_link_that_leads_nowhere_is_there_too(brctl: Brctl, tmp_path: Path) -> None:
    (tmp_path / "x.json").symlink_to("none")
    assert brctl("--mock", "cpu-only", "diagnose", "bundle", "x.json").code == 2


def test_a_file_that_comes_in_the_meantime_stays(brctl: Brctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = session.ask

    def slowly(*arguments: Any) -> Report:
        (tmp_path / "x.json").write_text("mine")
        return ask(*arguments)

    monkeypatch.setattr(session, "ask", slowly)
    result = brctl("--mock", "cpu-only", "diagnose", "bundle", "x.json")
    assert (result.code, result.err) == (2, "error: x.json exists by now\nhint: --force overwrites it\n")
    assert (tmp_path / "x.json").read_text() == "mine"
    assert os.listdir(tmp_path) == ["x.json"]


def test_a_file_system_without_links(brctl: Brctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    assert brctl("--mock", "cpu-only", "diagnose", "bundle", "x.json").code == 0
    assert os.listdir(tmp_path) == ["x.json"]


def test_a_full_disk(brctl: Brctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    result = brctl("--mock", "cpu-only", "diagnose", "bundle", "x.json")
    assert (result.code, result.err) == (3, "error: cannot write x.json: No space left on device\n")
    assert os.listdir(tmp_path) == []


REGULAR = "name a file that is not there yet, or with --force a regular file"
ELSEWHERE = "name a file in another folder"


@pytest.mark.parametrize("command", [("diagnose", "bundle"), ("config", "init")])
@pytest.mark.parametrize(
    ("name", "what", "hint"),
    [
        ("none/x.json", "nothing can be written to none", ELSEWHERE),
        (".", ". is a folder", REGULAR),
        ("folder/", "folder is a folder", REGULAR),
        ("link", "link is a symbolic link", REGULAR),
        ("fifo", "fifo is no regular file", REGULAR),
        ("/dev/null", "/dev/null is no regular file", REGULAR),
        ("file/x", "cannot write file/x: Not a directory", REGULAR),
        ("x" * 300, f"cannot write {'x' * 300}: File name too long", REGULAR),
    ],
)
def test_where_nothing_is_written_even_with_force(
    brctl: Brctl, tmp_path: Path, command: tuple[str, str], name: str, what: str, hint: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "fifo")
    before = sorted(os.listdir(tmp_path))
    expected = (2, "", f"error: {what}\nhint: {hint}\n")
    assert brctl("--mock", "cpu-only", *command, name) == expected
    assert brctl("--mock", "cpu-only", *command, name, "--force") == expected
    assert sorted(os.listdir(tmp_path)) == before
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_it_is_written_leaves_nothing(
    tmp_path: Path, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: signal.raise_signal(number))
    with pytest.raises(SystemExit) as raised:
        files.write(tmp_path / "x.json", "text", force=False, private=True)
    assert raised.value.code == 128 + number
    assert os.listdir(tmp_path) == []
    assert signal.getsignal(number) is signal.SIG_DFL


def test_a_part_that_hangs_is_3_and_the_rest_is_written(
    brctl: Brctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.5)
    assert brctl("--mock", "l40s-pcie+gpu1-hang", "diagnose", "bundle", "x.json").code == 3
    again = brctl("--mock", "x.json", "node-manager", "check")
    assert again.code == 3
    assert "nvmlDeviceGetUUID: did not return within 0.5 s" in again.out


def test_an_agent_that_fails_is_told_and_3(brctl: Brctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = Report("cpu001", 0, 0, errors=(NodeError("died", "the agent ended", "look there"),))
    monkeypatch.setattr(session.LocalAgent, "ask", lambda *_: report)
    result = brctl("--mock", "cpu-only", "diagnose", "bundle", "x.json")
    assert (result.code, result.err) == (3, "error: cpu001: the agent ended\nhint: look there\n")
    assert os.listdir(tmp_path) == []


def test_it_needs_no_config_and_has_one_form(brctl: Brctl, tmp_path: Path) -> None:
    (tmp_path / "cluster-config.yaml").write_text("broken: [")
    assert brctl("--mock", "cpu-only", "diagnose", "bundle", "x.json").code == 0
    assert brctl("--mock", "cpu-only", "diagnose", "bundle", "y.json", "-o", "json").code == 2
    assert brctl("--mock", "cpu-only", "diagnose", "bundle", "y.json", "-w", "other").code == 2
    assert not (tmp_path / "y.json").exists()


def test_faults_act_on_a_bundle_too(brctl: Brctl) -> None:
    brctl("--mock", "dgx-h100", "diagnose", "bundle", "x.json")
    result = brctl("--mock", "x.json+gpu2-lost", "node-manager", "check")
    assert result.code == 1
    assert "GPU 2" in result.out
    assert "is lost" in result.out
    assert brctl("--mock", "x.json+nic0-down", "node-manager", "show").err == ""


@pytest.mark.process
def test_as_a_program(tmp_path: Path) -> None:
    import subprocess
    import sys

    argv = [sys.executable, "-m", "brctl", "--mock", "cpu-only", "diagnose", "bundle", str(tmp_path / "x.json")]
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, env={"PATH": os.defpath, "HOME": str(tmp_path)}
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.endswith(LOOK)


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes are mocked machines in this process."""
    monkeypatch.setattr(
        engine,
        "ask_all",
        lambda orders, *_, **__: tuple(
            answer(load(it.mock, it.node), it.request)._replace(node=it.node) for it in orders
        ),
    )


def test_another_host_is_recorded_too(brctl: Brctl, remote: None, tmp_path: Path) -> None:
    mock = "dgx-h100,gpu7=cpu-only"
    result = brctl("--mock", mock, "-w", "gpu7", "diagnose", "bundle", "x.json")
    assert (result.code, result.out) == (0, "")
    assert json.loads((tmp_path / "x.json").read_text())["nvml"] is None
    assert brctl("--mock", mock, "-w", "gpu7", "--as", "gpu7", "diagnose", "bundle", "y.json").code == 0
    assert json.loads((tmp_path / "y.json").read_text())["nvml"] is None


def test_a_first_config_of_another_host(brctl: Brctl, remote: None) -> None:
    result = brctl("--mock", "cpu-only,gpu7=dgx-h100", "-w", "gpu7", "config", "init")
    assert result.code == 0
    assert 'nodes: "gpu7"' in result.out
    assert "count: 8" in result.out


@pytest.mark.parametrize("command", [("diagnose", "bundle", "x.json"), ("config", "init", "x.yaml")])
def test_several_hosts_are_2(brctl: Brctl, command: "tuple[str, ...]", tmp_path: Path) -> None:
    result = brctl("--mock", "cpu-only", "-w", "gpu[7-9]", *command)
    error = "error: --nodes gpu[7-9]: 3 nodes, and this is of one\nhint: run it once for each\n"
    assert result == (2, "", error)
    assert list(tmp_path.glob("x.*")) == []


@pytest.mark.parametrize("name", ["a" * 200, "x\a\by", "é\x1b[31m", "z " * 90])
def test_a_pipe_gets_hostile_names_as_a_terminal_would(
    brctl: Brctl, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    plain = json.loads(Path(machines.__file__).with_name("machines").joinpath("cpu-only.json").read_text())
    plain["files"]["/proc/sys/kernel/hostname"] = name + "\n"
    (tmp_path / "m.json").write_text(json.dumps(plain))
    bare = brctl("--mock", "m.json", "diagnose", "run")
    monkeypatch.setenv("COLUMNS", "160")
    assert brctl("--mock", "m.json", "diagnose", "run") == bare


@pytest.mark.parametrize("name", ["COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"])
def test_what_rich_is_told_is_left_to_it(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert headline.bare()
    monkeypatch.setenv(name, "1")
    assert not headline.bare()


@pytest.mark.parametrize("machine", ["dgx-h100", "cpu-only", "dgx-h100+gpu3-lost", "old-driver"])
def test_a_pipe_gets_what_a_terminal_would(brctl: Brctl, monkeypatch: pytest.MonkeyPatch, machine: str) -> None:
    """Where all is well and nothing has a colour, it is printed without rich."""
    plain = brctl("--mock", machine, "diagnose", "run")
    monkeypatch.setenv("COLUMNS", "160")
    assert brctl("--mock", machine, "diagnose", "run") == plain
