"""The mock by bare pynvml: what any program that uses the binding sees."""

import ctypes
import re
from pathlib import Path
from typing import Any, Callable, Dict, List

import pynvml
import pytest

from brctl.mock import nvml, nvml_answer, nvml_events, nvml_words
from brctl.mock.nvml import InvalidNvmlError, check, install

Nvml = Dict[str, Any]
Start = Callable[[Nvml], List[Any]]
Refuses = Callable[..., None]


def test_the_library_as_a_whole(dgx_h100_nvml: Nvml, start: Start) -> None:
    assert len(start(dgx_h100_nvml)) == 8
    assert pynvml.nvmlSystemGetDriverVersion() == "580.105.08"
    assert pynvml.nvmlSystemGetNVMLVersion() == "13.580.105.08"
    assert pynvml.nvmlSystemGetCudaDriverVersion() == 13000
    assert pynvml.nvmlSystemGetCudaDriverVersion_v2() == 13000


def test_identifiers(dgx_h100_nvml: Nvml, start: Start) -> None:
    handle, want = start(dgx_h100_nvml)[3], dgx_h100_nvml["gpus"][3]
    assert pynvml.nvmlDeviceGetUUID(handle) == want["uuid"]
    assert pynvml.nvmlDeviceGetSerial(handle) == want["serial"]
    assert pynvml.nvmlDeviceGetIndex(handle) == 3
    assert pynvml.nvmlDeviceGetMinorNumber(handle) == 3
    assert pynvml.nvmlDeviceGetName(handle) == "NVIDIA H100 80GB HBM3"
    assert pynvml.nvmlDeviceGetVbiosVersion(handle) == "96.00.99.00.01"
    assert pynvml.nvmlDeviceGetBoardPartNumber(handle) == "692-2G520-0200-000"
    assert pynvml.nvmlDeviceGetGspFirmwareVersion(handle) == b"580.105.08"
    assert pynvml.nvmlDeviceGetCudaComputeCapability(handle) == (9, 0)
    assert pynvml.nvmlDeviceIsMigDeviceHandle(handle).value == 0


def test_the_pci_address_has_both_spellings(dgx_h100_nvml: Nvml, start: Start) -> None:
    dgx_h100_nvml["gpus"][0]["pci_bus_id"] = "10000:1b:00.0"
    info = pynvml.nvmlDeviceGetPciInfo(start(dgx_h100_nvml)[0])
    assert (info.busId, info.busIdLegacy) == ("00010000:1B:00.0", "0000:1B:00.0")
    assert (info.domain, info.bus, info.device) == (0x10000, 0x1B, 0)
    assert (info.pciDeviceId, info.pciSubSystemId) == (0x233010DE, 0x16C110DE)


def test_telemetry(dgx_h100_nvml: Nvml, start: Start) -> None:
    dgx_h100_nvml["defaults"].update(
        gpu_utilization_percent=91,
        memory_utilization_percent=47,
        clocks_event_reasons=["sw_power_cap", "hw_power_brake_slowdown"],
    )
    handle = start(dgx_h100_nvml)[0]
    rates = pynvml.nvmlDeviceGetUtilizationRates(handle)
    assert (rates.gpu, rates.memory) == (91, 47)
    assert pynvml.nvmlDeviceGetEncoderUtilization(handle)[0] == 0
    assert pynvml.nvmlDeviceGetDecoderUtilization(handle)[0] == 0
    assert pynvml.nvmlDeviceGetPowerUsage(handle) == 68570
    assert pynvml.nvmlDeviceGetTotalEnergyConsumption(handle) == dgx_h100_nvml["gpus"][0]["energy_joules"] * 1000
    assert pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU) == 29
    assert pynvml.nvmlDeviceGetTemperatureV(handle, pynvml.NVML_TEMPERATURE_GPU) == 29
    assert [pynvml.nvmlDeviceGetClockInfo(handle, clock) for clock in range(4)] == [345, 345, 2619, 765]
    assert [pynvml.nvmlDeviceGetMaxClockInfo(handle, clock) for clock in range(4)] == [1980, 1980, 2619, 1545]
    assert pynvml.nvmlDeviceGetPerformanceState(handle) == 0
    assert pynvml.nvmlDeviceGetCurrentClocksEventReasons(handle) == 0x84
    assert pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle) == 0x84
    assert [pynvml.nvmlDeviceGetPcieThroughput(handle, way) for way in (0, 1)] == [502, 578]


