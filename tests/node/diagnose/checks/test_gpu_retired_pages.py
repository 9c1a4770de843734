from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory
from brctl.node.report import Status

Values = Callable[..., Inventory]
Examine = Callable[..., Any]


def test_none(well: Inventory, examine: Examine) -> None:
    (found,) = examine(well)
    assert (found.status, found.summary) == (Status.PASS, "8 of 8 GPUs: no page waits to be retired")


def test_pending(with_values: Values, examine: Examine) -> None:
    (found,) = examine(with_values(3, errors={"retired_pages_pending": True, "retired_pages_dbe": 1}))
    assert (found.status, found.summary) == (
        Status.WARN,
        "GPU 3: a page of its memory waits for a reboot to be retired",
    )
    assert [(item.what, item.value) for item in found.evidence] == [
        ("for single-bit errors", "0"),
        ("for double-bit errors", "1"),
        ("pending", "yes"),
    ]


@pytest.mark.parametrize(("pages", "status"), [(62, Status.PASS), (63, Status.CRIT)])
def test_the_most_pages(with_values: Values, examine: Examine, pages: int, status: Status) -> None:
    (found,) = examine(with_values(3, errors={"retired_pages_sbe": pages - 2, "retired_pages_dbe": 2}))
    assert found.status is status
