from typing import Any, Callable

from brctl.node.facts import Inventory
from brctl.node.report import Evidence, Status

Values = Callable[..., Inventory]
Examine = Callable[..., Any]


def test_none(well: Inventory, examine: Examine) -> None:
    (found,) = examine(well)
    assert (found.status, found.summary) == (Status.PASS, "8 of 8 GPUs: no uncorrected ECC error in their life")


def test_those_of_a_long_life_are_noted(with_values: Values, examine: Examine, later: Callable[..., Inventory]) -> None:
    seen = with_values(3, errors={"aggregate_uncorrected": 12})
    (found,) = examine(later(seen, 5), before=seen)
    assert (found.status, found.summary) == (Status.INFO, "GPU 3: 12 uncorrected ECC errors in its life, none new")


def test_a_single_one(with_values: Values, examine: Examine) -> None:
    (found,) = examine(with_values(3, errors={"aggregate_uncorrected": 1}))
    assert found.summary == "GPU 3: 1 uncorrected ECC error in its life, none new"


def test_new_ones_are_a_warning(with_values: Values, examine: Examine, later: Callable[..., Inventory]) -> None:
    before, seen = (with_values(3, errors={"aggregate_uncorrected": count}) for count in (12, 14))
    (found,) = examine(later(seen, 7200), before=before)
    assert (found.status, found.summary) == (
        Status.WARN,
        "GPU 3: uncorrected ECC errors +2 in 2 h, since the first sample",
    )
    assert found.evidence[0] == Evidence("uncorrected in its life", "14", "nvmlDeviceGetTotalEccErrors(1, 1)")
