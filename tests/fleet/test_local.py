import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from brctl.fleet import local
from brctl.fleet.local import LocalAgent
from brctl.mock.machines import load
from brctl.node.report import Mock, NodeError
from brctl.node.request import Request

SHOW = Request("gpu001", "show")
pytestmark = pytest.mark.process


def _agent(monkeypatch: pytest.MonkeyPatch, code: str) -> LocalAgent:
    """An agent that does not do what it should."""
    argv = [sys.executable, "-I", "-S", "-c", code, ":".join(filter(None, sys.path))]
    monkeypatch.setattr(local, "_serve", lambda _: os.execv(argv[0], argv))
    return LocalAgent()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_mocked_machine_answers() -> None:
    with LocalAgent(load("dgx-h100")) as agent:
        report = agent.ask(SHOW, 366 * 86400)  # the longest --timeout
    assert report.node == "gpu001"
    assert report.mock == Mock("dgx-h100", recorded=False)
    assert report.errors == ()
    assert report.inventory is not None
    assert [gpu.gpu_index for gpu in report.inventory.gpus or ()] == list(range(8))


def test_it_ends_with_its_stdin() -> None:
    with LocalAgent(load("cpu-only")) as agent:
        agent.ask(SHOW, 30)
        pid = agent._pid
        assert _alive(pid)
    assert not _alive(pid)


def test_an_agent_that_hangs_is_given_up_and_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    began = time.monotonic()
    with _agent(monkeypatch, "import time; time.sleep(60)") as agent:
        report = agent.ask(SHOW, 0.2)
        pid = agent._pid
    assert report.errors == (NodeError("timeout", "the agent did not answer within 0.2 s", "raise --timeout"),)
    assert time.monotonic() - began < 30
    os.waitpid(pid, 0)  # killed; nobody had waited for it
    assert not _alive(pid)


def test_a_late_answer_is_not_taken_for_the_next() -> None:
    with LocalAgent(load("dgx-h100+gpu3-hang")) as agent:
        late = agent.ask(SHOW, 1)
        report = agent.ask(SHOW._replace(action="check"), 30)
    assert [error.kind for error in late.errors] == ["timeout"]
    assert [finding.reason for finding in report.findings if finding.reason] == ["hung"]


def test_an_agent_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def serve(_: object) -> None:
        raise ImportError("no module of that name")

    monkeypatch.setattr(local, "_serve", serve)
    with LocalAgent(load("cpu-only")) as agent:
        (error,) = agent.ask(SHOW, 10).errors
    assert error.kind == "agent-died"
    assert error.message == "the agent ended without an answer: ImportError: no module of that name"


def test_an_agent_that_dies_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    with _agent(monkeypatch, "raise SystemExit('no such thing')") as agent:
        report = agent.ask(SHOW, 10)
    assert report.errors == (NodeError("agent-died", "the agent ended without an answer: no such thing"),)


def test_an_agent_that_is_killed_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with _agent(monkeypatch, "import sys; sys.stdin.read()") as agent:
        os.kill(agent._pid, signal.SIGKILL)
        report = agent.ask(SHOW, 10)
    assert report.errors == (NodeError("agent-died", "the agent ended without an answer: no message"),)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("print('y' * 100_000)", "bytes that are no frame"),
        ("print('\\x1ebrctl1 1 2 7\\n{}')", "does not have the checksum"),
        (
            "from brctl.node.frame import *; import sys; sys.stdout.buffer.write(pack(Frame('1', b'[]')))",
            "Report: an object is expected",
        ),
    ],
)
def test_an_agent_that_talks_nonsense_is_told_apart(monkeypatch: pytest.MonkeyPatch, code: str, message: str) -> None:
    with _agent(monkeypatch, "import sys; sys.path[:0] = sys.argv[1].split(':'); " + code) as agent:
        (error,) = agent.ask(SHOW, 10).errors
    assert error.kind == "invalid-report"
    assert message in error.message


