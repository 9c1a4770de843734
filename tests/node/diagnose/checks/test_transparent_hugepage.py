from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory
from brctl.node.report import Status


@pytest.mark.parametrize(
    ("value", "status"), [("always", Status.PASS), ("madvise", Status.PASS), ("never", Status.INFO)]
)
def test_each(dgx: Inventory, examine: Callable[..., Any], value: str, status: Status) -> None:
    (found,) = examine(dgx._replace(transparent_hugepage=value))
    assert (found.status, found.summary.split(":")[0]) == (status, value)
    (found,) = examine(dgx._replace(transparent_hugepage=value, gpus=None, pci=()))
    assert found.status is Status.PASS


def test_none(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx._replace(transparent_hugepage=None))
    assert found.status is Status.NA