def test_modes_and_limits(dgx_h100_nvml: Nvml, start: Start) -> None:
    handle = start(dgx_h100_nvml)[0]
    assert pynvml.nvmlDeviceGetMigMode(handle) == [0, 0]
    assert pynvml.nvmlDeviceGetMaxMigDeviceCount(handle) == 7
    assert pynvml.nvmlDeviceGetEccMode(handle) == [1, 1]
    assert pynvml.nvmlDeviceGetPersistenceMode(handle) == 1
    assert pynvml.nvmlDeviceGetComputeMode(handle) == 0
    assert pynvml.nvmlDeviceGetPowerManagementLimitConstraints(handle) == [200000, 700000]
    assert pynvml.nvmlDeviceGetPowerManagementDefaultLimit(handle) == 700000
    assert pynvml.nvmlDeviceGetPowerManagementLimit(handle) == 700000
    assert pynvml.nvmlDeviceGetEnforcedPowerLimit(handle) == 700000
    assert pynvml.nvmlDeviceGetRemappedRows(handle) == (0, 0, 0, 0)


def test_memory_by_both_versions(dgx_h100_nvml: Nvml, start: Start) -> None:
    dgx_h100_nvml["defaults"].update(
        memory_total_bytes=1000, memory_reserved_bytes=100, memory_used_bytes=300, bar1_total_bytes=9, bar1_used_bytes=4
    )
    handle = start(dgx_h100_nvml)[0]
    old = pynvml.nvmlDeviceGetMemoryInfo(handle)
    new = pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2)
    bar1 = pynvml.nvmlDeviceGetBAR1MemoryInfo(handle)
    assert (old.total, old.used, old.free) == (1000, 400, 600)
    assert (new.total, new.reserved, new.used, new.free) == (1000, 100, 300, 600)
    assert (bar1.bar1Total, bar1.bar1Used, bar1.bar1Free) == (9, 4, 5)


def test_structures_of_another_version_are_refused(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses) -> None:
    handle = start(dgx_h100_nvml)[0]
    refuses("ArgumentVersionMismatch", pynvml.nvmlDeviceGetMemoryInfo, handle, 0x01000028)
    temperature = pynvml.c_nvmlTemperature_v1_t(version=2)
    answer = pynvml.nvmlLib.nvmlDeviceGetTemperatureV(handle, ctypes.byref(temperature))
    assert answer == pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH
    temperature = pynvml.c_nvmlTemperature_v1_t(version=pynvml.nvmlTemperature_v1, sensorType=1)
    answer = pynvml.nvmlLib.nvmlDeviceGetTemperatureV(handle, ctypes.byref(temperature))
    assert answer == pynvml.NVML_ERROR_INVALID_ARGUMENT


def test_null_and_absent_are_not_supported(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses) -> None:
    handle = start(dgx_h100_nvml)[0]
    refuses("NotSupported", pynvml.nvmlDeviceGetFanSpeed, handle)
    refuses("NotSupported", pynvml.nvmlDeviceGetNumFans, handle)
    refuses("NotSupported", pynvml.nvmlDeviceGetRetiredPages, handle, 0)


def test_fans(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses) -> None:
    dgx_h100_nvml["defaults"]["fan_speeds_percent"] = [30, 110]
    handle = start(dgx_h100_nvml)[0]
    assert pynvml.nvmlDeviceGetNumFans(handle) == 2
    assert pynvml.nvmlDeviceGetFanSpeed(handle) == 30
    assert pynvml.nvmlDeviceGetFanSpeed_v2(handle, 1) == 110
    refuses("InvalidArgument", pynvml.nvmlDeviceGetFanSpeed_v2, handle, 2)


