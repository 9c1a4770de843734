from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory, Peermem
from brctl.node.report import Status


@pytest.mark.parametrize(
    ("peermem", "release", "status", "summary"),
    [
        (Peermem(("nvidia_peermem",), False), "5.4.0", Status.PASS, "nvidia_peermem is loaded"),
        (Peermem((), True), "5.15.0-1063-nvidia", Status.PASS, "DMA-BUF: open driver on Linux 5.15.0-1063-nvidia"),
        (Peermem((), True), "5.4.0", Status.WARN, "neither nvidia-peermem nor DMA-BUF"),
        (Peermem((), False), "6.8.0", Status.WARN, "neither nvidia-peermem nor DMA-BUF"),
    ],
)
def test_ways(
    dgx: Inventory, examine: Callable[..., Any], peermem: Peermem, release: str, status: Status, summary: str
) -> None:
    assert dgx.kernel
    (found,) = examine(dgx._replace(peermem=peermem, kernel=dgx.kernel._replace(release=release)))
    assert (found.status, found.summary.partition(": RDMA goes")[0]) == (status, summary)
    assert bool(found.remedy) is (status is Status.WARN)


def test_where_it_does_not_matter(dgx: Inventory, examine: Callable[..., Any]) -> None:
    closed = dgx._replace(peermem=Peermem((), False))
    for seen in (closed._replace(rdma=()), closed._replace(gpus=(), pci=()), dgx._replace(peermem=None)):
        (found,) = examine(seen)
        assert found.status is Status.NA
    (found,) = examine(closed._replace(kernel=None))
    assert found.status is Status.WARN
