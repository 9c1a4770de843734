from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory
from brctl.node.report import Status

Values = Callable[..., Inventory]
Examine = Callable[..., Any]


def test_rows_that_were_remapped_are_repaired(well: Inventory, examine: Examine) -> None:
    (found,) = examine(well)
    assert (found.status, found.summary) == (Status.PASS, "8 of 8 GPUs: no row waits to be remapped")


def test_pending_waits_for_a_reset(with_values: Values, examine: Examine) -> None:
    (found,) = examine(with_values(3, errors={"remap_pending": True, "remapped_rows_uncorrectable": 4}))
    assert (found.status, found.summary) == (
        Status.WARN,
        "GPU 3: a row of its memory waits for a reset to be remapped",
    )
    assert "RMA" not in found.remedy
    assert [(item.what, item.value) for item in found.evidence] == [
        ("failure", "no"),
        ("pending", "yes"),
        ("rows remapped for uncorrected errors", "4"),
        ("rows remapped for corrected errors", "3"),
    ]


def test_a_failure_is_critical_whatever_the_number(with_values: Values, examine: Examine) -> None:
    (found,) = examine(with_values(3, errors={"remap_failure": True, "remap_pending": False}))
    assert (found.status, found.summary) == (Status.CRIT, "GPU 3: a row of its memory could not be remapped")
    assert "RMA" in found.remedy


@pytest.mark.parametrize(("rows", "status"), [(511, Status.PASS), (512, Status.CRIT)])
def test_the_most_rows(with_values: Values, examine: Examine, rows: int, status: Status) -> None:
    (found,) = examine(with_values(3, errors={"remapped_rows_uncorrectable": rows}))
    assert found.status is status
