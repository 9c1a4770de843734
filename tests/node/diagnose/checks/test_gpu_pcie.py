from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory
from brctl.node.report import Status

Values = Callable[..., Inventory]
Examine = Callable[..., Any]


BUSY = {"gpu_utilization_percent": 60, "performance_state": 0}


def test_as_wide_and_fast_as_can_be(well: Inventory, examine: Examine) -> None:
    (found,) = examine(well)
    assert (found.status, found.summary) == (Status.PASS, "8 of 8 GPUs: PCIe links as wide as they can be")


@pytest.mark.parametrize(("lanes", "status"), [(8, Status.WARN), (4, Status.CRIT)])
def test_narrower_than_its_siblings(with_values: Values, examine: Examine, lanes: int, status: Status) -> None:
    (found,) = examine(with_values(3, pcie={"width": lanes}))
    assert (found.status, found.summary) == (status, "GPU 3: {} of 16 PCIe lanes".format(lanes))
    assert [item.value for item in found.evidence] == [str(lanes), "16", "16 lanes"]


def test_all_of_eight_lanes_are_so_by_design(well: Inventory, examine: Examine) -> None:
    gpus = tuple(gpu._replace(pcie=gpu.pcie._replace(width=8)) for gpu in well.gpus or () if gpu.pcie)
    (found,) = examine(well._replace(gpus=gpus))
    assert found.status is Status.PASS


@pytest.mark.parametrize(("lanes", "status"), [(8, Status.INFO), (4, Status.WARN)])
def test_a_gpu_alone(with_values: Values, examine: Examine, lanes: int, status: Status) -> None:
    seen = with_values(0, pcie={"width": lanes})
    (found,) = examine(seen._replace(gpus=(seen.gpus or ())[:1]))
    assert (found.status, found.summary) == (
        status,
        "GPU 0: {} of 16 PCIe lanes, and no sibling to compare".format(lanes),
    )


@pytest.mark.parametrize(
    ("telemetry", "status"),
    [
        ({}, Status.PASS),
        ({"performance_state": 8}, Status.PASS),
        (BUSY, Status.WARN),
        ({**BUSY, "performance_state": 8}, Status.PASS),
    ],
)
def test_a_low_generation_counts_under_load(
    with_values: Values, examine: Examine, telemetry: Any, status: Status
) -> None:
    (found,) = examine(with_values(3, pcie={"generation": 1}, telemetry=telemetry))
    assert found.status is status
    if status is Status.WARN:
        assert found.summary == "GPU 3: PCIe generation 1 of 5 under load"


def test_a_slot_of_an_older_generation_is_fine(with_values: Values, examine: Examine) -> None:
    (found,) = examine(with_values(3, pcie={"generation": 4, "max_generation": 4}, telemetry=BUSY))
    assert found.status is Status.PASS


def test_no_width(dgx: Inventory, examine: Examine) -> None:
    (found,) = examine(dgx)
    assert (found.status, found.summary) == (Status.NA, "no GPU tells its PCIe link")
