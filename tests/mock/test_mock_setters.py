"""What may be set on a GPU of the mock, by whom, and that it stays."""

from typing import Any, Callable, Dict, List

import pynvml
import pytest

from brctl.mock.nvml import install
from brctl.mock.overlay import Overlay

Nvml = Dict[str, Any]
Start = Callable[[Nvml], List[Any]]
Refuses = Callable[..., None]


def limits(handle: Any) -> List[int]:
    return [pynvml.nvmlDeviceGetPowerManagementLimit(handle), pynvml.nvmlDeviceGetEnforcedPowerLimit(handle)]


def test_a_power_limit_reads_back(dgx_h100_nvml: Nvml, start: Start) -> None:
    handle, other, *_ = start(dgx_h100_nvml)
    pynvml.nvmlDeviceSetPowerManagementLimit(handle, 300500)
    assert limits(handle) == [300500, 300500]
    assert limits(other) == [700000, 700000]
    assert pynvml.nvmlDeviceGetFieldValues(handle, [192])[0].value.uiVal == 300500


def test_a_lower_limit_that_comes_from_elsewhere_stays_in_force(dgx_h100_nvml: Nvml, start: Start) -> None:
    dgx_h100_nvml["gpus"][0]["enforced_power_limit_watts"] = 400
    handle = start(dgx_h100_nvml)[0]
    pynvml.nvmlDeviceSetPowerManagementLimit(handle, 500000)
    assert limits(handle) == [500000, 400000]
    pynvml.nvmlDeviceSetPowerManagementLimit(handle, 300000)
    assert limits(handle) == [300000, 300000]


@pytest.mark.parametrize("milliwatts", [199999, 700001, 0])
def test_a_power_limit_out_of_range(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses, milliwatts: int) -> None:
    handle = start(dgx_h100_nvml)[0]
    refuses("InvalidArgument", pynvml.nvmlDeviceSetPowerManagementLimit, handle, milliwatts)
    assert limits(handle) == [700000, 700000]


def test_who_is_not_root_sets_nothing(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses) -> None:
    handle = start(dict(dgx_h100_nvml, unprivileged=True))[0]
    refuses("NoPermission", pynvml.nvmlDeviceSetPowerManagementLimit, handle, 300000)
    refuses("NoPermission", pynvml.nvmlDeviceSetPersistenceMode, handle, 0)
    refuses("NoPermission", pynvml.nvmlDeviceResetGpuLockedClocks, handle)
    assert limits(handle) == [700000, 700000]


def test_what_a_gpu_has_not_cannot_be_set(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses) -> None:
    dgx_h100_nvml["defaults"].update(
        max_power_limit_watts=None, persistence_mode=None, compute_mode=None, mig_pending=None, ecc_pending=None,
        max_graphics_clock_mhz=None,
    )  # fmt: skip
    handle = start(dgx_h100_nvml)[0]
    refuses("NotSupported", pynvml.nvmlDeviceSetPowerManagementLimit, handle, 300000)
    refuses("NotSupported", pynvml.nvmlDeviceSetPersistenceMode, handle, 1)
    refuses("NotSupported", pynvml.nvmlDeviceSetComputeMode, handle, 1)
    refuses("NotSupported", pynvml.nvmlDeviceSetMigMode, handle, 1)
    refuses("NotSupported", pynvml.nvmlDeviceSetEccMode, handle, 1)
    refuses("NotSupported", pynvml.nvmlDeviceSetGpuLockedClocks, handle, 900, 900)
    refuses("NotSupported", pynvml.nvmlDeviceResetGpuLockedClocks, handle)


def test_modes(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses) -> None:
    handle = start(dgx_h100_nvml)[0]
    pynvml.nvmlDeviceSetPersistenceMode(handle, 0)
    pynvml.nvmlDeviceSetComputeMode(handle, 3)
    pynvml.nvmlDeviceSetEccMode(handle, 0)
    assert pynvml.nvmlDeviceGetPersistenceMode(handle) == 0
    assert pynvml.nvmlDeviceGetComputeMode(handle) == 3
    assert pynvml.nvmlDeviceGetEccMode(handle) == [1, 0]
    refuses("InvalidArgument", pynvml.nvmlDeviceSetPersistenceMode, handle, 2)
    refuses("InvalidArgument", pynvml.nvmlDeviceSetComputeMode, handle, 4)


def test_clocks_are_held_in_their_range(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses) -> None:
    handle = start(dgx_h100_nvml)[0]
    assert pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM) == 345
    pynvml.nvmlDeviceSetGpuLockedClocks(handle, 1200, 1500)
    clocks = (pynvml.NVML_CLOCK_GRAPHICS, pynvml.NVML_CLOCK_SM, pynvml.NVML_CLOCK_MEM)
    assert [pynvml.nvmlDeviceGetClockInfo(handle, clock) for clock in clocks] == [1200, 1200, 2619]
    pynvml.nvmlDeviceResetGpuLockedClocks(handle)
    assert pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM) == 345
    refuses("InvalidArgument", pynvml.nvmlDeviceSetGpuLockedClocks, handle, 1500, 1200)
    refuses("InvalidArgument", pynvml.nvmlDeviceSetGpuLockedClocks, handle, 1500, 1981)


def test_mig_waits_for_whoever_uses_the_gpu(dgx_h100_nvml: Nvml, start: Start) -> None:
    dgx_h100_nvml["gpus"][1]["processes"] = [{"pid": 7, "kind": "compute", "memory_bytes": 1}]
    idle, busy, *_ = start(dgx_h100_nvml)
    assert pynvml.nvmlDeviceSetMigMode(idle, 1) == pynvml.NVML_SUCCESS
    assert pynvml.nvmlDeviceGetMigMode(idle) == [1, 1]
    assert pynvml.nvmlDeviceSetMigMode(busy, 1) == pynvml.NVML_ERROR_IN_USE
    assert pynvml.nvmlDeviceGetMigMode(busy) == [0, 1]


def test_what_was_set_is_there_in_the_next_process(dgx_h100_nvml: Nvml) -> None:
    overlay = Overlay("m")
    install(dgx_h100_nvml, (), overlay)
    pynvml.nvmlInit()
    first = pynvml.nvmlDeviceGetHandleByIndex(3)
    pynvml.nvmlDeviceSetPowerManagementLimit(first, 300000)
    pynvml.nvmlDeviceSetGpuLockedClocks(first, 900, 900)
    pynvml.nvmlDeviceResetGpuLockedClocks(first)
    assert overlay.read("nvml:gpu3:power_limit_watts") == "300.0"
    assert overlay.read("nvml:gpu3:locked_clocks_mhz") == "null"
    install(dgx_h100_nvml, (), Overlay("m"))
    pynvml.nvmlInit()
    assert limits(pynvml.nvmlDeviceGetHandleByIndex(3)) == [300000, 300000]
    assert limits(pynvml.nvmlDeviceGetHandleByIndex(2)) == [700000, 700000]
    overlay.write("nvml:gpu3:power_limit_watts", "250")
    assert limits(pynvml.nvmlDeviceGetHandleByIndex(3)) == [250000, 250000]  # by another process, meanwhile
