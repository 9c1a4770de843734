"""What the C functions of NVML answer about one GPU, as nvml.h has them and pynvml calls them.

Each takes the GPU's values and the arguments behind the handle, which arrive as ctypes objects: numbers, `byref`
pointers (whose target is `._obj`), buffers and arrays. It fills the outputs or raises RefusedError.
"""

from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple, Union

SUCCESS = 0
UNINITIALIZED = 1
INVALID_ARGUMENT = 2
NOT_SUPPORTED = 3
NOT_FOUND = 6
INSUFFICIENT_SIZE = 7
DRIVER_NOT_LOADED = 9
GPU_IS_LOST = 15
ARGUMENT_VERSION_MISMATCH = 25

EVENT_REASONS = (
    "gpu_idle",
    "applications_clocks_setting",
    "sw_power_cap",
    "hw_slowdown",
    "sync_boost",
    "sw_thermal_slowdown",
    "hw_thermal_slowdown",
    "hw_power_brake_slowdown",
    "display_clock_setting",
)
RECOVERY_ACTIONS = ("none", "gpu-reset", "node-reboot", "drain-p2p", "drain-and-reset")
NVLINK_VERSIONS = {"1.0": 1, "2.0": 2, "2.2": 3, "3.0": 4, "3.1": 5, "4.0": 6, "5.0": 7}

_MEMORY_V2 = 0x02000028
_TEMPERATURE_V1 = 0x0100000C
_POISON = 0xA5A5A5A5A5A5A5A5
"""What stands in a field's union where no value was written; a real driver leaves such leftovers, zeros hide bugs."""
_UINT, _ULONGLONG, _INT = ("uiVal", 1), ("ullVal", 3), ("siVal", 5)  # the union's member, nvmlValueType_t
_NO_FIGURE = 0xFFFFFFFFFFFFFFFF

Values = Mapping[str, Any]
Function = Callable[..., None]


class RefusedError(Exception):
    """The function returns this code of nvmlReturn_t."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def _need(gpu: Values, key: str) -> Any:
    """The value in NVML's unit: thousandths of watts and joules."""
    value = gpu.get(key)
    if value is None:
        raise RefusedError(NOT_SUPPORTED)
    return round(value * 1000) if key.endswith(("_watts", "_joules")) else value


def _plain(argument: Any) -> int:
    return int(getattr(argument, "value", argument))


def _text(key: str) -> Function:
    def answer(gpu: Values, buffer: Any, size: Any = None) -> None:
        text = str(_need(gpu, key)).encode()
        if size is not None and len(text) >= _plain(size):
            raise RefusedError(INSUFFICIENT_SIZE)
        buffer.value = text

    return answer


def _numbers(*keys: str) -> Function:
    """One output for each key; outputs beyond them keep what they hold."""

    def answer(gpu: Values, *outputs: Any) -> None:
        for value, output in zip([_need(gpu, key) for key in keys], outputs):
            output._obj.value = value

    return answer


def _chosen(keys: Mapping[Union[int, Tuple[int, ...]], str]) -> Function:
    """One output, of what the arguments before it choose."""

    def answer(gpu: Values, *arguments: Any) -> None:
        *choice, output = arguments
        numbers = tuple(_plain(argument) for argument in choice)
        key = keys.get(numbers[0] if len(numbers) == 1 else numbers)
        if key is None:
            raise RefusedError(INVALID_ARGUMENT)
        output._obj.value = _need(gpu, key)

    return answer


def _constant(value: int) -> Function:
    def answer(gpu: Values, output: Any) -> None:  # noqa: ARG001
        output._obj.value = value

    return answer


def _refusal(code: int) -> Function:
    def answer(gpu: Values, *arguments: Any) -> None:  # noqa: ARG001
        raise RefusedError(code)

    return answer


def _utilization(gpu: Values, output: Any) -> None:
    output._obj.gpu = _need(gpu, "gpu_utilization_percent")
    output._obj.memory = _need(gpu, "memory_utilization_percent")