def test_nothing_is_imported_from_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "hijacked.py").write_text("import os; os._exit(7)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.setattr(local, "_serve", lambda _: importlib.import_module("hijacked"))
    with LocalAgent() as agent:
        (error,) = agent.ask(SHOW, 30).errors
    assert error.message == "the agent ended without an answer: ModuleNotFoundError: No module named 'hijacked'"


def test_it_keeps_nothing_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of `flock 9; brctl ... | cat`, what hangs keeps neither the lock nor the pipe; nor does it hear our Ctrl-C."""
    seen, ours = os.pipe()
    os.set_inheritable(ours, True)

    def serve(_: object) -> None:
        handled = [number for number in signal.valid_signals() if callable(signal.getsignal(number))]
        open_files = [fd for fd in range(3, 100) if os.path.exists(f"/proc/self/fd/{fd}")]
        os.write(2, f"{handled} {open_files} {os.getsid(0) == os.getpid()}".encode())
        os._exit(0)

    monkeypatch.setattr(local, "_serve", serve)
    with LocalAgent() as agent:
        (error,) = agent.ask(SHOW, 30).errors
    os.close(ours)
    assert os.read(seen, 1) == b""
    os.close(seen)
    assert error.message == "the agent ended without an answer: [] [] True"


def _serve_late(_: object) -> None:
    while True:  # as in a driver: a fork of ours, and not another program
        time.sleep(1)


def test_a_fork_that_hangs_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_serve", _serve_late)
    with LocalAgent() as agent:
        assert [error.kind for error in agent.ask(SHOW, 0.2).errors] == ["timeout"]
        pid = agent._pid
    os.waitpid(pid, 0)
    assert not _alive(pid)


def test_one_that_has_no_session_yet_is_killed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy host lets it wait, and a wrong config ends us at once."""
    monkeypatch.setattr(os, "setsid", lambda: time.sleep(60))
    with LocalAgent() as agent:
        pid = agent._pid
    os.waitpid(pid, 0)
    assert not _alive(pid)


def test_without_room_for_it_nothing_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", full)
    before = sorted(os.listdir("/proc/self/fd"))
    with pytest.raises(BlockingIOError):
        LocalAgent()
    assert sorted(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order(monkeypatch: pytest.MonkeyPatch, number: signal.Signals) -> None:
    """`pkill -INT brctl` means both: what it writes comes to its end."""
    monkeypatch.setattr("brctl.node.agent._end_writes", lambda: os.write(2, b"all is written"))
    with LocalAgent(load("cpu-only")) as agent:
        agent.ask(SHOW, 30)
        os.kill(agent._pid, number)
        (error,) = agent.ask(SHOW, 30).errors
    assert error.message == "the agent ended without an answer: all is written"


def test_what_a_signal_does_here_it_does_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log = tmp_path / "log"

    def handle(*_: object) -> None:
        with log.open("a") as file:
            file.write("x")

    fork, before = os.fork, signal.signal(signal.SIGUSR1, handle)

    def interrupted() -> int:
        pid = fork()
        os.kill(os.getpid(), signal.SIGUSR1)  # in both
        return pid

    monkeypatch.setattr(os, "fork", interrupted)
    try:
        with LocalAgent(load("cpu-only")) as agent:
            died = agent.ask(SHOW, 30).errors
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert [error.kind for error in died] == ["agent-died"], "of the child it is the end, as of any process"
    assert log.read_text() == "x"


_THREADS = """
import os, sys, threading
from brctl.__main__ import main
def fork():
    os.write(2, b"%d" % threading.active_count())
    os._exit(0)
os.fork = fork
sys.argv = ["brctl", "--mock", "dgx-h100", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize(
    "argv",
    [
        ("node-manager", "show"),
        ("node-manager", "check", "-w", "gpu001"),
        ("diagnose", "run"),
        ("monitor",),
        ("monitor", "--for", "1s", "-o", "prometheus", "--listen", "127.0.0.1:0"),
        ("tune", "plan"),
    ],
)
def test_there_is_one_thread_when_it_is_forked(argv: tuple[str, ...], tmp_path: Path) -> None:
    """A fork has no other thread, but each lock as it was held."""
    command = [sys.executable, "-c", _THREADS, *argv]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60)
    assert done.stderr == "1"


def test_a_caller_that_ignores_its_children(tmp_path: Path) -> None:
    """Daemons of plugins do: the kernel then takes what has ended, `waitpid` knows of no child, and every program that
    the agent starts seems to have gone well."""
    code = (
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.executable, sys.argv[1:])"
    )
    command = [sys.executable, "-m", "brctl", "--mock", "cpu-only", "node-manager", "check", "-q"]
    done = subprocess.run(
        [sys.executable, "-c", code, *command],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
