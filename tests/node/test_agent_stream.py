"""A stream of an agent: its head, its ticks, its end, and what it costs on the wire."""

import os
import threading
import time
from typing import Any, Iterator, List, Tuple

import pytest

from brctl.mock.machines import load
from brctl.node import agent
from brctl.node.alert_facts import ActionRecord, Outcome, Rule
from brctl.node.codec import dumps, loads
from brctl.node.frame import HERE, Frame, Unpacker, pack
from brctl.node.monitor import registry
from brctl.node.monitor.sampler import Sampler
from brctl.node.monitor.stream import Follower, Packer
from brctl.node.report import Report, State
from brctl.node.request import Acting, Cadence, Request, Sampling
from brctl.node.tune import acting

MOST_BYTES = 4000
"""A node and tick, at eight GPUs at work: frame and all. 1024 nodes then take 33 Mb/s at one tick a second."""


class Served:
    """An agent in a thread of this process."""

    def __init__(self, machine: str) -> None:
        source, self.to_agent = os.pipe()
        self.from_agent, sink = os.pipe()
        self.thread = threading.Thread(target=agent.serve, args=(load(machine), source, sink))
        self.thread.start()
        self.unpacker = Unpacker()
        self.frames: List[Frame] = []
        self.sizes: List[int] = []

    def ask(self, identity: str, action: str, interval_s: float = 0.05) -> None:
        request = Request("n1", action, sampling=Sampling(interval_s))
        os.write(self.to_agent, pack(Frame(identity, dumps(request).encode())))

    def next(self) -> Frame:
        while not self.frames:
            self.frames += self.unpacker.feed(os.read(self.from_agent, 1 << 16))
        return self.frames.pop(0)


@pytest.fixture
def served() -> Iterator[Any]:
    opened: List[Served] = []

    def begin(machine: str) -> Served:
        opened.append(Served(machine))
        return opened[-1]

    yield begin
    for each in opened:
        os.close(each.to_agent)
        each.thread.join(5)
        assert not each.thread.is_alive()


def test_a_head_then_ticks_until_it_is_stopped(served: Any) -> None:
    pair = served("cpu-only")
    pair.ask("7", "monitor")
    head = loads(Report, pair.next().payload)
    assert head.node == "n1"
    assert head.samples == ()
    assert head.series
    follower = Follower(head)
    ticks = [follower.follow(pair.next().payload) for _ in range(3)]
    assert all(tick.samples for tick in ticks)
    pair.ask("7", "stop")
    while True:
        frame = pair.next()
        assert frame.id == "7"
        if frame.payload[:1] == b"{":
            break
    assert loads(Report, frame.payload).errors == ()


def test_other_requests_are_answered_meanwhile(served: Any) -> None:
    pair = served("cpu-only")
    pair.ask("1", "monitor")
    pair.ask("2", "sample")
    frames = iter(pair.next, None)
    other = next(frame for frame in frames if frame.id == "2")
    report = loads(Report, other.payload)
    assert {sample.state for sample in report.samples} == {State.MEASURED, State.UNSUPPORTED}


def test_the_end_of_stdin_ends_a_stream_too(served: Any) -> None:
    served("cpu-only").ask("1", "monitor")


def test_a_reader_that_is_gone_is_no_fault(served: Any) -> None:
    pair = served("cpu-only")
    os.close(pair.from_agent)
    pair.ask("1", "monitor")
    pair.ask("2", "sample")


def test_what_a_tick_of_eight_gpus_at_work_takes() -> None:
    """With twelve RDMA ports, sixteen interfaces and the host, all of it moving, and every collector run in every tick:
    a tick in which only those of a second are run takes less."""
    cadences = tuple(Cadence(collector.id, 0.0) for collector in registry())
    samples = Sampler(load("dgx-h100+busy"), Sampling(cadences=cadences))
    packer, sizes = Packer(samples.series), []
    for number in range(6):
        tick = samples.tick(first=number == 0)
        sizes.append(len(pack(Frame("1", packer.pack(*tick)))))
        time.sleep(0.01)  # so that counters grow
    assert sizes[0] < 3 * MOST_BYTES
    assert max(sizes[2:]) <= MOST_BYTES, sizes


def test_a_node_that_acts_hears_that_somebody_is_there(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: List[float] = []

    def take(_: Any, tick: Any, last_s: float) -> Tuple[ActionRecord, ...]:
        heard.append(last_s)
        record = ActionRecord("a", tick.at, "n1", "hot", (), "throttle", "", "", Outcome.DONE)
        return (record,) if len(heard) == 1 else ()

    monkeypatch.setattr(acting.Actor, "take", take)
    pair = served("cpu-only")
    rule = Rule("hot", "brctl_gpu_temperature_celsius", ">=", 85, action="throttle")
    request = Request("n1", "monitor", sampling=Sampling(0.05), acting=Acting((rule,)))
    os.write(pair.to_agent, pack(Frame("1", dumps(request).encode())))
    follower = Follower(loads(Report, pair.next().payload))
    assert [follower.follow(pair.next().payload).actions != () for _ in range(2)] == [True, False]
    os.write(pair.to_agent, pack(Frame("1", HERE)))
    before = heard[0]
    while heard[-1] == before:
        follower.follow(pair.next().payload)
    os.write(pair.to_agent, pack(Frame("1", b"stop")))
    while pair.next().payload[:1] != b"{":
        pass
    assert not acting._running