def test_a_choice_that_there_is_not_is_an_invalid_argument(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses) -> None:
    handle = start(dgx_h100_nvml)[0]
    refuses("InvalidArgument", pynvml.nvmlDeviceGetClockInfo, handle, 4)
    refuses("InvalidArgument", pynvml.nvmlDeviceGetTotalEccErrors, handle, 2, 0)
    refuses("InvalidArgument", pynvml.nvmlDeviceGetRetiredPages, handle, 2)


def test_ecc_counters_are_told_apart(dgx_h100_nvml: Nvml, start: Start) -> None:
    dgx_h100_nvml["defaults"].update(
        ecc_volatile_corrected=1, ecc_volatile_uncorrected=2, ecc_aggregate_corrected=3, ecc_aggregate_uncorrected=4
    )
    handle = start(dgx_h100_nvml)[0]
    corrected, uncorrected = pynvml.NVML_MEMORY_ERROR_TYPE_CORRECTED, pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED
    assert pynvml.nvmlDeviceGetTotalEccErrors(handle, corrected, pynvml.NVML_VOLATILE_ECC) == 1
    assert pynvml.nvmlDeviceGetTotalEccErrors(handle, uncorrected, pynvml.NVML_VOLATILE_ECC) == 2
    assert pynvml.nvmlDeviceGetTotalEccErrors(handle, corrected, pynvml.NVML_AGGREGATE_ECC) == 3
    assert pynvml.nvmlDeviceGetTotalEccErrors(handle, uncorrected, pynvml.NVML_AGGREGATE_ECC) == 4


def test_links_end_with_an_invalid_argument(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses) -> None:
    dgx_h100_nvml["gpus"][0]["nvlinks_down"] = [17]
    dgx_h100_nvml["gpus"][1]["nvlinks"] = None
    handle, other, *_ = start(dgx_h100_nvml)
    assert [pynvml.nvmlDeviceGetNvLinkState(handle, link) for link in range(18)] == [1] * 17 + [0]
    assert pynvml.nvmlDeviceGetNvLinkVersion(handle, 16) == pynvml.NVML_NVLINK_VERSION_4_0
    refuses("NotSupported", pynvml.nvmlDeviceGetNvLinkVersion, handle, 17)
    refuses("InvalidArgument", pynvml.nvmlDeviceGetNvLinkState, handle, 18)
    refuses("NotSupported", pynvml.nvmlDeviceGetNvLinkState, other, 0)


def test_field_values_have_their_own_codes_and_leftovers(dgx_h100_nvml: Nvml, start: Start) -> None:
    handle = start(dgx_h100_nvml)[0]
    dgx_h100_nvml["defaults"]["recovery_action"] = None
    memory, recovery, unknown, energy = pynvml.nvmlDeviceGetFieldValues(handle, [82, 230, 9999, (83, 0)])
    assert (memory.nvmlReturn, memory.valueType, memory.value.uiVal) == (0, pynvml.NVML_VALUE_TYPE_UNSIGNED_INT, 37)
    assert memory.value.ullVal == 0xA5A5A5A500000000 + 37
    assert (recovery.nvmlReturn, recovery.value.siVal) == (0, 0)  # what was installed does not change any more
    assert unknown.nvmlReturn == pynvml.NVML_ERROR_INVALID_ARGUMENT
    assert unknown.value.ullVal != 0
    assert energy.value.ullVal == dgx_h100_nvml["gpus"][0]["energy_joules"] * 1000


def test_a_field_without_a_value_is_not_supported(dgx_h100_nvml: Nvml, start: Start) -> None:
    dgx_h100_nvml["defaults"]["recovery_action"] = None
    (recovery,) = pynvml.nvmlDeviceGetFieldValues(start(dgx_h100_nvml)[0], [230])
    assert recovery.nvmlReturn == pynvml.NVML_ERROR_NOT_SUPPORTED


