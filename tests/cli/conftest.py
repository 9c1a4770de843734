"""brctl in this process: the whole program but for the pipe to its agent."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from brctl.cli import run, session
from brctl.node import agent
from brctl.node.codec import loads, wire
from brctl.node.host import Host
from brctl.node.monitor.sampler import Sampler
from brctl.node.monitor.stream import Follower, Packer
from brctl.node.report import Report
from brctl.node.request import Request


class Result(NamedTuple):
    code: int
    out: str
    err: str


Brctl = Callable[..., Result]


class InProcess:
    """Stands where LocalAgent does. What crosses the pipe there is encoded and decoded here too."""

    def __init__(self, machine: Host) -> None:
        assert machine, "a test without a mock would look at this machine"
        self.machine = machine

    def __enter__(self) -> "InProcess":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def ask(self, request: Request, limit_s: float, meanwhile: Callable[[], None] = lambda: None) -> Report:  # noqa: ARG002
        meanwhile()
        return loads(Report, wire(agent.answer(self.machine, loads(Request, wire(request)))))

    def ticks(self, request: Request, first_s: float, limit_s: float) -> Iterator[Report]:  # noqa: ARG002
        sent: list[Follower] = []
        for payload in payloads(self.machine, loads(Request, wire(request))):
            if sent:
                yield sent[0].follow(payload)._replace(node=request.node)
            else:
                sent.append(Follower(loads(Report, payload)))


def payloads(host: Host, request: Request) -> Iterator[bytes]:
    """What an agent writes, as it is taken."""
    sampler = Sampler(host, request.sampling)
    packer = Packer(sampler.series)
    yield wire(Report(request.node, time.time(), 0.0, host.mock, series=sampler.series))
    for tick in sampler.ticks(request.sampling.interval_s, threading.Event()):
        yield packer.pack(*tick)


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


@pytest.fixture
def look(brctl: Brctl, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Callable[..., Result]:
    """Compares what a command prints with a screen of tests/golden; `pytest --golden` writes it anew: look at each
    before you commit it."""

    def look(name: str, width: int, *argv: str, shown: Callable[[str], str] = lambda out: out) -> Result:
        monkeypatch.setenv("COLUMNS", str(width))
        result = brctl(*argv)
        out = shown(result.out)
        file = Path(__file__).parents[1] / "golden" / f"{name}-{width}.txt"
        if request.config.getoption("--golden"):
            file.write_text(out)
        assert out == file.read_text()
        assert all(len(line) <= width for line in out.splitlines())
        return result

    return look
