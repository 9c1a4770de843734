from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory, Memory, NumaNode
from brctl.node.report import HOST, Evidence, Finding, Status
from brctl.node.request import Expected, Override

GIB = 2**30


def test_within_five_percent(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    assert examine(dgx, declared) == (
        Finding(
            "memory-size", Status.PASS, HOST, "1.97 TiB, expected 2 TiB (within 5 %)", fold="memory-size pass host"
        ),
    )


def test_a_module_is_missing(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx._replace(memory=Memory(1888 * GIB, 0, 0)), declared)
    assert found._replace(remedy=None) == Finding(
        "memory-size",
        Status.CRIT,
        HOST,
        "1.84 TiB, expected 2 TiB",
        (
            Evidence("memory", "1.84 TiB", "MemTotal in /proc/meminfo"),
            Evidence("declared", "2 TiB", "hardware.memory"),
        ),
        fold="memory-size crit host",
    )
    assert "dmidecode" in found.remedy


@pytest.mark.parametrize(("want", "status"), [(1900, Status.WARN), (1930, Status.PASS), (2122, Status.CRIT)])
def test_more_and_less(dgx: Inventory, examine: Callable[..., Any], want: int, status: Status) -> None:
    (found,) = examine(dgx, Expected(memory_bytes=want * GIB))
    assert found.status is status


def test_the_tolerance_can_be_set(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx, declared, Override("memory-size", "tolerance", 1))
    assert found.status is Status.CRIT


def test_nothing_declared(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx)
    assert (found.status, found.summary) == (Status.NA, "1.97 TiB; none declared")


def grace(*nodes: Any, total: float) -> Inventory:
    numa = tuple(NumaNode(place, cpus, int(gib * GIB), (10,)) for place, (cpus, gib) in enumerate(nodes))
    return Inventory(memory=Memory(int(total * GIB), 0, 0), numa=numa)


def test_memory_of_gpus_is_not_the_hosts(examine: Callable[..., Any]) -> None:
    """Grace Hopper: a GPU's memory is on line as NUMA nodes without CPUs, and is in MemTotal."""
    seen = grace(("0-71", 477), ("", 96), ("", 0), total=573)
    (found,) = examine(seen, Expected(memory_bytes=480 * GIB))
    assert (found.status, found.summary) == (Status.PASS, "477 GiB, expected 480 GiB (within 5 %)")
    (found,) = examine(seen, Expected(memory_bytes=960 * GIB))
    assert found.status is Status.CRIT
    assert found.evidence == (
        Evidence("memory", "573 GiB", "MemTotal in /proc/meminfo"),
        Evidence("not counted", "96 GiB", "MemTotal of the NUMA nodes without CPUs"),
        Evidence("declared", "960 GiB", "hardware.memory"),
    )


def test_memory_that_was_plugged_in_later_counts(examine: Callable[..., Any]) -> None:
    """The node's own figure is that of the boot."""
    (found,) = examine(grace(("0-1", 3.8), total=23.5), Expected(memory_bytes=24 * GIB))
    assert (found.status, found.summary) == (Status.PASS, "23.5 GiB, expected 24 GiB (within 5 %)")


def test_a_kernel_without_numa(examine: Callable[..., Any]) -> None:
    seen = Inventory(memory=Memory(int(7.7 * GIB), 0, 0))
    (found,) = examine(seen, Expected(memory_bytes=8 * GIB))
    assert (found.status, found.summary) == (Status.PASS, "7.7 GiB, expected 8 GiB (within 5 %)")
