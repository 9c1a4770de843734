from typing import Any, Callable

import pytest

from brctl.node.diagnose import Case, Earlier
from brctl.node.diagnose.growth import Growth, growths, span, sustained
from brctl.node.facts import Gpu, GpuFault, Inventory
from brctl.node.request import Expected


def count(gpu: Gpu) -> Any:
    return gpu.errors.volatile_corrected if gpu.errors else None


def found(now: Inventory, *before: Inventory) -> Any:
    earlier = tuple(Earlier(seen, "look {}".format(place)) for place, seen in enumerate(before))
    return growths(Case(now, Expected(), {}, earlier), (now.gpus or ())[3], count)


def test_against_each_earlier_look(
    well: Inventory, with_values: Callable[..., Inventory], later: Callable[..., Inventory]
) -> None:
    now = later(with_values(3, errors={"volatile_corrected": 1000300}), 3)
    assert found(now, well, later(now, -1)) == (Growth(300, 3.0, "look 0"), Growth(0, 1.0, "look 1"))
    assert found(now, well)[0].per_second == 100
    assert found(now, well)[0].text == "+300 in 3 s, since look 0"


def test_what_comes_in_a_moment_is_no_rate() -> None:
    assert Growth(10, 0.1, "").per_second == 100
    assert [sustained(Growth(10, seconds, "")) for seconds in (0.1, 5.0)] == [10, 2]
    assert [sustained(Growth(12, seconds, ""), 60) for seconds in (0.1, 120.0)] == [0.2, 0.1]


def test_what_cannot_be_compared(well: Inventory, with_values: Callable[..., Inventory], later: Any) -> None:
    now = later(well, 3)
    fault = GpuFault("lost", "call", "message")
    gpus = well.gpus or ()
    others = (
        with_values(3, errors={"volatile_corrected": None}),
        with_values(3, errors={"volatile_corrected": 1000001}),
        well._replace(gpus=(*gpus[:3], gpus[3]._replace(uuid="GPU-other"))),
        well._replace(gpus=(*gpus[:3], gpus[3]._replace(fault=fault))),
        well._replace(gpus=(*gpus[:3], gpus[3]._replace(health=None))),
        well._replace(gpus=None),
        later(well, 3),
        later(well, 4),
    )
    for other in others:
        assert found(now, other) == ()
    for values in ({"fault": fault}, {"health": None}, {"uuid": None}, {"errors": None}):
        assert found(now._replace(gpus=(*gpus[:3], gpus[3]._replace(**values))), well) == ()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.1034, "0.1 s"), (5, "5 s"), (90, "90 s"), (120, "2 min"), (7200, "2 h"), (200000, "2 d")],
)
def test_spans_of_time(seconds: float, text: str) -> None:
    assert span(seconds) == text
