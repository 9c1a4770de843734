"""brctl in this process: the whole program but for the pipe to its agent."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from brctl.cli import run, session
from brctl.mock.machines import load
from brctl.node import agent
from brctl.node.codec import dumps, loads
from brctl.node.report import Report
from brctl.node.request import Request


class Result(NamedTuple):
    code: int
    out: str
    err: str


Brctl = Callable[..., Result]


class InProcess:
    """Stands where LocalAgent does. What crosses the pipe there is encoded and decoded here too."""

    def __init__(self, mock: str, node: str = "") -> None:
        assert mock, "a test without a mock would look at this machine"
        self.mock, self.node = mock, node

    def __enter__(self) -> "InProcess":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def ask(self, request: Request, limit_s: float, meanwhile: Callable[[], None] = lambda: None) -> Report:  # noqa: ARG002
        meanwhile()
        return loads(Report, dumps(agent.answer(load(self.mock, self.node), loads(Request, dumps(request)))))


@pytest.fixture
def brctl(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Brctl:
    """Call it with arguments; it runs in an empty folder, and gives the exit code and what was printed."""
    monkeypatch.setattr(session, "LocalAgent", InProcess)
    monkeypatch.chdir(tmp_path)

    def call(*argv: str) -> Result:
        code = run(list(argv))
        printed = capsys.readouterr()
        return Result(code, printed.out, printed.err)

    return call
