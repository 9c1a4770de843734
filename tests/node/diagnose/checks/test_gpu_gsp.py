from typing import Any, Callable

from brctl.node.facts import Inventory
from brctl.node.report import Status

Values = Callable[..., Inventory]
Examine = Callable[..., Any]


def test_firmware_of_the_driver(well: Inventory, examine: Examine) -> None:
    (found,) = examine(well)
    assert (found.status, found.summary) == (Status.PASS, "8 of 8 GPUs: GSP firmware of the driver")


def test_another_firmware(with_values: Values, examine: Examine) -> None:
    (found,) = examine(with_values(3, health={"gsp_firmware_version": "535.54.03"}))
    assert (found.status, found.summary) == (Status.WARN, "GPU 3: GSP firmware 535.54.03, driver 580.105.08")


def test_switched_off_is_a_choice(with_values: Values, examine: Examine) -> None:
    off = {"gsp_enabled": False, "gsp_firmware_version": None}
    (found,) = examine(with_values(3, health=off))
    assert (found.status, found.summary) == (Status.INFO, "GPU 3: GSP firmware is switched off")
    (found,) = examine(with_values(3, health={**off, "gsp_enabled_by_default": False}))
    assert found.status is Status.PASS


def test_no_gsp(dgx: Inventory, examine: Examine) -> None:
    (found,) = examine(dgx)
    assert (found.status, found.summary) == (Status.NA, "no GPU tells its GSP firmware")
