"""What the mock answers in structures, lists and fields that differ between drivers and parts."""

import ctypes
from typing import Any, Callable, Dict, List

import pynvml
import pytest

Nvml = Dict[str, Any]
Start = Callable[[Nvml], List[Any]]
Refuses = Callable[..., None]
PROCESSES = [{"pid": pid, "kind": "compute", "memory_bytes": pid << 20} for pid in (4242, 4243, 4244)]


def fields(handle: Any, *ids: Any) -> List[Any]:
    return [answer.nvmlReturn or answer.value.ullVal for answer in pynvml.nvmlDeviceGetFieldValues(handle, list(ids))]


def test_temperatures_by_margin_and_by_threshold(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses) -> None:
    new, old = dgx_h100_nvml["gpus"][:2]
    new.update(temperature_margin_celsius=-3, shutdown_tlimit_celsius=-8, slowdown_tlimit_celsius=-2)
    none = dict.fromkeys(key for key in dgx_h100_nvml["defaults"] if key.endswith("_tlimit_celsius"))
    old.update(none, temperature_margin_celsius=None, shutdown_threshold_celsius=92, slowdown_threshold_celsius=89)
    handle, other, *_ = start(dgx_h100_nvml)
    assert pynvml.nvmlDeviceGetMarginTemperature(handle) == -3
    shutdown, slowdown = pynvml.nvmlDeviceGetFieldValues(handle, [193, 194])
    assert (shutdown.valueType, shutdown.value.siVal) == (pynvml.NVML_VALUE_TYPE_SIGNED_INT, -8)
    assert slowdown.value.siVal == -2
    refuses("NotSupported", pynvml.nvmlDeviceGetTemperatureThreshold, handle, 0)
    assert [pynvml.nvmlDeviceGetTemperatureThreshold(other, kind) for kind in (0, 1)] == [92, 89]
    refuses("NotSupported", pynvml.nvmlDeviceGetMarginTemperature, other)
    assert fields(other, 193) == [pynvml.NVML_ERROR_NOT_SUPPORTED]
    wrong = pynvml.c_nvmlMarginTemperature_v1_t(version=7)
    answer = pynvml.nvmlLib.nvmlDeviceGetMarginTemperature(handle, ctypes.byref(wrong))
    assert answer == pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH


def test_sram_errors_by_how_they_were_found(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses) -> None:
    dgx_h100_nvml["gpus"][0].update(
        sram_volatile_corrected=1, sram_volatile_parity=2, sram_volatile_secded=3,
        sram_aggregate_corrected=4, sram_aggregate_parity=5, sram_aggregate_secded=6, sram_threshold_exceeded=True,
    )  # fmt: skip
    dgx_h100_nvml["gpus"][1]["sram_threshold_exceeded"] = None
    handle, other, *_ = start(dgx_h100_nvml)
    status = pynvml.c_nvmlEccSramErrorStatus_v1_t()
    pynvml.nvmlDeviceGetSramEccErrorStatus(handle, ctypes.byref(status))
    assert (status.volatileCor, status.volatileUncParity, status.volatileUncSecDed) == (1, 2, 3)
    assert (status.aggregateCor, status.aggregateUncParity, status.aggregateUncSecDed) == (4, 5, 6)
    assert status.bThresholdExceeded == 1
    refuses("NotSupported", pynvml.nvmlDeviceGetSramEccErrorStatus, other, ctypes.byref(status))
    status.version = 1
    refuses("ArgumentVersionMismatch", pynvml.nvmlDeviceGetSramEccErrorStatus, handle, ctypes.byref(status))


def test_the_fabric(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses) -> None:
    uuid = "0f0e0d0c-0b0a-4909-8807-060504030201"
    well, ill, none = dgx_h100_nvml["gpus"][:3]
    well.update(fabric_state="completed", fabric_clique_id=3, fabric_cluster_uuid=uuid, fabric_health=[])
    wrong = ["degraded-bandwidth", "route-unhealthy", "incorrect-configuration"]
    ill.update(fabric_state="completed", fabric_status=999, fabric_cluster_uuid=None, fabric_health=wrong)
    none.update(fabric_state=None)
    handles = start(dgx_h100_nvml)

    def info(place: int, kind: Any) -> Any:
        structure = kind()
        pynvml.nvmlDeviceGetGpuFabricInfoV(handles[place], ctypes.byref(structure))
        return structure

    found = info(0, pynvml.c_nvmlGpuFabricInfo_v3_t)
    assert (found.state, found.status, found.cliqueId, found.healthSummary) == (3, 0, 3, 1)
    assert bytes(found.clusterUuid).hex() == uuid.replace("-", "")
    assert found.healthMask == 0b01_10_10_10_10
    found = info(1, pynvml.c_nvmlGpuFabricInfo_v2_t)
    assert (found.state, found.status, bytes(found.clusterUuid)) == (3, 999, bytes(16))
    assert found.healthMask == 0b0100_10_01_10_01
    refuses("NotSupported", info, 2, pynvml.c_nvmlGpuFabricInfo_v3_t)
    refuses("ArgumentVersionMismatch", info, 0, lambda: pynvml.c_nvmlGpuFabricInfo_v2_t.from_buffer(bytearray(64)))


