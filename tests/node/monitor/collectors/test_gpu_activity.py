from typing import Any

import pytest

from brctl.node.monitor.collectors.gpu_activity import COLLECTOR


def test_a_gpu_at_work(look: Any, watched: Any) -> None:
    gpu = watched(
        gpu_utilization_percent=97,
        memory_utilization_percent=40,
        sm_clock_mhz=1980,
        power_average_watts=640.5,
        power_instant_watts=655.25,
        energy_joules=1000.5,
        clocks_event_reasons=["sw_power_cap"],
        sw_power_cap_ns=2_500_000_000,
    )
    seen = look(COLLECTOR).of(1.0, gpu)
    assert seen["gpu_utilization_ratio", ()] == 0.97
    assert seen["gpu_memory_utilization_ratio", ()] == 0.4
    assert seen["gpu_clock_hertz", ("sm",)] == 1.98e9
    assert seen["gpu_clock_hertz", ("memory",)] == 2.619e9
    assert seen["gpu_power_average_watts", ()] == 640.5
    assert seen["gpu_power_watts", ()] == 655.25
    assert seen["gpu_energy_joules_total", ()] == 1000.5
    assert seen["gpu_clocks_event_active", ("sw_power_cap",)] == 1
    assert seen["gpu_clocks_event_active", ("gpu_idle",)] == 0
    assert seen["gpu_clocks_event_seconds_total", ("sw_power_cap",)] == 2.5
    assert not [key for key in seen if "by_energy" in key[0] or "event_ratio" in key[0]], "one look gives no rates"


def test_power_by_energy_and_the_share_of_time_slowed_down(look: Any, watched: Any, monkeypatch: Any) -> None:
    gpu, watching = watched(), look(COLLECTOR)
    seen = gpu.meter.activity()
    for now_s, energy, capped_ns in ((10.0, 5000.0, 0), (12.0, 6300.0, 500_000_000)):
        later = seen._replace(energy_joules=energy, sw_power_cap_ns=capped_ns)
        monkeypatch.setattr(gpu.meter, "activity", lambda later=later: later)
        values = watching.of(now_s, gpu)
    assert values["gpu_power_by_energy_watts", ()] == 650
    assert values["gpu_clocks_event_ratio", ("sw_power_cap",)] == 0.25
    assert values["gpu_clocks_event_ratio", ("hw_thermal_slowdown",)] == 0


def test_a_driver_that_was_loaded_anew_gives_no_rate(look: Any, watched: Any, monkeypatch: Any) -> None:
    gpu, watching = watched(), look(COLLECTOR)
    seen = gpu.meter.activity()
    for now_s, energy in ((10.0, 5000.0), (12.0, 3.0)):
        monkeypatch.setattr(gpu.meter, "activity", lambda energy=energy: seen._replace(energy_joules=energy))
        values = watching.of(now_s, gpu)
    assert ("gpu_power_by_energy_watts", ()) not in values
    assert values["gpu_energy_joules_total", ()] == 3


@pytest.mark.parametrize("key", ["gpu_utilization_percent", "power_instant_watts", "clocks_event_reasons"])
def test_what_a_gpu_does_not_tell_is_absent_and_not_zero(look: Any, watched: Any, key: str) -> None:
    values = look(COLLECTOR).of(1.0, watched(**{key: None}))
    names = {
        "gpu_utilization_percent": ("gpu_utilization_ratio", ()),
        "power_instant_watts": ("gpu_power_watts", ()),
        "clocks_event_reasons": ("gpu_clocks_event_active", ("gpu_idle",)),
    }
    assert values[names[key]] is None


def test_a_zero_that_was_measured_stays_one(look: Any, watched: Any) -> None:
    assert look(COLLECTOR).of(1.0, watched(gpu_utilization_percent=0))["gpu_utilization_ratio", ()] == 0


def test_more_than_all_of_the_time_is_no_utilisation(look: Any, watched: Any) -> None:
    assert look(COLLECTOR).of(1.0, watched(gpu_utilization_percent=4711))["gpu_utilization_ratio", ()] is None