def _pci_info(gpu: Values, output: Any) -> None:
    info, address = output._obj, _need(gpu, "pci_bus_id").upper()
    domain, bus, rest = address.split(":")
    info.busIdLegacy = "{}:{}:{}".format(domain[-4:], bus, rest).encode()
    info.busId = "{:0>8}:{}:{}".format(domain, bus, rest).encode()
    info.domain, info.bus, info.device = int(domain, 16), int(bus, 16), int(rest[:2], 16)
    info.pciDeviceId = int(gpu.get("pci_device_id") or "0", 16)
    info.pciSubSystemId = int(gpu.get("pci_subsystem_id") or "0", 16)


def _memory_v1(gpu: Values, output: Any) -> None:
    """Counts what the driver reserves as used, as all drivers since R510 do."""
    memory = output._obj
    memory.total = _need(gpu, "memory_total_bytes")
    memory.used = _need(gpu, "memory_used_bytes") + _need(gpu, "memory_reserved_bytes")
    memory.free = memory.total - memory.used


def _memory_v2(gpu: Values, output: Any) -> None:
    memory = output._obj
    if memory.version != _MEMORY_V2:
        raise RefusedError(ARGUMENT_VERSION_MISMATCH)
    memory.total = _need(gpu, "memory_total_bytes")
    memory.reserved, memory.used = _need(gpu, "memory_reserved_bytes"), _need(gpu, "memory_used_bytes")
    memory.free = memory.total - memory.reserved - memory.used


def _bar1(gpu: Values, output: Any) -> None:
    memory = output._obj
    memory.bar1Total = _need(gpu, "bar1_total_bytes")
    memory.bar1Used = _need(gpu, "bar1_used_bytes")
    memory.bar1Free = memory.bar1Total - memory.bar1Used


def _temperature_v(gpu: Values, output: Any) -> None:
    temperature = output._obj
    if temperature.version != _TEMPERATURE_V1:
        raise RefusedError(ARGUMENT_VERSION_MISMATCH)
    if temperature.sensorType != 0:
        raise RefusedError(INVALID_ARGUMENT)
    temperature.temperature = _need(gpu, "temperature_celsius")


def _fan_speed(gpu: Values, *arguments: Any) -> None:
    """Of one fan, or of the first."""
    *fan, output = arguments
    speeds, number = _need(gpu, "fan_speeds_percent"), _plain(fan[0]) if fan else 0
    if number >= len(speeds):
        raise RefusedError(INVALID_ARGUMENT)
    output._obj.value = speeds[number]


def _fan_count(gpu: Values, output: Any) -> None:
    output._obj.value = len(_need(gpu, "fan_speeds_percent"))


def _compute_capability(gpu: Values, major: Any, minor: Any) -> None:
    major._obj.value, minor._obj.value = _need(gpu, "compute_capability")


def _event_reasons(gpu: Values, output: Any) -> None:
    output._obj.value = sum(1 << EVENT_REASONS.index(reason) for reason in _need(gpu, "clocks_event_reasons"))


def _link(gpu: Values, link: Any) -> bool:
    """Whether it is up."""
    if not 0 <= _plain(link) < _need(gpu, "nvlinks"):
        raise RefusedError(INVALID_ARGUMENT)
    return _plain(link) not in (gpu.get("nvlinks_down") or ())


def _link_state(gpu: Values, link: Any, output: Any) -> None:
    output._obj.value = _link(gpu, link)


def _link_version(gpu: Values, link: Any, output: Any) -> None:
    if not _link(gpu, link):
        raise RefusedError(NOT_SUPPORTED)
    output._obj.value = NVLINK_VERSIONS[_need(gpu, "nvlink_version")]


def _processes(kind: str) -> Function:
    def answer(gpu: Values, count: Any, array: Optional[Any]) -> None:
        found = [process for process in _need(gpu, "processes") if process["kind"] == kind]
        _ask_for_room(len(found), count._obj, array)
        for process, slot in zip(found, array or ()):
            memory = process["memory_bytes"]
            slot.pid, slot.usedGpuMemory = process["pid"], _NO_FIGURE if memory is None else memory
            slot.gpuInstanceId = slot.computeInstanceId = 0xFFFFFFFF

    return answer


