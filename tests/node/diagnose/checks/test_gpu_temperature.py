from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory
from brctl.node.report import Status

Values = Callable[..., Inventory]
Examine = Callable[..., Any]


def test_a_margin_counts_down(well: Inventory, examine: Examine) -> None:
    (found,) = examine(well)
    assert (found.status, found.summary) == (Status.PASS, "8 of 8 GPUs: more than 3 C left")


@pytest.mark.parametrize(
    ("margin", "status", "words"),
    [
        (4, Status.PASS, "8 of 8 GPUs: more than 3 C left"),
        (3, Status.WARN, "GPU 3: 3 C left until it slows down"),
        (0, Status.CRIT, "GPU 3: hot: 0 C past its limit"),
        (-5, Status.CRIT, "GPU 3: hot: 5 C past its limit"),
    ],
)
def test_a_small_margin(with_values: Values, examine: Examine, margin: int, status: Status, words: str) -> None:
    seen = with_values(3, telemetry={"temperature_margin_celsius": margin, "temperature_celsius": 87})
    (found,) = examine(seen)
    assert (found.status, found.summary) == (status, words)
    if status is not Status.PASS:
        assert [item.value for item in found.evidence] == ["87 C", "{} C".format(margin)]


@pytest.mark.parametrize(("celsius", "status"), [(85, Status.PASS), (87, Status.WARN), (89, Status.CRIT)])
def test_a_part_that_tells_no_margin(with_values: Values, examine: Examine, celsius: int, status: Status) -> None:
    telemetry = {"temperature_margin_celsius": None, "temperature_celsius": celsius}
    (found,) = examine(with_values(3, telemetry=telemetry, limits={"slowdown_celsius": 89}))
    assert found.status is status


def test_neither_margin_nor_limit(with_values: Values, examine: Examine) -> None:
    (found,) = examine(with_values(3, telemetry={"temperature_margin_celsius": None, "temperature_celsius": 99}))
    assert (found.status, found.summary) == (Status.PASS, "7 of 8 GPUs: more than 3 C left")