PROCESSES = [
    {"pid": 4242, "kind": "compute", "memory_bytes": 1 << 30},
    {"pid": 4243, "kind": "compute", "memory_bytes": None},
    {"pid": 77, "kind": "graphics", "memory_bytes": 5},
]


def test_processes(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses) -> None:
    dgx_h100_nvml["gpus"][0]["processes"] = PROCESSES
    handle, idle, *_ = start(dgx_h100_nvml)
    for version in ("", "_v2", "_v3"):
        compute = getattr(pynvml, "nvmlDeviceGetComputeRunningProcesses" + version)(handle)
        assert [(process.pid, process.usedGpuMemory) for process in compute] == [(4242, 1 << 30), (4243, None)]
        assert compute[0].gpuInstanceId == 0xFFFFFFFF
    assert [process.pid for process in pynvml.nvmlDeviceGetGraphicsRunningProcesses(handle)] == [77]
    assert pynvml.nvmlDeviceGetMPSComputeRunningProcesses(handle) == []
    assert pynvml.nvmlDeviceGetComputeRunningProcesses(idle) == []
    refuses("NotFound", pynvml.nvmlDeviceGetProcessUtilization, handle, 0)


def test_a_list_is_given_in_two_calls(dgx_h100_nvml: Nvml, start: Start) -> None:
    dgx_h100_nvml["gpus"][0]["processes"] = PROCESSES
    handle = start(dgx_h100_nvml)[0]
    function, count = pynvml.nvmlLib.nvmlDeviceGetComputeRunningProcesses_v3, ctypes.c_uint(0)
    assert function(handle, ctypes.byref(count), None) == pynvml.NVML_ERROR_INSUFFICIENT_SIZE
    assert count.value == 2
    assert function(handle, ctypes.byref(count), None) == pynvml.NVML_ERROR_INVALID_ARGUMENT
    array = (pynvml.c_nvmlProcessInfo_v3_t * 2)()
    assert function(handle, ctypes.byref(count), array) == pynvml.NVML_SUCCESS
    assert array[1].pid == 4243


def test_retired_pages(dgx_h100_nvml: Nvml, start: Start) -> None:
    dgx_h100_nvml["defaults"].update(retired_pages_sbe=3, retired_pages_dbe=0)
    handle = start(dgx_h100_nvml)[0]
    assert pynvml.nvmlDeviceGetRetiredPages(handle, 0) == [0, 0x1000, 0x2000]
    assert pynvml.nvmlDeviceGetRetiredPages(handle, 1) == []


def test_a_text_needs_room(dgx_h100_nvml: Nvml, start: Start) -> None:
    handle = start(dgx_h100_nvml)[0]
    buffer = ctypes.create_string_buffer(4)
    answer = pynvml.nvmlLib.nvmlDeviceGetUUID(handle, buffer, ctypes.c_uint(4))
    assert answer == pynvml.NVML_ERROR_INSUFFICIENT_SIZE


def test_handles(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses) -> None:
    start(dgx_h100_nvml)
    want = dgx_h100_nvml["gpus"][5]
    domain, rest = want["pci_bus_id"].split(":", 1)
    for handle in (
        pynvml.nvmlDeviceGetHandleByUUID(want["uuid"]),
        pynvml.nvmlDeviceGetHandleBySerial(want["serial"]),
        pynvml.nvmlDeviceGetHandleByPciBusId(want["pci_bus_id"]),
        pynvml.nvmlDeviceGetHandleByPciBusId("{:0>8}:{}".format(domain, rest.upper())),
    ):
        assert pynvml.nvmlDeviceGetIndex(handle) == 5
    refuses("InvalidArgument", pynvml.nvmlDeviceGetHandleByIndex, 8)
    refuses("NotFound", pynvml.nvmlDeviceGetHandleByUUID, "GPU-no")
    refuses("NotFound", pynvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, 0)
    refuses("InvalidArgument", pynvml.nvmlDeviceGetName, pynvml.c_nvmlDevice_t())  # a null handle


