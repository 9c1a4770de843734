import os
import signal
import sys
import time
from pathlib import Path

import pytest

from brctl.fleet import local
from brctl.fleet.local import LocalAgent
from brctl.node.report import Mock, NodeError
from brctl.node.request import Request

SHOW = Request("gpu001", "show")
pytestmark = pytest.mark.process


def _agent(monkeypatch: pytest.MonkeyPatch, code: str) -> LocalAgent:
    """An agent that does not do what it should."""
    monkeypatch.setattr(local, "_START", code + "  # {}")
    return LocalAgent()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_mocked_machine_answers() -> None:
    with LocalAgent("dgx-h100") as agent:
        report = agent.ask(SHOW, 366 * 86400)  # the longest --timeout
    assert report.node == "gpu001"
    assert report.mock == Mock("dgx-h100", recorded=False)
    assert report.errors == ()
    assert report.inventory is not None
    assert [gpu.gpu_index for gpu in report.inventory.gpus or ()] == list(range(8))


def test_it_ends_with_its_stdin() -> None:
    with LocalAgent("cpu-only") as agent:
        agent.ask(SHOW, 30)
        pid = agent._child.pid
        assert _alive(pid)
    assert not _alive(pid)


def test_an_agent_that_hangs_is_given_up_and_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    began = time.monotonic()
    with _agent(monkeypatch, "import time; time.sleep(60)") as agent:
        report = agent.ask(SHOW, 0.2)
        pid = agent._child.pid
    assert report.errors == (NodeError("timeout", "the agent did not answer within 0.2 s", "raise --timeout"),)
    assert time.monotonic() - began < 30
    os.waitpid(pid, 0)  # killed; nobody had waited for it
    assert not _alive(pid)


def test_a_late_answer_is_not_taken_for_the_next() -> None:
    with LocalAgent("dgx-h100+gpu3-hang") as agent:
        late = agent.ask(SHOW, 1)
        report = agent.ask(SHOW._replace(action="check"), 30)
    assert [error.kind for error in late.errors] == ["timeout"]
    assert [finding.reason for finding in report.findings if finding.reason] == ["hung"]


def test_an_agent_that_cannot_start_says_why() -> None:
    with LocalAgent("no-such-machine") as agent:
        (error,) = agent.ask(SHOW, 10).errors
    assert error.kind == "agent-died"
    assert "no machine is called 'no-such-machine'" in error.message


def test_an_agent_that_dies_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    with _agent(monkeypatch, "raise SystemExit('no such thing')") as agent:
        report = agent.ask(SHOW, 10)
    assert report.errors == (NodeError("agent-died", "the agent ended without an answer: no such thing"),)


def test_an_agent_that_is_killed_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with _agent(monkeypatch, "import sys; sys.stdin.read()") as agent:
        os.kill(agent._child.pid, signal.SIGKILL)
        report = agent.ask(SHOW, 10)
    assert report.errors == (NodeError("agent-died", "the agent ended without an answer: no message"),)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("print('y' * 100_000)", "bytes that are no frame"),
        ("print('\\x1ebrctl1 1 2 00\\n{}{}')".replace("{}", "{{}}"), "does not have the digest"),
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


def test_nothing_is_imported_from_the_folder_or_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('hijacked')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    with LocalAgent("cpu-only") as agent:
        assert agent.ask(SHOW, 30).errors == ()
