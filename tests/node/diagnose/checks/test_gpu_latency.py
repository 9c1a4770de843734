from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory
from brctl.node.report import Evidence, Status

Examine = Callable[..., Any]


def timed(well: Inventory, *seconds: Any) -> Inventory:
    gpus = [
        gpu._replace(health=gpu.health._replace(reading_s=taken))
        for gpu, taken in zip(well.gpus or (), seconds)
        if gpu.health
    ]
    return well._replace(gpus=tuple(gpus))


def test_a_slow_one_among_its_siblings(well: Inventory, examine: Examine) -> None:
    (found,) = examine(timed(well, 0.1, 0.1, 2.5, 0.2))
    assert (found.status, found.summary) == (
        Status.WARN,
        "GPU 2: the driver takes 2.5 s to tell of it, of its siblings 150 ms",
    )
    assert found.evidence[0] == Evidence("one look", "2.5 s", "NVML")


@pytest.mark.parametrize("seconds", [(0.1, 0.1, 0.9, 0.1), (2.0, 2.0, 2.5, 2.0), (0.01, 0.01, 0.2, 0.01)])
def test_fast_or_all_slow_alike(well: Inventory, examine: Examine, seconds: Any) -> None:
    (found,) = examine(timed(well, *seconds))
    assert (found.status, found.summary) == (Status.PASS, "4 of 4 GPUs: read without delay")


@pytest.mark.parametrize("seconds", [(9.0, 0.1), (None, None, None)])
def test_nothing_to_compare(well: Inventory, examine: Examine, seconds: Any) -> None:
    (found,) = examine(timed(well, *seconds))
    assert (found.status, found.summary) == (Status.NA, "no GPU tells how long its calls take")
