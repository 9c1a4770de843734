from typing import Any, Callable, List

import pytest

from brctl.node.facts import Clock, Inventory
from brctl.node.report import Status


@pytest.mark.parametrize(
    ("clock", "told"),
    [
        (Clock(True, "timedatectl show", "tsc"), [(Status.PASS, "set, and counted with tsc")]),
        (Clock(True, "timedatectl show", None), [(Status.PASS, "set, and counted with what is not told")]),
        (Clock(False, "timedatectl show", "tsc"), [(Status.WARN, "nobody sets the clock")]),
        (
            Clock(None, None, "tsc"),
            [(Status.NA, "nothing tells whether the clock is set; it counts with tsc")],
        ),
        (
            Clock(False, "chronyc -c tracking", "hpet"),
            [
                (Status.WARN, "nobody sets the clock"),
                (Status.WARN, "the kernel counts time with hpet, which is slow to ask"),
            ],
        ),
    ],
)
def test_clocks(dgx: Inventory, examine: Callable[..., Any], clock: Clock, told: List[Any]) -> None:
    found = examine(dgx._replace(clock=clock))
    assert [(one.status, one.summary) for one in found] == told
    assert all(bool(one.remedy) is (one.status is Status.WARN) for one in found)


def test_a_slow_one_without_gpus(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx._replace(clock=Clock(True, None, "acpi_pm"), gpus=None, pci=()))
    assert found.status is Status.INFO