def _retired_pages(gpu: Values, cause: Any, count: Any, array: Optional[Any]) -> None:
    keys = ("retired_pages_sbe", "retired_pages_dbe")
    if _plain(cause) >= len(keys):
        raise RefusedError(INVALID_ARGUMENT)
    pages = _need(gpu, keys[_plain(cause)])
    _ask_for_room(pages, count._obj, array)
    for page in range(pages):
        array[page] = page << 12  # type: ignore[index]


def _ask_for_room(size: int, count: Any, array: Optional[Any]) -> None:
    """The protocol of two calls: the first, without room, is told how much to make."""
    room, count.value = count.value, size
    if size > room:
        raise RefusedError(INSUFFICIENT_SIZE)
    if size and array is None:
        raise RefusedError(INVALID_ARGUMENT)


_FIELDS: Dict[int, Tuple[str, Tuple[str, int]]] = {
    82: ("memory_temperature_celsius", _UINT),
    83: ("energy_joules", _ULONGLONG),
    94: ("pcie_replay_counter", _UINT),
    142: ("remapped_rows_correctable", _UINT),
    143: ("remapped_rows_uncorrectable", _UINT),
    144: ("remap_pending", _UINT),
    145: ("remap_failure", _UINT),
    185: ("power_average_watts", _UINT),
    186: ("power_instant_watts", _UINT),
    187: ("min_power_limit_watts", _UINT),
    188: ("max_power_limit_watts", _UINT),
    189: ("default_power_limit_watts", _UINT),
    190: ("enforced_power_limit_watts", _UINT),
    192: ("power_limit_watts", _UINT),
    230: ("recovery_action", _INT),
}
"""NVML_FI_DEV_*: the key, and where in the union the value goes."""


def _field_values(gpu: Values, count: Any, array: Any) -> None:
    """Succeeds as a whole; each field has its own return code."""
    for answer in array._obj[: _plain(count)]:
        answer.value.ullVal = _POISON
        try:
            key, (member, answer.valueType) = _FIELDS[answer.fieldId]
            value = _need(gpu, key)
        except KeyError:
            answer.nvmlReturn = INVALID_ARGUMENT
        except RefusedError as refused:
            answer.nvmlReturn = refused.code
        else:
            answer.nvmlReturn = SUCCESS
            setattr(answer.value, member, RECOVERY_ACTIONS.index(value) if key == "recovery_action" else value)


def _versions(name: str, function: Function, versions: Sequence[str]) -> Dict[str, Function]:
    return {name + version: function for version in versions}


_CLOCKS = ("graphics_clock_mhz", "sm_clock_mhz", "memory_clock_mhz", "video_clock_mhz")