def test_an_inforom_that_is_corrupt(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses) -> None:
    dgx_h100_nvml["defaults"].update(inforom_image_version="G520.0200.00.05", inforom_valid=True)
    dgx_h100_nvml["gpus"][1]["inforom_valid"] = False
    well, ill, *_ = start(dgx_h100_nvml)
    assert pynvml.nvmlDeviceGetInforomImageVersion(well) == "G520.0200.00.05"
    assert pynvml.nvmlDeviceGetInforomConfigurationChecksum(well) > 0
    pynvml.nvmlDeviceValidateInforom(well)
    refuses("CorruptedInforom", pynvml.nvmlDeviceGetInforomImageVersion, ill)
    refuses("CorruptedInforom", pynvml.nvmlDeviceGetInforomConfigurationChecksum, ill)
    refuses("CorruptedInforom", pynvml.nvmlDeviceValidateInforom, ill)


def test_counters_of_links(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses) -> None:
    dgx_h100_nvml["gpus"][0].update(
        nvlinks_down=[2], nvlink_tx_kib=1 << 40, nvlink_rx_kib=7, nvlink_replay_errors=1, nvlink_recovery_errors=2,
        nvlink_crc_errors=3,
    )  # fmt: skip
    handle = start(dgx_h100_nvml)[0]
    assert fields(handle, (138, 0), (139, 17), (161, 1), (162, 1), (163, 1)) == [1 << 40, 7, 1, 2, 3]
    assert fields(handle, (138, 18)) == [pynvml.NVML_ERROR_INVALID_ARGUMENT]
    assert fields(handle, (138, 2)) == [pynvml.NVML_ERROR_NOT_SUPPORTED]
    assert [pynvml.nvmlDeviceGetNvLinkErrorCounter(handle, 0, counter) for counter in (0, 1, 2)] == [1, 2, 3]
    refuses("InvalidArgument", pynvml.nvmlDeviceGetNvLinkErrorCounter, handle, 0, 9)


@pytest.mark.parametrize(
    ("driver", "low", "high", "action"),
    [("580.105.08", 1, 22, True), ("575.57.08", 22, 2, True), ("550.90.07", 2, 2, True), ("535.183.01", 2, 2, False)],
)
def test_field_ids_that_moved_between_drivers(
    dgx_h100_nvml: Nvml, start: Start, driver: str, low: int, high: int, action: bool
) -> None:
    dgx_h100_nvml.update(driver_version=driver)
    dgx_h100_nvml["defaults"]["hw_thermal_slowdown_ns"] = 22
    handle = start(dgx_h100_nvml)[0]
    answers = pynvml.nvmlDeviceGetFieldValues(handle, [252, 270, 230])
    values = [answer.nvmlReturn or answer.value.uiVal for answer in answers]
    assert values == [low, high, 0 if action else pynvml.NVML_ERROR_INVALID_ARGUMENT]


@pytest.mark.parametrize(("driver", "right"), [("535.54.03", False), ("535.86.10", True), ("580.105.08", True)])
def test_process_structures_that_are_longer_than_the_header_says(
    dgx_h100_nvml: Nvml, start: Start, refuses: Refuses, driver: str, right: bool
) -> None:
    dgx_h100_nvml.update(driver_version=driver)
    dgx_h100_nvml["gpus"][0]["processes"] = PROCESSES
    handle = start(dgx_h100_nvml)[0]
    pids = [process.pid for process in pynvml.nvmlDeviceGetComputeRunningProcesses_v3(handle)]
    assert pids[0] == 4242
    assert (pids == [4242, 4243, 4244]) == right
    assert [process.pid for process in pynvml.nvmlDeviceGetComputeRunningProcesses_v2(handle)] == [4242, 4243, 4244]
    arguments = (handle, pynvml.nvmlProcessDetailList_v1, 0)
    if right:
        details = pynvml.nvmlDeviceGetRunningProcessDetailList(*arguments)
        assert [(process.pid, process.usedGpuMemory) for process in details][2] == (4244, 4244 << 20)
    else:
        refuses("FunctionNotFound", pynvml.nvmlDeviceGetRunningProcessDetailList, *arguments)


