from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory
from brctl.node.report import Status

Values = Callable[..., Inventory]
Examine = Callable[..., Any]


@pytest.mark.parametrize(
    ("amount", "seconds", "status"),
    [
        (0, 0.1, Status.PASS),
        (31, 0.1, Status.PASS),
        (32, 0.1, Status.WARN),
        (1843, 3600, Status.PASS),
        (40 * 60, 3600, Status.WARN),
    ],
)
def test_what_dcgm_allows_of_16_lanes_of_generation_5(
    well: Inventory, with_values: Values, examine: Examine, later: Any, amount: int, seconds: float, status: Status
) -> None:
    (found,) = examine(later(with_values(3, pcie={"replay_counter": 150 + amount}), seconds), before=well)
    assert found.status is status
    if amount == 32:
        assert found.summary == "GPU 3: 32 PCIe packets repeated, 31 allowed in that time"
        assert found.evidence[0].value == "+32 in 0.1 s, since the first sample"


def test_one_look_tells_no_rate(well: Inventory, examine: Examine) -> None:
    (found,) = examine(well)
    assert (found.status, found.summary) == (Status.NA, "no GPU tells at what rate it repeats PCIe packets")
