from typing import Any

from brctl.node.monitor.collectors.gpu_temperature import COLLECTOR


def test_temperatures_and_margin(look: Any, watched: Any) -> None:
    gpu = watched(temperature_celsius=71, memory_temperature_celsius=83, temperature_margin_celsius=16)
    assert look(COLLECTOR).of(1.0, gpu) == {
        ("gpu_temperature_celsius", ()): 71,
        ("gpu_memory_temperature_celsius", ()): 83,
        ("gpu_temperature_margin_celsius", ()): 16,
        ("gpu_performance_state", ()): 0,
    }


def test_a_part_without_such_sensors(look: Any, watched: Any) -> None:
    gpu = watched(memory_temperature_celsius=None, temperature_margin_celsius=0, performance_state=32)
    seen = look(COLLECTOR).of(1.0, gpu)
    assert seen["gpu_memory_temperature_celsius", ()] is None
    assert seen["gpu_temperature_margin_celsius", ()] is None, "0 is what a part without a margin tells"
    assert seen["gpu_performance_state", ()] is None
