from typing import Any

from brctl.node.monitor.collectors.gpu_info import COLLECTOR


def test_which_gpu_it_is(look: Any, watched: Any) -> None:
    seen = look(COLLECTOR).of(1.0, watched(power_limit_watts=500.0, enforced_power_limit_watts=450.0))
    labels = ("0000:19:00.0", "NVIDIA H100 80GB HBM3", "580.105.08", "1320000000001", "96.00.99.00.01")
    assert seen["gpu_info", labels] == 1
    assert seen["gpu_power_limit_watts", ()] == 450
    assert seen["gpu_default_power_limit_watts", ()] == 700
    assert seen["gpu_max_sm_clock_hertz", ()] == 1.98e9
    assert seen["gpu_mig_enabled", ()] == 0
    assert seen["gpu_persistence_mode", ()] == 1
    assert seen["gpu_slowdown_celsius", ()] is None


def test_what_it_does_not_tell_is_empty(look: Any, watched: Any) -> None:
    seen = look(COLLECTOR).of(1.0, watched(serial=None, mig_enabled=None))
    assert [labels[3] for name, labels in seen if name == "gpu_info"] == [""]
    assert seen["gpu_mig_enabled", ()] is None
