"""A mocked GPU that heats up and cools down, less at a lower power limit."""

import pytest

from brctl.mock.nvml_load import fever

GPU = {
    "index": 3,
    "fever_s": 120,
    "temperature_celsius": 30,
    "temperature_margin_celsius": 57,
    "power_average_watts": 70.0,
    "enforced_power_limit_watts": 700.0,
    "default_power_limit_watts": 700.0,
    "clocks_event_reasons": ["gpu_idle"],
}


@pytest.mark.parametrize(("age_s", "celsius"), [(0, 30), (30, 61), (60, 92), (90, 61), (120, 30), (999, 30)])
def test_it_heats_up_and_cools_down(age_s: float, celsius: int) -> None:
    assert abs(fever(GPU, 0, age_s)["temperature_celsius"] - celsius) <= 1


def test_a_lower_limit_leaves_it_cooler_and_faster() -> None:
    hot = fever(GPU, 0, 60)
    assert hot["temperature_margin_celsius"] < 0
    assert hot["clocks_event_reasons"] == ["sw_thermal_slowdown"]
    lower = fever(dict(GPU, enforced_power_limit_watts=560.0), 0, 60)
    assert (lower["temperature_celsius"], lower["power_average_watts"]) == (30 + hot_by(0.8), 560.0)
    assert lower["clocks_event_reasons"] == []


def hot_by(part: float) -> int:
    celsius: int = fever(GPU, 0, 60)["temperature_celsius"]
    return round((celsius - 30) * part)


def test_the_seed_decides() -> None:
    def course(seed: int) -> "list[int]":
        return [fever(GPU, seed, second)["temperature_celsius"] for second in range(120)]

    assert course(1) == course(1)
    assert course(1) != course(2)


def test_a_gpu_that_tells_no_margin_gets_none() -> None:
    plain = dict(GPU, temperature_margin_celsius=None)
    assert "temperature_margin_celsius" not in fever(plain, 0, 60)
