import os
import subprocess
import sys
import threading
import time
from typing import Iterator, List, Tuple

import pytest

from brctl.mock.machines import load
from brctl.node import actions, agent
from brctl.node.codec import dumps, loads
from brctl.node.facts import Inventory, Kernel
from brctl.node.frame import HERE, Frame, Unpacker, pack
from brctl.node.host import Host
from brctl.node.report import Mock, Report
from brctl.node.request import TUNING, Request


class Pipes:
    """Both ends of an agent that serves in a thread of this process."""

    def __init__(self, host: Host) -> None:
        source, self.to_agent = os.pipe()
        self.from_agent, sink = os.pipe()
        self.thread = threading.Thread(target=agent.serve, args=(host, source, sink))
        self.thread.start()
        self.unpacker = Unpacker()

    def send(self, *frames: Frame) -> None:
        for frame in frames:
            os.write(self.to_agent, pack(frame))

    def receive(self, number: int) -> List[Tuple[str, Report]]:
        frames: List[Frame] = []
        while len(frames) < number:
            frames += self.unpacker.feed(os.read(self.from_agent, 65536))
        return sorted((frame.id, loads(Report, frame.payload)) for frame in frames)

    def end(self) -> None:
        os.close(self.to_agent)
        self.thread.join(5)
        assert not self.thread.is_alive()


@pytest.fixture
def pipes() -> Iterator[Pipes]:
    pair = Pipes(load("cpu-only"))
    yield pair
    pair.end()


def _request(identity: str, action: str = "show") -> Frame:
    return Frame(identity, dumps(Request("cpu001", action)).encode())


def test_requests_are_answered_under_their_ids(pipes: Pipes) -> None:
    pipes.send(_request("1"), _request("2", "check"))
    (first, shown), (second, checked) = pipes.receive(2)
    assert (first, second) == ("1", "2")
    assert shown.node == checked.node == "cpu001"
    assert shown.mock == Mock("cpu-only", recorded=False)
    assert shown.inventory == checked.inventory
    assert shown.findings == ()
    assert {finding.check for finding in checked.findings} >= {"cpu-count", "gpu-count", "nic-speed"}


def test_clean_waits_for_the_end_of_a_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    host, clean = load("cpu-only"), Request("cpu001", "clean")
    assert agent.answer(host, clean).notes == ("nothing was left",)
    monkeypatch.setattr(host, "read", {TUNING: ""}.get)
    (error,) = agent.answer(host, clean).errors
    assert (error.kind, error.message) == ("busy", "a tuning transaction is open: /var/lib/brctl/tune/open")
    assert agent.answer(host, clean._replace(force=True)).errors == ()


def test_what_is_no_request_gets_an_answer_too(pipes: Pipes) -> None:
    pipes.send(Frame("x", b'{"node": 3, "action": "show"}'))
    ((_, report),) = pipes.receive(1)
    assert [(error.kind, error.message) for error in report.errors] == [
        ("invalid-request", "Request.node: str is expected, not int")
    ]


def test_an_action_that_there_is_not_is_no_request(pipes: Pipes) -> None:
    pipes.send(_request("1", "shout"))
    ((_, report),) = pipes.receive(1)
    assert [(error.kind, error.message) for error in report.errors] == [("invalid-request", "no such action: 'shout'")]
    assert (report.node, report.mock, report.inventory) == ("cpu001", Mock("cpu-only", recorded=False), None)


def test_a_fault_of_ours_is_told(pipes: Pipes, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Host) -> Inventory:
        raise KeyError("oops")

    monkeypatch.setattr(actions, "inventory", fail)
    pipes.send(_request("1"))
    ((_, report),) = pipes.receive(1)
    assert [(error.kind, error.message) for error in report.errors] == [("agent-error", "KeyError: 'oops'")]


