from typing import Any, Callable

from brctl.node.facts import Inventory
from brctl.node.report import Status

Values = Callable[..., Inventory]
Examine = Callable[..., Any]


def test_valid(well: Inventory, examine: Examine) -> None:
    (found,) = examine(well)
    assert (found.status, found.summary) == (Status.PASS, "8 of 8 GPUs: valid InfoROM")


def test_corrupt(with_values: Values, examine: Examine) -> None:
    (found,) = examine(with_values(3, errors={"inforom_valid": False}))
    assert (found.status, found.summary) == (Status.WARN, "GPU 3: its InfoROM is corrupt")
    assert found.remedy