FUNCTIONS: Dict[str, Function] = {
    "nvmlDeviceGetBAR1MemoryInfo": _bar1,
    "nvmlDeviceGetBoardPartNumber": _text("board_part_number"),
    "nvmlDeviceGetClockInfo": _chosen(dict(enumerate(_CLOCKS))),
    "nvmlDeviceGetComputeMode": _numbers("compute_mode"),
    "nvmlDeviceGetCudaComputeCapability": _compute_capability,
    "nvmlDeviceGetCurrPcieLinkGeneration": _numbers("pcie_generation"),
    "nvmlDeviceGetCurrPcieLinkWidth": _numbers("pcie_width"),
    "nvmlDeviceGetCurrentClocksEventReasons": _event_reasons,
    "nvmlDeviceGetCurrentClocksThrottleReasons": _event_reasons,
    "nvmlDeviceGetDecoderUtilization": _numbers("decoder_utilization_percent"),
    "nvmlDeviceGetDisplayActive": _numbers("display_active"),
    "nvmlDeviceGetDisplayMode": _numbers("display_mode"),
    "nvmlDeviceGetEccMode": _numbers("ecc_enabled", "ecc_pending"),
    "nvmlDeviceGetEncoderUtilization": _numbers("encoder_utilization_percent"),
    "nvmlDeviceGetEnforcedPowerLimit": _numbers("enforced_power_limit_watts"),
    "nvmlDeviceGetFanSpeed": _fan_speed,
    "nvmlDeviceGetFanSpeed_v2": _fan_speed,
    "nvmlDeviceGetFieldValues": _field_values,
    "nvmlDeviceGetGspFirmwareVersion": _text("gsp_firmware_version"),
    "nvmlDeviceGetIndex": _numbers("index"),
    "nvmlDeviceGetMaxClockInfo": _chosen({place: "max_" + key for place, key in enumerate(_CLOCKS)}),
    "nvmlDeviceGetMaxMigDeviceCount": _numbers("max_mig_devices"),
    "nvmlDeviceGetMaxPcieLinkGeneration": _numbers("max_pcie_generation"),
    "nvmlDeviceGetMaxPcieLinkWidth": _numbers("max_pcie_width"),
    "nvmlDeviceGetMemoryInfo": _memory_v1,
    "nvmlDeviceGetMemoryInfo_v2": _memory_v2,
    "nvmlDeviceGetMigDeviceHandleByIndex": _refusal(NOT_FOUND),
    "nvmlDeviceGetMigMode": _numbers("mig_enabled", "mig_pending"),
    "nvmlDeviceGetMinorNumber": _numbers("minor_number"),
    "nvmlDeviceGetName": _text("name"),
    "nvmlDeviceGetNumFans": _fan_count,
    "nvmlDeviceGetNvLinkState": _link_state,
    "nvmlDeviceGetNvLinkVersion": _link_version,
    "nvmlDeviceGetPciInfo_v3": _pci_info,
    "nvmlDeviceGetPcieReplayCounter": _numbers("pcie_replay_counter"),
    "nvmlDeviceGetPcieThroughput": _chosen({0: "pcie_tx_kbytes_per_s", 1: "pcie_rx_kbytes_per_s"}),
    "nvmlDeviceGetPerformanceState": _numbers("performance_state"),
    "nvmlDeviceGetPersistenceMode": _numbers("persistence_mode"),
    "nvmlDeviceGetPowerManagementDefaultLimit": _numbers("default_power_limit_watts"),
    "nvmlDeviceGetPowerManagementLimit": _numbers("power_limit_watts"),
    "nvmlDeviceGetPowerManagementLimitConstraints": _numbers("min_power_limit_watts", "max_power_limit_watts"),
    "nvmlDeviceGetPowerUsage": _numbers("power_average_watts"),
    "nvmlDeviceGetProcessUtilization": _refusal(NOT_FOUND),  # no sample since the time asked for
    "nvmlDeviceGetRemappedRows": _numbers(
        "remapped_rows_correctable", "remapped_rows_uncorrectable", "remap_pending", "remap_failure"
    ),
    "nvmlDeviceGetRetiredPages": _retired_pages,
    "nvmlDeviceGetSerial": _text("serial"),
    "nvmlDeviceGetTemperature": _chosen({0: "temperature_celsius"}),
    "nvmlDeviceGetTemperatureV": _temperature_v,
    "nvmlDeviceGetTotalEccErrors": _chosen(
        {
            (0, 0): "ecc_volatile_corrected",
            (1, 0): "ecc_volatile_uncorrected",
            (0, 1): "ecc_aggregate_corrected",
            (1, 1): "ecc_aggregate_uncorrected",
        }
    ),
    "nvmlDeviceGetTotalEnergyConsumption": _numbers("energy_joules"),
    "nvmlDeviceGetUUID": _text("uuid"),
    "nvmlDeviceGetUtilizationRates": _utilization,
    "nvmlDeviceGetVbiosVersion": _text("vbios_version"),
    "nvmlDeviceIsMigDeviceHandle": _constant(0),
    **_versions("nvmlDeviceGetComputeRunningProcesses", _processes("compute"), ("_v2", "_v3")),
    **_versions("nvmlDeviceGetGraphicsRunningProcesses", _processes("graphics"), ("_v2", "_v3")),
    **_versions("nvmlDeviceGetMPSComputeRunningProcesses", _processes("mps"), ("_v2", "_v3")),
}