def test_process_details_by_mode(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses) -> None:
    dgx_h100_nvml["gpus"][0]["processes"] = [dict(PROCESSES[0], kind="graphics")]
    handle = start(dgx_h100_nvml)[0]
    version = pynvml.nvmlProcessDetailList_v1
    assert pynvml.nvmlDeviceGetRunningProcessDetailList(handle, version, pynvml.NVML_PROCESS_MODE_COMPUTE) == []
    (process,) = pynvml.nvmlDeviceGetRunningProcessDetailList(handle, version, pynvml.NVML_PROCESS_MODE_GRAPHICS)
    assert process.pid == 4242
    refuses("InvalidArgument", pynvml.nvmlDeviceGetRunningProcessDetailList, handle, version, 3)


def test_retired_pages_with_their_times(dgx_h100_nvml: Nvml, start: Start) -> None:
    dgx_h100_nvml["defaults"].update(retired_pages_sbe=2, retired_pages_pending=True)
    handle = start(dgx_h100_nvml)[0]
    assert pynvml.nvmlDeviceGetRetiredPages_v2(handle, 0)[1] == {"address": 0x1000, "timestamp": 0}
    assert pynvml.nvmlDeviceGetRetiredPagesPendingStatus(handle) == 1


def test_virtualization(dgx_h100_nvml: Nvml, start: Start) -> None:
    dgx_h100_nvml["gpus"][0]["virtualization_mode"] = "vgpu"
    assert pynvml.nvmlDeviceGetVirtualizationMode(start(dgx_h100_nvml)[0]) == pynvml.NVML_GPU_VIRTUALIZATION_MODE_VGPU


def test_mig_devices(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses) -> None:
    uuid = "MIG-1b2c3d4e-0000-4000-8000-0123456789a{}"
    instance = {"gpu_instance_id": 2, "compute_instance_id": 0}
    size = {"memory_total_bytes": 40448 << 20, "memory_used_bytes": 26 << 20}
    whole = {"uuid": uuid.format(1), "profile": "3g.40gb", "multiprocessors": 60, **instance, **size}
    part = dict(whole, uuid=uuid.format(2), profile="1c.3g.40gb", gpu_instance_id=3)
    dgx_h100_nvml["gpus"][0].update(
        mig_enabled=True, mig_devices=[whole, part], processes=[dict(PROCESSES[0], **instance), PROCESSES[1]]
    )
    dgx_h100_nvml["gpus"][2]["mig_enabled"] = None
    parent, off, never, *_ = start(dgx_h100_nvml)
    device = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(parent, 0)
    assert pynvml.nvmlDeviceGetName(device) == "NVIDIA H100 80GB HBM3 MIG 3g.40gb"
    assert pynvml.nvmlDeviceGetUUID(device) == uuid.format(1)
    assert pynvml.nvmlDeviceIsMigDeviceHandle(device).value == 1
    assert (pynvml.nvmlDeviceGetGpuInstanceId(device), pynvml.nvmlDeviceGetComputeInstanceId(device)) == (2, 0)
    assert pynvml.nvmlDeviceGetMemoryInfo(device).used == 26 << 20
    attributes = pynvml.nvmlDeviceGetAttributes_v2(device)
    assert (attributes.multiprocessorCount, attributes.memorySizeMB) == (60, 40448)
    assert (attributes.gpuInstanceSliceCount, attributes.computeInstanceSliceCount) == (3, 3)
    assert [process.pid for process in pynvml.nvmlDeviceGetComputeRunningProcesses(device)] == [4242]
    both = pynvml.nvmlDeviceGetComputeRunningProcesses(parent)
    assert [process.gpuInstanceId for process in both] == [2, 0xFFFFFFFF]
    refuses("NotSupported", pynvml.nvmlDeviceGetPowerUsage, device)
    assert pynvml.nvmlDeviceGetIndex(pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device)) == 0
    second = pynvml.nvmlDeviceGetHandleByUUID(uuid.format(2))
    assert pynvml.nvmlDeviceGetAttributes_v2(second).computeInstanceSliceCount == 1
    refuses("NotFound", pynvml.nvmlDeviceGetMigDeviceHandleByIndex, parent, 2)
    refuses("NotFound", pynvml.nvmlDeviceGetMigDeviceHandleByIndex, off, 0)
    refuses("NotSupported", pynvml.nvmlDeviceGetMigDeviceHandleByIndex, never, 0)