def test_nothing_answers_before_init_and_after_shutdown(dgx_h100_nvml: Nvml, refuses: Refuses) -> None:
    install(dgx_h100_nvml)
    refuses("Uninitialized", pynvml.nvmlDeviceGetCount)
    pynvml.nvmlInit()
    pynvml.nvmlInit()
    pynvml.nvmlShutdown()
    assert pynvml.nvmlDeviceGetCount() == 8
    pynvml.nvmlShutdown()
    refuses("Uninitialized", pynvml.nvmlDeviceGetCount)


def test_what_the_driver_does_not_say_is_not_supported(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses) -> None:
    dgx_h100_nvml["cuda_version"] = None
    start(dgx_h100_nvml)
    refuses("NotSupported", pynvml.nvmlSystemGetCudaDriverVersion)


def test_functions_that_are_missing_or_not_mocked(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses) -> None:
    dgx_h100_nvml["missing_functions"] = ["nvmlDeviceGetTemperatureV"]
    handle = start(dgx_h100_nvml)[0]
    refuses("FunctionNotFound", pynvml.nvmlDeviceGetTemperatureV, handle, 0)
    refuses("NotSupported", pynvml.nvmlDeviceGetBoardId, handle)
    refuses("NotSupported", pynvml.nvmlUnitGetCount)
    with pytest.raises(AttributeError):
        pynvml.nvmlLib.cuInit  # noqa: B018


def test_errors_have_nvmls_words(dgx_h100_nvml: Nvml, start: Start) -> None:
    start(dgx_h100_nvml)
    assert pynvml.nvmlErrorString(pynvml.NVML_ERROR_GPU_IS_LOST) == "GPU is lost"
    assert pynvml.nvmlErrorString(18) == "Driver/library version mismatch"
    assert pynvml.nvmlErrorString(4711) == "Unknown Error"
    assert str(pynvml.NVMLError(pynvml.NVML_ERROR_IN_USE)) == "In use by another client"


# What is loaded


def test_no_library(dgx_h100_nvml: Nvml, refuses: Refuses) -> None:
    install(None)
    refuses("LibraryNotFound", pynvml.nvmlInit)


def test_what_is_installed_anew_starts_anew(dgx_h100_nvml: Nvml, start: Start, refuses: Refuses) -> None:
    start(dgx_h100_nvml)
    dgx_h100_nvml["gpus"] = dgx_h100_nvml["gpus"][:2]
    install(dgx_h100_nvml)
    refuses("Uninitialized", pynvml.nvmlDeviceGetCount)
    assert len(start(dgx_h100_nvml)) == 2


# The `nvml` object


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gpus": {}}, "nvml: `gpus` is a list of objects, `defaults` an object"),
        ({"defaults": []}, "nvml: `gpus` is a list of objects, `defaults` an object"),
        ({"driver": "1"}, "nvml: unknown key 'driver'; nearest: 'driver_version'"),
        ({"driver_version": None}, "nvml: 'driver_version' is missing"),
        ({"cuda_version": "13.0"}, "nvml.cuda_version: a whole number, not negative is expected"),
        ({"defaults": {"nmae": "x"}}, "nvml.defaults: unknown key 'nmae'; nearest: 'name'"),
        ({"gpus": [{"pci_bus_id": "0000:1b:00.0", "name": "H100"}]}, "nvml.gpus[0]: 'uuid' is missing"),
    ],
)
def test_a_wrong_object_is_refused(dgx_h100_nvml: Nvml, change: Nvml, message: str) -> None:
    with pytest.raises(InvalidNvmlError) as caught:
        install(dict(dgx_h100_nvml, **change))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("pcie_width", "16", "a whole number, not negative"),
        ("pcie_width", True, "a whole number, not negative"),
        ("power_average_watts", "70 W", "a number, not negative"),
        ("uuid", "GPU-1", "a text such as GPU-1b2c3d4e-0000-4000-8000-0123456789ab"),
        ("pci_bus_id", "00000000:1B:00.0", "a text such as 0000:1b:00.0"),
        ("compute_capability", [9], "two whole numbers"),
        ("nvlink_version", "4", "one of 1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0"),
        ("nvlinks_down", 3, "a list, each a whole number, not negative"),
        ("processes", [{"pid": 1}], 'a list, each {"pid", "kind", "memory_bytes"}'),
        (
            "processes",
            [{"pid": 1, "kind": "x", "memory_bytes": 1}],
            'a list, each {"pid", "kind", "memory_bytes"}',
        ),
    ],
)
def test_a_wrong_value_is_refused(dgx_h100_nvml: Nvml, key: str, value: Any, expected: str) -> None:
    check(dgx_h100_nvml)
    dgx_h100_nvml["gpus"][1][key] = value
    with pytest.raises(InvalidNvmlError) as caught:
        check(dgx_h100_nvml)
    assert str(caught.value) == "nvml.gpus[1].{}: {} is expected".format(key, expected)


