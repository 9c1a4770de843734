from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory, Memory
from brctl.node.report import HOST, Evidence, Finding, Status
from brctl.node.request import Expected, Override

GIB = 2**30


def test_within_five_percent(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    assert examine(dgx, declared) == (
        Finding("memory-size", Status.PASS, HOST, "1.97 TiB, expected 2 TiB", fold="memory-size pass host"),
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
