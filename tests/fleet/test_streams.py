"""Ticks of one agent, and of many in one view."""

import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from types import SimpleNamespace

import pytest

from brctl.fleet import engine, launch, local, streams
from brctl.fleet.local import LocalAgent
from brctl.fleet.order import Limits, Order
from brctl.fleet.streams import Streams, _Listeners, _Listening, patience_s
from brctl.fleet.transport import Transport, TransportError
from brctl.fleet.worker import Phase
from brctl.mock.machines import load
from brctl.node.alert_facts import ActionRecord, Rule
from brctl.node.alert_facts import Outcome as Done
from brctl.node.frame import HERE, Frame, pack
from brctl.node.report import NodeError, Report, State
from brctl.node.request import Acting, Request, Sampling

pytestmark = pytest.mark.process
MONITOR = Request("n1", "monitor", sampling=Sampling(0.1))

_HEAD = r"""
import sys, time
sys.path[:0] = sys.argv[1].split(':')
from brctl.node.frame import Frame, pack
from brctl.node.codec import dumps
from brctl.node.report import Report, Series
def say(text, ident="1"): sys.stdout.buffer.write(pack(Frame(ident, text))); sys.stdout.buffer.flush()
say(dumps(Report("x", 0.0, 0.0, series=(Series("brctl_x", "", "gauge", (), "", "", ""),))).encode())
say(b'[1.0,[],[[0,0,0,[[0]],[5]]],[],[]]')
"""