def test_every_key_is_documented_and_every_documented_key_is_one() -> None:
    documented = nvml.__doc__ or ""
    listed = set(re.findall(r"[a-z][a-z0-9_]+", documented[documented.index("    uuid") :]))
    assert set(nvml.KEYS) - listed == set()
    names = {word for word in listed if word.endswith(("_bytes", "_percent", "_celsius", "_mhz", "_watts", "_enabled"))}
    assert names - set(nvml.KEYS) == {"memory_bytes", "gpm_gpu_percent", "gpm_memory_percent"}  # of a process, of MIG


def test_every_key_that_a_function_reads_may_be_given() -> None:
    read = set()
    for name in ("functions", "fields", "lists", "setters", "load"):
        path = Path(nvml_answer.__file__).with_name("nvml_{}.py".format(name))
        read |= set(re.findall(r'"((?:[a-z0-9]+_)+[a-z0-9]+)"', path.read_text()))
    inner = {"memory_bytes", "gpu_instance_id", "compute_instance_id", "driver_version", "is_mig", "gpu_idle"}
    inner.add("sw_thermal_slowdown")  # a word of clocks_event_reasons
    assert {key for key in read - inner if not key.endswith("_threshold")} - set(nvml.KEYS) == set()


def test_numbers_are_those_of_nvml_h() -> None:
    for name, number in vars(nvml_answer).items():
        if name.isupper() and isinstance(number, int) and name != "SUCCESS":
            assert number == getattr(pynvml, "NVML_ERROR_" + name)
    assert all(getattr(pynvml, name) == number for name, number in nvml_words.CODES.items())
    versions = {version.replace(".", "_"): number for version, number in nvml_words.NVLINK_VERSIONS.items()}
    assert all(getattr(pynvml, "NVML_NVLINK_VERSION_" + version) == number for version, number in versions.items())
    assert nvml_words.RECOVERY_ACTIONS.index("drain-and-reset") == pynvml.NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET
    assert nvml_words.VIRTUALIZATION_MODES.index("host-vsga") == pynvml.NVML_GPU_VIRTUALIZATION_MODE_HOST_VSGA
    assert nvml_words.FABRIC_STATES.index("completed") == pynvml.NVML_GPU_FABRIC_STATE_COMPLETED
    assert pynvml.nvmlEventTypeXidCriticalError == nvml_events.XID_CRITICAL


def test_a_number_that_does_not_fit_wraps_as_in_c(dgx_h100_nvml: Nvml, start: Start) -> None:
    dgx_h100_nvml["gpus"][0]["pcie_replay_counter"] = (1 << 33) + 5
    (replays,) = pynvml.nvmlDeviceGetFieldValues(start(dgx_h100_nvml)[0], [94])
    assert (replays.nvmlReturn, replays.value.uiVal) == (0, 5)
