from typing import Any, Callable

from brctl.node.facts import Inventory
from brctl.node.report import Status

Values = Callable[..., Inventory]
Examine = Callable[..., Any]


def test_none(well: Inventory, examine: Examine) -> None:
    (found,) = examine(well)
    assert found.status is Status.PASS


def test_few_are_a_warning(with_values: Values, examine: Examine) -> None:
    (found,) = examine(with_values(3, errors={"sram_volatile_parity": 1}))
    assert found.summary == "GPU 3: 1 uncorrected SRAM error since the driver was loaded"
    (found,) = examine(with_values(3, errors={"sram_volatile_parity": 1, "sram_volatile_secded": 2}))
    assert (found.status, found.summary) == (
        Status.WARN,
        "GPU 3: 3 uncorrected SRAM errors since the driver was loaded",
    )


def test_its_own_threshold_is_critical(with_values: Values, examine: Examine) -> None:
    (found,) = examine(with_values(3, errors={"sram_threshold_exceeded": True}))
    assert (found.status, found.summary) == (
        Status.CRIT,
        "GPU 3: more uncorrected SRAM errors than the GPU may have",
    )
    assert "RMA" in found.remedy
