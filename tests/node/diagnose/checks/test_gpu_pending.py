from typing import Any, Callable

from brctl.node.facts import Inventory
from brctl.node.report import Evidence, Status

Values = Callable[..., Inventory]
Examine = Callable[..., Any]


def test_none(well: Inventory, examine: Examine) -> None:
    (found,) = examine(well)
    assert (found.status, found.summary) == (Status.PASS, "8 of 8 GPUs: no mode waits for a reset")


def test_modes_that_wait(with_values: Values, examine: Examine) -> None:
    (found,) = examine(with_values(3, health={"ecc_pending": False, "mig_pending": True}))
    assert (found.status, found.summary) == (
        Status.WARN,
        "GPU 3: ECC mode is to be off and MIG mode is to be on, and waits for a reset",
    )
    assert found.evidence == (
        Evidence("ECC mode", "on now, off after a reset", "nvmlDeviceGetEccMode"),
        Evidence("MIG mode", "off now, on after a reset", "nvmlDeviceGetMigMode"),
    )


def test_a_part_without_such_modes(dgx: Inventory, examine: Examine) -> None:
    (found,) = examine(dgx)
    assert (found.status, found.summary) == (Status.NA, "no GPU tells its pending modes")
