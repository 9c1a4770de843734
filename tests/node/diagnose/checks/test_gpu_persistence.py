from typing import Any, Callable

from brctl.node.facts import Inventory
from brctl.node.report import Status

Values = Callable[..., Inventory]
Examine = Callable[..., Any]


def test_on(well: Inventory, examine: Examine) -> None:
    (found,) = examine(well)
    assert (found.status, found.summary) == (Status.PASS, "8 of 8 GPUs: persistence mode on")


def test_off_on_one(with_values: Values, examine: Examine) -> None:
    (found,) = examine(with_values(3, identity={"persistence_mode": False}))
    assert (found.status, found.summary) == (
        Status.WARN,
        "GPU 3: persistence mode is off, unlike on its siblings",
    )


def test_off_on_all_is_a_choice(well: Inventory, examine: Examine) -> None:
    gpus = tuple(
        gpu._replace(identity=gpu.identity._replace(persistence_mode=False)) for gpu in well.gpus or () if gpu.identity
    )
    (found,) = examine(well._replace(gpus=gpus))
    assert (found.status, found.summary) == (Status.INFO, "persistence mode is off on all GPUs")


def test_a_vendor_that_has_no_such_mode(with_values: Values, examine: Examine) -> None:
    (found,) = examine(with_values(3, identity={"persistence_mode": None}))
    assert (found.status, found.summary) == (Status.PASS, "7 of 8 GPUs: persistence mode on")
