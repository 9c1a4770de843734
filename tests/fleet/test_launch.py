import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from brctl.fleet import launch, ssh_config
from brctl.fleet.bundle import Bundle
from brctl.fleet.launch import BOOTSTRAP, Launcher, agent_command
from brctl.fleet.transport import Transport
from brctl.node.codec import loads
from brctl.node.frame import Unpacker
from brctl.node.request import Request

CHECK, CLEAN = Request("gpu001", "check"), Request("gpu001", "clean")


@pytest.fixture(autouse=True)
def _no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh_config, "write", lambda *_: Path("/run/brctl-ssh/x.conf"))


def test_the_bootstrap_may_stand_in_the_single_quotes_of_any_shell() -> None:
    assert not set("'!\n") & set(BOOTSTRAP)
    assert BOOTSTRAP.count('"') % 2 == 0
    assert not set("$`\\'\"!\n") & set(launch._PYTHON)
    assert len(BOOTSTRAP) < 600


def test_ssh() -> None:
    transport = Transport(user="root", port=2222, python="/opt/py", sudo=True)
    it = Launcher(transport, 4).launch("gpu001", CHECK, None)
    assert it.argv[:-1] == ("ssh", "-F", "/run/brctl-ssh/x.conf", "-l", "root", "-p", "2222", "--", "gpu001")
    assert it.argv[-1] == f"exec sh -c '{BOOTSTRAP}' sh {len(it.opening)} sudo -n /opt/py"
    assert not it.direct


@pytest.mark.parametrize(
    ("transport", "hop"),
    [(Transport(), "gw1"), (Transport(user="op"), "op@gw1"), (Transport(user="op", port=2222), "op@gw1:2222")],
)
def test_ssh_through_a_gateway(transport: Transport, hop: str) -> None:
    assert Launcher(transport, 4).launch("gpu001", CHECK, None, "gw1").argv[-5:-1] == ("-J", hop, "--", "gpu001")


def test_ssh_as_it_is_set_up() -> None:
    it = Launcher(Transport(), 4).launch("gpu001", CHECK, None)
    assert it.argv[:-1] == ("ssh", "-F", "/run/brctl-ssh/x.conf", "--", "gpu001")
    assert it.argv[-1].endswith(f"' sh {len(it.opening)} python3")


def test_a_confirmation_comes_over_a_connection_of_its_own() -> None:
    it = Launcher(Transport(), 4).launch("gpu001", Request("gpu001", "tune-confirm"), None)
    assert it.argv[3:8] == ("-o", "ControlPath=none", "-o", "ControlMaster=no", "--")


def test_exec_is_no_shell_command() -> None:
    transport = Transport("exec", ("srun", "-N1", "-w", "%host", "--job-name=x-%host"))
    it = Launcher(transport, 4).launch("gpu001", CHECK, None)
    assert it.argv[:8] == ("srun", "-N1", "-w", "gpu001", "--job-name=x-gpu001", "sh", "-c", BOOTSTRAP)
    assert it.argv[8:] == ("sh", str(len(it.opening)), "python3")


def test_this_host_and_mocks_are_children() -> None:
    launcher = Launcher(Transport(here="gpu001"), 4)
    here, mock = launcher.launch("gpu001", CHECK, None), launcher.launch("gpu002", CHECK, "dgx-h100")
    assert here.argv == agent_command(None, "gpu001")
    assert mock.argv == agent_command("dgx-h100", "gpu002")
    assert here.direct
    assert mock.direct
    (frame,) = Unpacker().feed(here.opening)
    assert frame.id == "1"
    assert loads(Request, frame.payload).action == "check"


def test_to_clean_this_host_its_door_is_asked() -> None:
    it = Launcher(Transport(here="gpu001"), 4).launch("gpu001", CLEAN, None)
    assert it.argv == ("sh", "-c", BOOTSTRAP, "sh", str(len(it.opening)), sys.executable)
    assert zlib.decompress(it.opening).endswith(b"\nclean(False,)\n")
    forced = Launcher(Transport(here="gpu001"), 4).launch("gpu001", CLEAN._replace(force=True), None)
    assert zlib.decompress(forced.opening).endswith(b"\nclean(True,)\n")


def test_the_door_is_told_the_bundle() -> None:
    it = Launcher(Transport(), 4).launch("gpu001", CHECK, None)
    assert zlib.decompress(it.opening).endswith(f"\nenter('{Bundle().digest}',)\n".encode())
    assert len(it.opening) < 2500


@pytest.mark.process
@pytest.mark.parametrize(
    ("python", "code", "err"),
    [("no-such-python", 127, ""), ("/bin/cat", 1, "invalid option"), (sys.executable, 0, "")],
)
def test_the_bootstrap_says_at_once_that_there_is_a_shell(python: str, code: int, err: str) -> None:
    program = zlib.compress(b"import sys\nprint(sys.flags.isolated, sys.flags.no_site, sys.stdin.read())")
    child = subprocess.run(
        ["sh", "-c", BOOTSTRAP, "sh", str(len(program)), python],
        input=program + b"the rest",
        capture_output=True,
        check=False,
    )
    (frame,) = (unpacker := Unpacker()).feed(child.stdout)
    assert (frame.id, frame.payload) == ("shell", b"")
    assert child.returncode == code
    assert err in child.stderr.decode()
    unpacker.end()
    assert unpacker.noise == (b"1 1 the rest\n" if code == 0 else b"")
