"""A node acts on its own samples, beside its ticks, and gives back what it took when nobody is there any more."""

import threading
import time
from typing import Any, Callable, List, Tuple

import pytest

from brctl.node.alert_facts import ActionRecord, Outcome, Rule
from brctl.node.monitor.collectors import gpu_temperature
from brctl.node.monitor.sampler import Tick
from brctl.node.monitor.stream import Block
from brctl.node.report import State
from brctl.node.request import Acting, Request
from brctl.node.tune import Place, acting, guard
from brctl.node.tune.acting import Actor
from brctl.node.tune.places import Places

SERIES = gpu_temperature.COLLECTOR.series
RULE = Rule("gpu-temperature", SERIES[0].name, ">=", 85, action="throttle", clear=82)
REQUEST = Request("n", "monitor", acting=Acting((RULE,), "op", lease_s=5))


class FakeGuard:
    def __init__(self, *_: Any) -> None: ...

    def here(self) -> None: ...

    def release(self) -> None: ...

    def give_back(self) -> None: ...


class Node:
    def __init__(self, host: Any) -> None:
        self.host, library = host, host.accelerators()[0]
        library.driver()
        self.uuid = library.open(0).uuid()
        self.actor = Actor(host, REQUEST, SERIES)
        self.at = 1000.0
        self.told: List[ActionRecord] = []

    @property
    def watts(self) -> Any:
        return Places(self.host).read(Place("gpu", self.uuid, "power_limit"))

    def feel(self, celsius: float, after_s: float = 5, silent_s: float = 0) -> None:
        """A tick, and wait until it is acted on."""
        self.at += after_s
        slots = ((SERIES[0].name, ("0", self.uuid)),)
        tick = Tick(self.at, (Block("gpu-temperature", (), slots, (celsius,), State.MEASURED, self.at),), ())
        self.told += self.actor.take(tick, time.monotonic() - silent_s)
        end = time.monotonic() + 5
        while self.actor._lane.busy and time.monotonic() < end:
            time.sleep(0.001)
        self.told += self.actor.told()

    @property
    def last(self) -> Tuple[str, Any]:
        return self.told[-1].what, self.told[-1].undone


@pytest.fixture
def node(load: Callable[[str], Any], h100: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(guard, "Guard", FakeGuard)
    one = Node(load(h100))
    with one.actor:
        yield one


def test_hot_then_cool(node: Node) -> None:
    node.feel(80)
    assert node.told == []
    node.feel(90)
    assert (node.last, node.watts) == (("power limit 700 W -> 630 W", None), "630")
    assert node.told[0].evidence.startswith('brctl_gpu_temperature_celsius{gpu="0",uuid="GPU-')
    node.feel(90, 30)
    assert (node.last, node.watts) == (("power limit 700 W -> 560 W", None), "560")
    node.feel(80, 60)
    assert (node.last, node.watts) == (("power limit 700 W -> 560 W", "cleared"), "700")
    assert len({record.id for record in node.told}) == 1


def test_the_end_of_the_stream_gives_back(node: Node) -> None:
    node.feel(90)
    node.actor.close(1)
    assert (node.watts, node.actor.told()[-1].undone) == ("700", "exit")
    node.feel(95)
    assert (node.watts, node.actor._lane.busy) == ("700", False)


def test_what_breaks_costs_its_tick_alone(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: Any) -> None:
        raise ValueError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr(node.actor._throttle, "tick", breaks)
        node.feel(80)
    assert (node.told, node.actor._lane.busy) == ([], False)
    node.feel(90)
    assert (node.last, node.watts) == (("power limit 700 W -> 630 W", None), "630")


def test_so_does_the_end_of_the_process(node: Node) -> None:
    node.feel(90)
    acting.give_back(1)
    assert node.watts == "700"
    assert not acting._running


def test_and_silence_on_the_other_side(node: Node) -> None:
    node.feel(90)
    node.feel(90, silent_s=6)
    assert (node.last[1], node.watts) == ("silence", "700")
    node.feel(90, silent_s=6)
    assert node.watts == "700"
    node.feel(90)
    assert (node.last[1], node.watts) == (None, "630")


def test_a_call_that_hangs_holds_up_no_tick(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    hangs = threading.Event()
    monkeypatch.setattr(node.actor._throttle, "tick", lambda *_: hangs.wait(5) and ())
    began = time.monotonic()
    for _ in range(3):
        node.actor.take(Tick(node.at, (), ()), began)
    node.actor.close(0.01)
    assert time.monotonic() - began < 4
    hangs.set()


def test_what_is_refused_is_told_once(node: Node) -> None:
    Places(node.host).write(Place("gpu", node.uuid, "power_limit"), "350")
    for _ in range(3):
        node.feel(90, 40)
    assert [record.outcome for record in node.told] == [Outcome.REFUSED]
