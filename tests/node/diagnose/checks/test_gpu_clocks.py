from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory
from brctl.node.report import Status

Values = Callable[..., Inventory]
Examine = Callable[..., Any]


BUSY = {"gpu_utilization_percent": 100, "performance_state": 0, "clocks_event_reasons": ()}


def busy(well: Inventory, *clocks: int, **more: Any) -> Inventory:
    """The first GPUs work at these clocks."""
    gpus = list(well.gpus or ())
    for index, clock in enumerate(clocks):
        values = gpus[index].telemetry
        assert values
        gpus[index] = gpus[index]._replace(telemetry=values._replace(**{**BUSY, **more, "sm_clock_mhz": clock}))
    return well._replace(gpus=tuple(gpus))


def test_idle_gpus_are_not_judged(well: Inventory, examine: Examine) -> None:
    (found,) = examine(well)
    assert (found.status, found.summary) == (Status.NA, "no GPU tells of a load")


def test_all_are_fast(well: Inventory, examine: Examine) -> None:
    (found,) = examine(busy(well, 1980, 1755, 1700))
    assert (found.status, found.summary) == (Status.PASS, "3 of 8 GPUs: busy and fast")


def test_slower_than_its_siblings(well: Inventory, examine: Examine) -> None:
    (found,) = examine(busy(well, 1755, 1755, 1755, 1200, clocks_event_reasons=("sw_power_cap",)))
    assert (found.status, found.summary) == (Status.WARN, "GPU 3: busy at 1200 MHz, its siblings at 1755 MHz")


def test_the_median_of_an_even_number(well: Inventory, examine: Examine) -> None:
    (found,) = examine(busy(well, 1700, 1755, 1200, 1754, clocks_event_reasons=("sw_power_cap",)))
    assert found.summary == "GPU 2: busy at 1200 MHz, its siblings at 1727 MHz"
    assert [one.value for one in found.evidence] == ["1200 MHz", "1727 MHz"]


def test_slow_for_no_reason(well: Inventory, examine: Examine) -> None:
    (found,) = examine(busy(well, 660))
    assert (found.status, found.summary) == (Status.WARN, "GPU 0: busy at 660 of 1980 MHz, for no stated reason")
    (found,) = examine(busy(well, 660, clocks_event_reasons=("applications_clocks_setting",)))
    assert found.status is Status.PASS


@pytest.mark.parametrize("values", [{"performance_state": 8}, {"gpu_utilization_percent": 89}])
def test_what_is_no_work(well: Inventory, examine: Examine, values: Any) -> None:
    (found,) = examine(busy(well, 660, **values))
    assert found.status is Status.NA


def test_no_clock(well: Inventory, examine: Examine) -> None:
    seen = busy(well, 660)
    gpus = seen.gpus or ()
    assert gpus[0].telemetry
    blind = gpus[0]._replace(telemetry=gpus[0].telemetry._replace(sm_clock_mhz=None))
    (found,) = examine(seen._replace(gpus=(blind, *gpus[1:])))
    assert found.status is Status.NA
