"""Functions of the mock that answer an error, or do not answer."""

from typing import Any, Callable, Dict, List

import pynvml
import pytest

from brctl.mock import nvml_errors
from brctl.mock.nvml import InvalidNvmlError, check, install

Nvml = Dict[str, Any]
Start = Callable[[Nvml], List[Any]]
Refuses = Callable[..., None]


def test_a_function_of_one_gpu_fails(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses) -> None:
    dgx_h100_nvml["gpus"][3]["errors"] = {"nvmlDeviceGetPowerUsage": "NVML_ERROR_TIMEOUT"}
    handles = start(dgx_h100_nvml)
    refuses("Timeout", pynvml.nvmlDeviceGetPowerUsage, handles[3])
    assert pynvml.nvmlDeviceGetPowerUsage(handles[2]) == 67450
    assert pynvml.nvmlDeviceGetTemperature(handles[3], 0) == 32


def test_the_first_pattern_that_fits_decides(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses) -> None:
    dgx_h100_nvml["defaults"]["errors"] = {
        "nvmlDeviceGetName": {"error": "NVML_ERROR_UNKNOWN", "until": 0},
        "nvmlDeviceGet*": "NVML_ERROR_GPU_IS_LOST",
    }
    handle = start(dgx_h100_nvml)[0]
    assert pynvml.nvmlDeviceGetName(handle) == "NVIDIA H100 80GB HBM3"
    refuses("GpuIsLost", pynvml.nvmlDeviceGetSerial, handle)
    refuses("GpuIsLost", pynvml.nvmlDeviceGetBoardId, handle)  # also what the mock does not have


def test_after_and_until_count_calls_that_fit(dgx_h100_nvml: Nvml, start: Start) -> None:
    dgx_h100_nvml["gpus"][0]["errors"] = {"*Serial": {"error": "NVML_ERROR_UNKNOWN", "after": 2, "until": 4}}
    handle = start(dgx_h100_nvml)[0]

    def answers() -> bool:
        pynvml.nvmlDeviceGetName(handle)
        try:
            return bool(pynvml.nvmlDeviceGetSerial(handle))
        except pynvml.NVMLError_Unknown:
            return False

    assert [answers() for _ in range(6)] == [True, True, False, False, True, True]


def test_by_chance_is_the_same_for_a_seed(dgx_h100_nvml: Nvml, start: Start) -> None:
    dgx_h100_nvml["defaults"]["errors"] = {"nvmlDeviceGetSerial": {"error": "NVML_ERROR_UNKNOWN", "probability": 0.3}}

    def fails(handle: Any) -> bool:
        try:
            return not pynvml.nvmlDeviceGetSerial(handle)
        except pynvml.NVMLError_Unknown:
            return True

    def failures(seed: int, index: int) -> List[int]:
        handle = start(dict(dgx_h100_nvml, seed=seed))[index]
        return [number for number in range(200) if fails(handle)]

    first = failures(1, 0)
    assert 30 < len(first) < 90
    assert failures(1, 0) == first
    assert failures(2, 0) != first
    assert failures(1, 1) != first


def test_a_handle_is_refused_only_where_the_pattern_says_so(
    dgx_h100_nvml: Nvml, start: Start, refuses: Refuses
) -> None:
    dgx_h100_nvml["gpus"][0]["errors"] = {"*": "NVML_ERROR_GPU_IS_LOST"}
    handle = start(dgx_h100_nvml)[0]
    refuses("GpuIsLost", pynvml.nvmlDeviceGetName, handle)
    dgx_h100_nvml["gpus"][0]["errors"] = {"nvmlDeviceGetHandle*": "NVML_ERROR_NO_PERMISSION"}
    install(dgx_h100_nvml)
    pynvml.nvmlInit()
    assert pynvml.nvmlDeviceGetCount() == 8
    refuses("NoPermission", pynvml.nvmlDeviceGetHandleByIndex, 0)
    refuses("NoPermission", pynvml.nvmlDeviceGetHandleByUUID, dgx_h100_nvml["gpus"][0]["uuid"])
    refuses("NoPermission", pynvml.nvmlDeviceGetHandleBySerial, dgx_h100_nvml["gpus"][0]["serial"])
    refuses("NoPermission", pynvml.nvmlDeviceGetHandleByPciBusId, dgx_h100_nvml["gpus"][0]["pci_bus_id"])
    assert pynvml.nvmlDeviceGetIndex(pynvml.nvmlDeviceGetHandleByIndex(4)) == 4


def test_a_call_that_hangs(dgx_h100_nvml: Nvml, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: List[float] = []
    monkeypatch.setattr(nvml_errors.time, "sleep", slept.append)
    dgx_h100_nvml["gpus"][3]["errors"] = {"*": {"error": "hang", "after": 1}}
    handles = start(dgx_h100_nvml)
    pynvml.nvmlDeviceGetIndex(handles[3])
    assert slept == []
    pynvml.nvmlDeviceGetIndex(handles[3])
    pynvml.nvmlDeviceGetIndex(handles[4])
    assert slept == [3600.0]


@pytest.mark.parametrize(
    ("name", "error"),
    [("DRIVER_NOT_LOADED", "DriverNotLoaded"), ("LIB_RM_VERSION_MISMATCH", "LibRmVersionMismatch"),
     ("NO_PERMISSION", "NoPermission")],
)  # fmt: skip
def test_the_library_as_a_whole_fails(dgx_h100_nvml: Nvml, refuses: Refuses, name: str, error: str) -> None:
    dgx_h100_nvml["errors"] = {"nvmlInit*": "NVML_ERROR_" + name}
    install(dgx_h100_nvml)
    refuses(error, pynvml.nvmlInit)


@pytest.mark.parametrize(
    "wrong",
    [["nvmlInit"], {"nvmlInit": "ERROR_UNKNOWN"}, {"nvmlInit": {"after": 1}}, {"nvmlInit": {"error": "hang", "x": 1}}],
)
def test_wrong_errors_are_refused(dgx_h100_nvml: Nvml, wrong: Any) -> None:
    dgx_h100_nvml["errors"] = wrong
    with pytest.raises(InvalidNvmlError, match=r"nvml[.]errors: an object, of each pattern a name of nvmlReturn_t"):
        check(dgx_h100_nvml)
