from typing import Any, Callable, Tuple

import pytest

from brctl.node.facts import Inventory, MemoryLock
from brctl.node.report import Status
from brctl.node.request import Override

LOGIN = MemoryLock("brctl", None, None)
LOW_LOGIN = MemoryLock("brctl", 8 << 20, None)
LOW_SLURMD = MemoryLock("slurmd.service", 8 << 20, 8 << 20)


@pytest.mark.parametrize(
    ("limits", "status", "summary"),
    [
        ((LOGIN,), Status.PASS, "brctl: without limit"),
        ((LOW_LOGIN,), Status.INFO, "brctl may lock 8192 KiB"),
        ((LOW_SLURMD, LOGIN), Status.WARN, "slurmd.service may lock 8192 KiB"),
        ((LOW_SLURMD._replace(soft_bytes=None), LOW_LOGIN), Status.PASS, "slurmd.service: without limit"),
        ((LOW_SLURMD._replace(soft_bytes=1 << 40),), Status.PASS, "slurmd.service: 1073741824 KiB"),
    ],
)
def test_limits(
    dgx: Inventory, examine: Callable[..., Any], limits: Tuple[MemoryLock, ...], status: Status, summary: str
) -> None:
    (found,) = examine(dgx._replace(memlocks=limits))
    assert (found.status, found.summary) == (status, summary)
    assert bool(found.remedy) is (status is Status.WARN)


def test_without_rdma(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx._replace(memlocks=(LOW_SLURMD,), rdma=None))
    assert found.status is Status.NA


def test_the_threshold(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx._replace(memlocks=(LOW_SLURMD,)), None, Override("memlock", "least_gib", 0.001))
    assert found.status is Status.PASS
