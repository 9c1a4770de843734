from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory
from brctl.node.report import Status

Values = Callable[..., Inventory]
Examine = Callable[..., Any]


def grown(with_values: Values, later: Callable[..., Inventory], amount: int, seconds: float) -> Inventory:
    return later(with_values(3, errors={"volatile_corrected": 1000000 + amount}), seconds)


@pytest.mark.parametrize(("amount", "seconds"), [(0, 0.1), (10, 0.1), (99, 0.1), (1, 0.001), (499, 5)])
def test_totals_and_single_errors_are_no_rate(
    well: Inventory, with_values: Values, examine: Examine, later: Any, amount: int, seconds: float
) -> None:
    (found,) = examine(grown(with_values, later, amount, seconds), before=well)
    assert found.status is Status.PASS


def test_a_storm(well: Inventory, with_values: Values, examine: Examine, later: Any) -> None:
    (found,) = examine(grown(with_values, later, 1770, 0.1), before=later(well, 0))
    assert (found.status, found.summary) == (Status.WARN, "GPU 3: 17700 corrected ECC errors a second")
    assert found.evidence[0].value == "+1770 in 0.1 s, since the first sample"


@pytest.mark.parametrize(("amount", "seconds", "rate"), [(100, 0.1, 1000), (500, 5, 100)])
def test_as_many_as_a_second_of_the_limit(
    well: Inventory, with_values: Values, examine: Examine, later: Any, amount: int, seconds: float, rate: int
) -> None:
    (found,) = examine(grown(with_values, later, amount, seconds), before=well)
    assert (found.status, found.summary) == (Status.WARN, "GPU 3: {} corrected ECC errors a second".format(rate))


def test_one_look_tells_no_rate(well: Inventory, examine: Examine) -> None:
    (found,) = examine(well)
    assert (found.status, found.summary) == (Status.NA, "no GPU tells at what rate it corrects ECC errors")


def test_a_driver_that_was_loaded_anew(well: Inventory, with_values: Values, examine: Examine, later: Any) -> None:
    (found,) = examine(grown(with_values, later, -1000000, 60), before=well)
    assert found.status is Status.PASS
