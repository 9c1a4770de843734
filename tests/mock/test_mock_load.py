"""Telemetry of the mock that varies in time, by seed or by a change."""

from typing import Any, Callable, Dict, List

import pynvml
import pytest

from brctl.mock import nvml_library
from brctl.mock.faults import Change
from brctl.mock.nvml import install
from brctl.mock.nvml_load import load

Nvml = Dict[str, Any]
Start = Callable[[Nvml], List[Any]]


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(nvml_library, "time", clock)
    return clock


def reading(handle: Any) -> List[float]:
    return [
        pynvml.nvmlDeviceGetUtilizationRates(handle).gpu,
        pynvml.nvmlDeviceGetPowerUsage(handle),
        pynvml.nvmlDeviceGetTemperature(handle, 0),
        pynvml.nvmlDeviceGetMemoryInfo(handle, pynvml.nvmlMemory_v2).used,
        pynvml.nvmlDeviceGetTotalEnergyConsumption(handle),
    ]


def test_without_a_seed_nothing_moves(dgx_h100_nvml: Nvml, start: Start, clock: Clock) -> None:
    handle = start(dgx_h100_nvml)[0]
    before = reading(handle)
    clock.now += 12345
    assert reading(handle) == before


def test_a_seed_makes_the_gpus_work(dgx_h100_nvml: Nvml, start: Start, clock: Clock) -> None:
    handles = start(dict(dgx_h100_nvml, seed=7))
    before = [reading(handle) for handle in handles]
    assert [reading(handle) for handle in start(dict(dgx_h100_nvml, seed=7))] == before
    assert [reading(handle) for handle in start(dict(dgx_h100_nvml, seed=8))] != before
    assert len({tuple(values) for values in before}) == 8
    seen = []
    handles = start(dict(dgx_h100_nvml, seed=7))
    for _ in range(200):
        clock.now += 1.7
        seen.append(reading(handles[0]))
    utilization, power, temperature, memory, energy = ([values[place] for values in seen] for place in range(5))
    assert min(utilization) == 0
    assert max(utilization) == 100
    assert 68570 <= min(power) < 100000
    assert 600000 < max(power) <= 700000
    assert (min(temperature), max(temperature)) == (29, 74)
    assert max(memory) < 81559 << 20
    assert energy == sorted(energy)
    idle = utilization.index(0)
    assert seen[idle][1] < 80000


def test_what_follows_from_the_load(dgx_h100_nvml: Nvml, start: Start, clock: Clock) -> None:
    dgx_h100_nvml["gpus"][0].update(temperature_margin_celsius=58, gpu_utilization_percent=None)
    handle = start(dict(dgx_h100_nvml, seed=7))[0]
    levels = {}
    for second in range(300):
        levels[load(7, 0, 1000.0 + second)] = 1000.0 + second
    clock.now = levels[max(levels)]
    assert pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM) == 1980
    assert pynvml.nvmlDeviceGetMarginTemperature(handle) == 58 - round(45 * max(levels))
    assert pynvml.nvmlDeviceGetCurrentClocksEventReasons(handle) == 0
    with pytest.raises(pynvml.NVMLError_NotSupported):  # absent stays absent
        pynvml.nvmlDeviceGetUtilizationRates(handle)
    pynvml.nvmlDeviceSetGpuLockedClocks(handle, 300, 1200)
    assert pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM) == 1200
    clock.now = levels[min(levels)]
    assert min(levels) == 0
    assert pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM) == 345
    assert pynvml.nvmlDeviceGetCurrentClocksEventReasons(handle) == pynvml.nvmlClocksEventReasonGpuIdle


def test_a_change_comes_after_some_calls_and_may_grow(dgx_h100_nvml: Nvml, clock: Clock) -> None:
    change = Change(3, 2, {"temperature_celsius": 90}, {"ecc_volatile_corrected": 5, "pcie_replay_counter": 1})
    install(dgx_h100_nvml, [change])
    pynvml.nvmlInit()
    other, handle = (pynvml.nvmlDeviceGetHandleByIndex(index) for index in (2, 3))
    temperature = pynvml.nvmlDeviceGetTemperature
    assert [temperature(handle, 0), temperature(handle, 0), temperature(handle, 0)] == [32, 32, 90]
    clock.now += 2.5
    assert pynvml.nvmlDeviceGetTotalEccErrors(handle, 0, 0) == 12
    assert pynvml.nvmlDeviceGetPcieReplayCounter(handle) == 2
    assert temperature(other, 0) == 29