def test_a_fact_that_is_no_number_is_told_and_not_waited_for(pipes: Pipes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        actions, "inventory", lambda _: Inventory(kernel=Kernel("a", "b", "c", None, None, float("nan"), None))
    )
    pipes.send(_request("1"))
    ((_, report),) = pipes.receive(1)
    assert [error.kind for error in report.errors] == ["agent-error"]


def test_a_word_for_a_request_that_comes_to_its_end_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its end falls between two looks at whether it is at work."""
    end, looks = threading.Event(), []  # type: Tuple[threading.Event, List[int]]

    class Late(str):
        def __hash__(self) -> int:
            looks.append(1)
            if len(looks) > 1:
                end.set()
                time.sleep(0.1)
            return super().__hash__()

    def answer(*_: object) -> bytes:
        end.wait(5)
        return b"{}"

    class Unpacked:
        feed = staticmethod(lambda _: [Frame("1", b"x"), Frame(Late("1"), HERE)])

    monkeypatch.setattr(agent, "_answer_text", answer)
    monkeypatch.setattr(agent, "Unpacker", Unpacked)
    source, sink = os.pipe()
    os.write(sink, b"-")
    os.close(sink)
    agent.serve(load("cpu-only"), source, os.open(os.devnull, os.O_WRONLY))
    end.set()
    assert looks == [1]


def test_the_end_of_stdin_ends_it(pipes: Pipes) -> None:
    assert pipes.thread.is_alive()


@pytest.mark.process
def test_the_end_of_stdin_ends_it_also_while_it_loads() -> None:
    script = "import time; from brctl.node.agent import run; run(lambda: print('loads', flush=True) or time.sleep(60))"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            assert child.stdout.readline() == b"loads\n"
            child.stdin.close()
            assert child.wait(10) == 0
        finally:
            child.kill()


def test_a_diagnosis_looks_twice_and_judges_once() -> None:
    host = load("dgx-h100+gpu3-ecc-storm")
    before = agent.answer(host, Request("gpu001", "diagnose", checks=("gpu-ecc-rate",), interval_s=0.01))
    assert [(one.check, one.subject.name) for one in before.findings] == [("gpu-ecc-rate", "GPU 3")]
    assert before.notes == ()
    assert before.elapsed_s > 0.01
    after = agent.answer(host, Request("gpu001", "diagnose", checks=("gpu-sram",), baseline=before.inventory))
    assert [one.check for one in after.findings] == ["gpu-sram"]
    assert after.notes == ()


def test_a_baseline_of_another_boot_is_noted_and_not_used() -> None:
    other = Inventory(Kernel("a", "6.1", "x86_64", None, "another", 1.0, None))
    report = agent.answer(load("cpu-only"), Request("cpu001", "diagnose", baseline=other))
    assert report.notes == ("the baseline is not used: the machine was started anew since, or does not tell",)


@pytest.mark.real
def test_this_machine_can_be_diagnosed() -> None:
    from brctl.node.diagnose import engine
    from brctl.node.host.local import Local

    report = agent.answer(Local(), Request("here", "diagnose", interval_s=0.1))
    assert {one.check for one in report.findings} == {check.id for check in engine.registry()}
    assert not [one.summary for one in report.findings if "itself failed" in one.summary]
    assert loads(Report, dumps(report)) == report


@pytest.mark.process
def test_to_show_loads_nothing_that_others_need() -> None:
    script = (
        "import sys; from brctl.mock.machines import load; from brctl.node import agent;"
        "from brctl.node.request import Request; agent.answer(load('dgx-h100'), Request('gpu001', 'show'));"
        "print(*(name for name in sys.modules if name.startswith('brctl.node.')))"
    )
    loaded = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True).stdout.decode().split()
    assert "brctl.node.probe.gpu" in loaded
    others = ("diagnose", "monitor", "tune", "host_facts", "log_facts", "meter_facts", "probe.kernel_log")
    assert [name for name in others if "brctl.node." + name in loaded] == []