def speaks(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Agents that say the head and one tick, and then do this."""
    argv = [sys.executable, "-I", "-S", "-c", _HEAD + code, ":".join(filter(None, sys.path))]
    monkeypatch.setattr(local, "_serve", lambda _: os.execv(argv[0], argv))
    monkeypatch.setattr(launch, "agent_command", lambda mock, node: (*argv, mock, node))


def ticks(limit_s: float = 10.0) -> list[Report]:
    with LocalAgent() as agent:
        return list(agent.ticks(MONITOR, 20.0, limit_s))


def test_an_agent_tells_tick_after_tick() -> None:
    found: list[Report] = []
    with LocalAgent(load("dgx-h100+busy")) as agent:
        for report in agent.ticks(MONITOR, 30.0, 10.0):
            found.append(report)
            if len(found) == 3:
                break
    assert all(report.node == "n1" and not report.errors for report in found)
    energy = [next(s.value for s in report.samples if s.series == "brctl_gpu_energy_joules_total") for report in found]
    assert energy == sorted(energy)
    assert energy[0] < energy[-1]


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        ("say(b'[1.0,[7],[],[],[]]')", "invalid-report", "what the agent says is no sample: no tick: KeyError: 7"),
        ("say(b'nonsense')", "invalid-report", "no tick"),
        ("sys.stdout.buffer.write(bytes(200000))", "invalid-report", "bytes that are no frame"),
        ("sys.exit('it broke')", "agent-died", "the agent ended without an answer: it broke"),
        ("time.sleep(60)", "timeout", "the agent did not answer within 0.3 s"),
    ],
    ids=["false", "nonsense", "noise", "dead", "silent"],
)
def test_what_ends_a_stream_is_told(monkeypatch: pytest.MonkeyPatch, code: str, kind: str, words: str) -> None:
    speaks(monkeypatch, code)
    first, last = ticks(0.3 if kind == "timeout" else 10.0)
    assert [sample.value for sample in first.samples] == [5]
    (error,) = last.errors
    assert error.kind == kind
    assert words in error.message


def test_an_agent_that_refuses_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    with LocalAgent(load("dgx-h100")) as agent:
        (report,) = agent.ticks(MONITOR._replace(sampling=Sampling(interval_s="x")), 20.0, 1.0)  # type: ignore[arg-type]
    assert [error.kind for error in report.errors] == ["invalid-request"]


def test_the_end_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    speaks(monkeypatch, "say(dumps(Report('x', 0.0, 0.0)).encode())")
    assert [len(report.samples) for report in ticks()] == [1, 0]


# Many


def orders(*mocks: str) -> list[Order]:
    request = Request("", "monitor", sampling=Sampling(0.2))
    return [Order(f"n{number}", request._replace(node=f"n{number}"), mock) for number, mock in enumerate(mocks, 1)]


@pytest.fixture
def view() -> Iterator[object]:
    """Iterates streams; they are closed whatever happens."""
    opened: list[Streams] = []

    def begin(*mocks: str, transport: Transport = Transport()) -> Iterator[Sequence[Report]]:  # noqa: B008
        opened.append(Streams(orders(*mocks), transport, Limits(answer_s=30.0)))
        return iter(opened[-1])

    yield begin
    for each in opened:
        each.close()
        assert not each._thread.is_alive()


def until(found: Iterator[Sequence[Report]], true: "object", limit_s: float = 20.0) -> Sequence[Report]:
    end = time.monotonic() + limit_s
    for reports in found:
        if true(reports):  # type: ignore[operator]
            return reports
        assert time.monotonic() < end, reports
    raise AssertionError("no more ticks")


def test_each_node_with_its_own_values(view: "object") -> None:
    found = view("dgx-h100", "dgx-h100+gpu3-lost", "cpu-only")  # type: ignore[operator]
    reports = until(found, lambda reports: not any(report.errors for report in reports))
    assert [report.node for report in reports] == ["n1", "n2", "n3"]
    up = [sum(s.value or 0 for s in report.samples if s.series == "brctl_gpu_up") for report in reports]
    assert up == [8, 7, 0]


def test_a_node_that_breaks_off_is_its_own_error_and_is_asked_again(
    view: "object", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "_AGAIN_S", 0.1)
    code = "import os; n = sys.argv[3]\nif n == 'n2': sys.exit('it broke')\ntime.sleep(60)"
    speaks(monkeypatch, code)
    found = view("x", "x")  # type: ignore[operator]

    def broken(report: Report) -> bool:
        return bool(report.errors) and report.errors[0].kind == "agent-died"

    reports = until(found, lambda reports: reports[0].samples and broken(reports[1]))
    assert "it broke" in reports[1].errors[0].message
    assert [(s.value, s.state) for s in reports[0].samples] == [(5, State.MEASURED)]
    until(found, lambda reports: reports[1].samples)  # it was asked again, and said one tick


def test_a_hostile_node_is_its_own_error(view: "object", monkeypatch: pytest.MonkeyPatch) -> None:
    speaks(monkeypatch, "time.sleep(0.2)\nif sys.argv[3] == 'n2': say(b'[1.0,[7],[],[],[]]')\ntime.sleep(60)")
    found = view("x", "x")  # type: ignore[operator]
    reports = until(found, lambda reports: reports[1].errors and reports[1].errors[0].kind == "invalid-report")
    assert not reports[0].errors


def test_a_silent_node_has_no_values_any_more(view: "object", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "patience_s", lambda _: 0.5)
    speaks(monkeypatch, "time.sleep(60)")
    found = view("x")  # type: ignore[operator]
    until(found, lambda reports: reports[0].samples)
    reports = until(found, lambda reports: reports[0].errors)
    assert reports[0].errors[0].kind == "timeout"
    assert reports[0].samples == ()


def test_where_no_node_can_be_reached(view: "object") -> None:
    transport = Transport("local", here="other")
    found = Streams([Order("n1", MONITOR)], transport, Limits())
    with pytest.raises(TransportError, match="n1 cannot be reached"):
        next(iter(found))
    found.close()


def test_patience_and_room(monkeypatch: pytest.MonkeyPatch) -> None:
    assert patience_s(5.0) == 20.0
    monkeypatch.setattr(engine.os, "cpu_count", lambda: 1)
    run = streams._Listeners(orders(*["cpu-only"] * 9), Transport(), Limits())
    assert (len(run._orders), len(run._later)) == (4, 5)
    assert run._room() == 9


def test_what_a_node_did_is_told_once_and_it_hears_that_we_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    record = ActionRecord("a", 1.0, "n1", "hot", (), "throttle", "", "", Done.DONE)
    tick = Report("n1", 1.0, 0.0, actions=(record,))
    run = _Listeners.__new__(_Listeners)
    run.heard, run._actions, run.changed = {}, {}, threading.Condition()
    conversation, said = _Listening.__new__(_Listening), list[tuple[object, ...]]()
    rule = Rule("hot", "brctl_gpu_temperature_celsius", ">=", 85, action="throttle")
    conversation.order = Order("n1", MONITOR._replace(acting=Acting((rule,))), None)
    conversation.over, conversation.phase = False, Phase.ANSWER
    conversation.follower = SimpleNamespace(follow=lambda _: tick)  # type: ignore[assignment]  # a stub of it
    monkeypatch.setattr(conversation, "_on_outcome", lambda _, report: run._deliver(report), raising=False)
    monkeypatch.setattr(conversation, "_limit", lambda _: None)
    monkeypatch.setattr(conversation, "_write", lambda *given: said.append(given))
    for _ in range(2):
        conversation._hear(Frame("1", b"[...]"))
    assert (run.taken("n1"), run.taken("n1")) == ((record, record), ())
    assert run.heard["n1"].report.actions == ()
    assert said == [("stdin", pack(Frame("1", HERE)))] * 2


def test_a_node_that_is_down_for_a_day_is_asked_again_and_again() -> None:
    run = _Listeners([Order("n1", MONITOR)], Transport(here="n1"), Limits())
    delays: list[float] = []
    run._task = SimpleNamespace(timer=lambda delay, **_: delays.append(delay))
    conversation = _Listening.__new__(_Listening)
    conversation.order, conversation.over = Order("n1", MONITOR), True
    for _ in range(1500):
        run._hear(conversation, NodeError("timeout", "no shell"))
    assert delays[:7] == [1, 2, 4, 8, 16, 32, 60]
    assert set(delays[6:]) == {60}
    conversation.over = False
    run._hear(conversation, Report("n1", 1.0, 0.0))
    conversation.over = True
    run._hear(conversation, NodeError("timeout", "no shell"))
    assert delays[-1] == 1
