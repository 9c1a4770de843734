"""A mocked GPU heats up and cools down, and its node throttles it: the whole loop, at a speed of its own."""

import time
from types import SimpleNamespace
from typing import Any, Callable, List, Tuple

import pytest

from brctl.mock import nvml_library
from brctl.node.alert_facts import ActionRecord, Rule
from brctl.node.monitor.sampler import Tick
from brctl.node.monitor.stream import Block
from brctl.node.report import State
from brctl.node.request import Acting, Request
from brctl.node.tune import guard, journal
from brctl.node.tune.acting import Actor
from brctl.node.tune.throttle import FLOOR

NAME = "brctl_gpu_temperature_celsius"
FEVER_S, TICK_S = 600, 5
RULE = Rule("gpu-temperature", NAME, ">=", 85, hold_s=30, clear=82, clear_s=60, unit="celsius", action="throttle")


class FakeGuard:
    def __init__(self, *_: Any) -> None: ...

    def here(self) -> None: ...

    def release(self) -> None: ...


class Course(List[Tuple[float, float]]):
    """Temperature and power limit, tick by tick."""


@pytest.fixture
def run(load: Callable[[str], Any], changed: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(guard, "Guard", FakeGuard)

    def ran(act: bool = True, **first: Any) -> Tuple[Course, List[ActionRecord], Any]:
        clock, began = [0.0], time.monotonic()
        monkeypatch.setattr(
            nvml_library, "time", SimpleNamespace(monotonic=lambda: began + clock[0], sleep=lambda _: None)
        )
        host = load(changed(fever_s=FEVER_S, **first))
        library = host.accelerators()[0]
        library.driver()
        gpu = library.open(0)
        request = Request("n", "monitor", acting=Acting((RULE,) if act else (), "op", 1e9))
        series = (SimpleNamespace(name=NAME, labels=("gpu", "uuid")),)
        actor = Actor(host, request, series)  # type: ignore[arg-type]  # all of a Series that rules look at
        course, records = Course(), []
        with actor:
            for second in range(0, FEVER_S + 120, TICK_S):
                clock[0] = float(second)
                gpu = library.open(0)
                celsius = gpu.meter().temperatures().core_celsius
                course.append((celsius, gpu.limits().power_limit_watts))
                slots = ((NAME, ("0", gpu.uuid())),)
                block = Block("gpu-temperature", (), slots, (celsius,), State.MEASURED, float(second))
                records += actor._act(Tick(float(second), (block,), ()), time.monotonic(), float(second))
        return course, records, host

    return ran


def test_throttled_once_and_given_back_once(run: Any) -> None:
    course, records, host = run()
    assert len({record.id for record in records}) == 1
    assert [record.undone for record in records if record.undone] == ["cleared"]
    watts = [limit for _, limit in course]
    changes = [(a, b) for a, b in zip(watts, watts[1:]) if a != b]
    assert [b < a for a, b in changes] == [True] * (len(changes) - 1) + [False]
    assert changes[-1][1] == watts[0] == 700
    assert min(watts) >= FLOOR * 700
    (log,) = journal.logs(host)
    assert (log.state, journal.open_id(host)) == ("rolled back", None)


def test_it_was_cooler_for_it(run: Any) -> None:
    left_alone, throttled = (run(act=act)[0][FEVER_S // 2 // TICK_S][0] for act in (False, True))
    assert left_alone >= 90
    assert throttled <= 86


@pytest.mark.parametrize("temperature", [20, 26])
def test_one_that_stays_cool_is_left_alone(run: Any, temperature: int) -> None:
    course, records, _ = run(temperature_celsius=temperature - 5)
    assert records == []
    assert {limit for _, limit in course} == {700}
