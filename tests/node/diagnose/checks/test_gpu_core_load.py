from typing import Any, Callable

import pytest

from brctl.node.diagnose import Earlier, engine
from brctl.node.facts import Inventory, NodeTime
from brctl.node.host.members import of_ids
from brctl.node.report import Status
from brctl.node.request import Expected


def looked(dgx: Inventory, busy: int, total: int) -> Any:
    (check,) = of_ids(engine.registry(), ("gpu-core-load",))
    before = dgx._replace(cpu_times=(NodeTime(0, 1000, 9000), NodeTime(1, 1000, 9000)))
    now = dgx._replace(cpu_times=(NodeTime(0, 1000, 9000 + total), NodeTime(1, 1000 + busy, 9000 + total)))
    return engine.examine(check, now, Expected(), (), (Earlier(before, "the first sample"),))


@pytest.mark.parametrize(
    ("busy", "total", "status", "summary"),
    [
        (3000, 10000, Status.PASS, "NUMA node 0 0 % busy, NUMA node 1 30 % busy"),
        (9600, 10000, Status.WARN, "NUMA node 1 96 % busy, with GPUs beside it"),
        (4999, 4999, Status.NA, "no GPU whose CPUs are known, or only one look"),
    ],
)
def test_load(dgx: Inventory, busy: int, total: int, status: Status, summary: str) -> None:
    (found,) = looked(dgx, busy, total)
    assert (found.status, found.summary) == (status, summary)


def test_what_cannot_be_told(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx._replace(cpu_times=(NodeTime(0, 1, 2),)))
    assert found.status is Status.NA
    (found,) = looked(dgx._replace(gpus=None), 9600, 10000)
    assert found.status is Status.NA
