from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory
from brctl.node.report import Evidence, Status

Values = Callable[..., Inventory]
Examine = Callable[..., Any]


def test_none(well: Inventory, examine: Examine) -> None:
    (found,) = examine(well)
    assert found.status is Status.PASS
    assert found.summary == "8 of 8 GPUs: no uncorrected ECC error since the driver was loaded"


@pytest.mark.parametrize(("count", "words"), [(1, "1 uncorrected ECC error"), (2, "2 uncorrected ECC errors")])
def test_one_was_contained(
    with_values: Values, examine: Examine, later: Callable[..., Inventory], count: int, words: str
) -> None:
    seen = with_values(3, errors={"volatile_uncorrected": count})
    for before in (None, seen):
        (found,) = examine(later(seen, 0.1), before=before)
        assert (found.status, found.summary) == (Status.WARN, "GPU 3: {} since the driver was loaded".format(words))
        assert [item.what for item in found.evidence] == ["uncorrected since driver load"]


def test_one_that_comes_meanwhile_is_critical(
    well: Inventory, with_values: Values, examine: Examine, later: Callable[..., Inventory]
) -> None:
    (found,) = examine(later(with_values(3, errors={"volatile_uncorrected": 1}), 0.1), before=well)
    assert found.status is Status.CRIT
    assert found.evidence[1] == Evidence(
        "growth", "+1 in 0.1 s, since the first sample", "nvmlDeviceGetTotalEccErrors(1, 0)"
    )
