from typing import Any

import pytest

from brctl.node.monitor import Collector, Kind, Reading
from brctl.node.monitor.unit import Unit
from brctl.node.report import State

_made = Kind("u")
ONE = _made.gauge("one", "", "", "", "x")
UNIT = Collector("u", "u", 1.0, tuple(_made.all))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 2.0**65, 2**66])
def test_what_is_no_number_that_anybody_could_read_is_not_told(value: Any) -> None:
    """Of InfiniBand's 64-bit counters of words a full one would be 2^66 bytes."""
    unit = Unit(UNIT, 1.0, (), 0.0)
    unit.run(lambda _: [Reading(ONE, value, ("a",)), Reading(ONE, 5, ("b",))])
    assert unit.answer is not None
    assert unit.answer.values == (None, 5)


def test_between_two_runs_it_is_the_same_block() -> None:
    unit = Unit(UNIT, 1.0, (), 100.0)
    assert unit.block(0.0, 0.0, 0.0) is None
    unit.run(lambda _: [Reading(ONE, 5, ("b",))])
    first = unit.block(0.0, 0.0, 0.0)
    assert first is not None
    assert unit.block(0.0, 0.0, 0.0) is first
    unit.run(lambda _: [Reading(ONE, 6, ("b",))])
    second = unit.block(0.0, 0.0, 0.0)
    assert second is not None
    assert second.slots is first.slots
    assert [sample.state for sample in second.samples] == [State.MEASURED]


def test_one_that_has_nothing_to_tell_has_no_block() -> None:
    unit = Unit(UNIT, 1.0, (), 100.0)
    unit.run(lambda _: [])
    assert unit.block(0.0, 0.0, 0.0) is None
    unit.fail(OSError())
    assert unit.error == "OSError"
    assert unit.block(0.0, 0.0, 0.0) is None


def test_what_was_not_run_in_time_is_timed_out() -> None:
    unit = Unit(UNIT, 1.0, (), 10.0)
    unit.run(lambda _: [Reading(ONE, 5, ("b",))])
    assert unit.block(0.0, 10.2, 10.2) is unit.block(0.0, 10.4, 10.4)
    late = unit.block(77.0, 10.6, 10.6)
    assert late is not None
    assert (late.state, late.values, late.at) == (State.TIMEOUT, (None,), 77.0)


def test_a_cadence_is_kept_and_never_made_up_for() -> None:
    unit = Unit(UNIT, 1.0, (), 10.0)
    unit.put_off(10.1)
    assert unit.due_s == 11.0
    unit.put_off(17.5)
    assert unit.due_s == 18.5
