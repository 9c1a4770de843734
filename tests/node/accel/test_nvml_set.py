"""What NVML sets of a GPU, in the units of our own."""

from typing import Any, Callable, Dict

import pytest

from brctl.node.accel import AcceleratorError

Plain = Dict[str, Any]


def test_what_is_set_reads_back(dgx_h100_nvml: Plain, gpu: Callable[..., Any]) -> None:
    one = gpu(dgx_h100_nvml, 2)
    setters = one.setters()
    setters.set_persistence_mode(False)
    setters.set_power_limit(300.5)
    assert one.identity().persistence_mode is False
    assert one.limits().power_limit_watts == 300.5
    setters.lock_clocks(900, 1000)
    assert one.telemetry().sm_clock_mhz == 900
    setters.unlock_clocks()
    assert one.telemetry().sm_clock_mhz < 900
    setters.set_persistence_mode(True)
    assert one.identity().persistence_mode is True


def test_a_refusal_is_an_error_with_its_call(dgx_h100_nvml: Plain, gpu: Callable[..., Any]) -> None:
    setters = gpu(dict(dgx_h100_nvml, unprivileged=True)).setters()
    with pytest.raises(AcceleratorError, match="nvmlDeviceSetGpuLockedClocks: Insufficient Permissions") as raised:
        setters.lock_clocks(900, 1000)
    assert raised.value.kind == "permission"
