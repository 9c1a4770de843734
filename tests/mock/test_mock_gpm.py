"""GPM of the mock, through the real binding."""

from typing import Any, Dict

import pynvml
import pytest

from brctl.mock.nvml import install


@pytest.fixture
def handle(dgx_h100_nvml: Dict[str, Any]) -> Any:
    dgx_h100_nvml["gpus"][0].update(gpu_utilization_percent=50, memory_utilization_percent=20)
    install(dgx_h100_nvml)
    pynvml.nvmlInit()
    return pynvml.nvmlDeviceGetHandleByIndex(0)


def compared(first: Any, second: Any, *metrics: int) -> Any:
    asked = pynvml.c_nvmlGpmMetricsGet_t()
    asked.version, asked.numMetrics = 1, len(metrics)
    asked.sample1, asked.sample2 = first, second
    for place, metric in enumerate(metrics):
        asked.metrics[place].metricId = metric
    return pynvml.nvmlGpmMetricsGet(asked)


def test_two_samples_are_compared(handle: Any) -> None:
    assert pynvml.nvmlGpmQueryDeviceSupport(handle).isSupportedDevice == 1
    first, second = pynvml.nvmlGpmSampleAlloc(), pynvml.nvmlGpmSampleAlloc()
    for sample in (first, second):
        pynvml.nvmlGpmSampleGet(handle, sample)
    found = compared(first, second, 1, 10, 333)
    assert [found.metrics[place].value for place in range(3)] == [50, 20, 0]
    assert [found.metrics[place].nvmlReturn for place in range(3)] == [0, 0, pynvml.NVML_ERROR_NOT_SUPPORTED]


def test_what_was_not_taken_or_not_allocated_is_refused(handle: Any) -> None:
    first, second = pynvml.nvmlGpmSampleAlloc(), pynvml.nvmlGpmSampleAlloc()
    pynvml.nvmlGpmSampleGet(handle, first)
    for pair in ((first, second), (second, first)):
        with pytest.raises(pynvml.NVMLError_InvalidArgument):
            compared(*pair, 1)
    pynvml.nvmlGpmSampleFree(second)
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlGpmSampleFree(second)


def test_a_part_before_hopper_has_none(dgx_h100_nvml: Dict[str, Any]) -> None:
    dgx_h100_nvml["defaults"]["compute_capability"] = [8, 0]
    install(dgx_h100_nvml)
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    assert pynvml.nvmlGpmQueryDeviceSupport(handle).isSupportedDevice == 0
    with pytest.raises(pynvml.NVMLError_NotSupported):
        pynvml.nvmlGpmSampleGet(handle, pynvml.nvmlGpmSampleAlloc())


def test_a_mig_instance_is_sampled_by_its_number(dgx_h100_nvml: Dict[str, Any]) -> None:
    device = {"uuid": "MIG-1b2c3d4e-0000-4000-8000-0123456789ab", "gpu_instance_id": 2, "compute_instance_id": 0}
    device = {**device, "profile": "3g.40gb", "memory_total_bytes": 4096, "memory_used_bytes": 0, "gpm_gpu_percent": 40}
    gpu = dgx_h100_nvml["gpus"][0]
    gpu.update(mig_enabled=True, mig_devices=[device], gpu_utilization_percent=None)
    install(dgx_h100_nvml)
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    assert pynvml.nvmlGpmQueryDeviceSupport(handle).isSupportedDevice == 1
    first, second = pynvml.nvmlGpmSampleAlloc(), pynvml.nvmlGpmSampleAlloc()
    for sample in (first, second):
        pynvml.nvmlGpmMigSampleGet(handle, 2, sample)
    assert compared(first, second, 1).metrics[0].value == 40
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlGpmMigSampleGet(handle, 3, first)
    with pytest.raises(pynvml.NVMLError_NotSupported):
        pynvml.nvmlGpmSampleGet(handle, first)
