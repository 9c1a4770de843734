from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory
from brctl.node.report import Evidence, Status

Values = Callable[..., Inventory]
Examine = Callable[..., Any]


NS = 10**9


@pytest.mark.parametrize(
    "reasons", [(), ("gpu_idle",), ("sw_power_cap",), ("gpu_idle", "sw_power_cap"), ("sync_boost",)]
)
def test_load_and_settings_are_no_fault(
    well: Inventory, with_values: Values, examine: Examine, later: Any, reasons: Any
) -> None:
    (found,) = examine(later(with_values(3, telemetry={"clocks_event_reasons": reasons}), 0.1), before=well)
    assert (found.status, found.summary) == (Status.PASS, "8 of 8 GPUs: not slowed down")


@pytest.mark.parametrize(
    ("reasons", "status", "words"),
    [
        (("hw_slowdown", "hw_power_brake_slowdown"), Status.CRIT, "the power brake signal slows it down"),
        (("hw_slowdown", "hw_thermal_slowdown"), Status.CRIT, "the hardware slows it down for heat"),
        (("hw_thermal_slowdown",), Status.CRIT, "the hardware slows it down for heat"),
        (("sw_thermal_slowdown",), Status.WARN, "the driver slows it down for heat"),
        (("hw_slowdown",), Status.WARN, "the hardware slows it down, and does not say why"),
    ],
)
def test_each_reason_by_itself(with_values: Values, examine: Examine, reasons: Any, status: Status, words: str) -> None:
    (found,) = examine(with_values(3, telemetry={"clocks_event_reasons": reasons}))
    assert (found.status, found.summary) == (status, "GPU 3: " + words)
    assert found.evidence[0].value == ", ".join(reasons)


@pytest.mark.parametrize(("held_ns", "status"), [(0, Status.PASS), (NS // 200, Status.PASS), (NS // 2, Status.CRIT)])
def test_its_share_of_the_time(
    well: Inventory, with_values: Values, examine: Examine, later: Any, held_ns: int, status: Status
) -> None:
    seen = with_values(3, telemetry={"hw_thermal_slowdown_ns": 1000 * NS + held_ns})
    (found,) = examine(later(seen, 1), before=well)
    assert found.status is status
    if held_ns == NS // 2:
        assert found.evidence[1] == Evidence(
            "hw_thermal_slowdown", "50 % of 1 s, since the first sample", "nvmlDeviceGetFieldValues"
        )
