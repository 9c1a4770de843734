"""What the C functions of NVML answer about one GPU, as nvml.h has them and pynvml calls them.

Each takes the GPU's values and the arguments behind the handle, which arrive as ctypes objects: numbers, `byref`
pointers (whose target is `._obj`), buffers and arrays. It fills the outputs or raises RefusedError.
"""

import ctypes
from typing import Any, Dict, Mapping, Tuple, Union

from .nvml_answer import (
    ARGUMENT_VERSION_MISMATCH,
    CORRUPTED_INFOROM,
    INSUFFICIENT_SIZE,
    INVALID_ARGUMENT,
    NOT_FOUND,
    NOT_SUPPORTED,
    Function,
    RefusedError,
    Values,
    demand_version,
    need,
    plain,
)
from .nvml_events import XID_CRITICAL
from .nvml_fields import field_values, link_is_up
from .nvml_gpm import query
from .nvml_lists import PROCESS_FUNCTIONS, retired_pages
from .nvml_words import EVENT_REASONS, FABRIC_HEALTH, FABRIC_STATES, NVLINK_VERSIONS, VIRTUALIZATION_MODES

_MEMORY_V2 = 0x02000028
_TEMPERATURE_V1 = 0x0100000C
_MARGIN_V1 = 0x01000008
_SRAM_V1 = 0x01000068
_FABRIC_V2, _FABRIC_V3 = 0x02000024, 0x03000028


def _power(gpu: Values, output: Any) -> None:
    """An average, and of this moment on parts that have none (nvml.h: GA100, and what came before Ampere)."""
    key = "power_instant_watts" if gpu.get("power_average_watts") is None else "power_average_watts"
    output._obj.value = need(gpu, key)


def _text(key: str) -> Function:
    def answer(gpu: Values, buffer: Any, size: Any = None) -> None:
        text = str(need(gpu, key)).encode()
        if size is not None and len(text) >= plain(size):
            raise RefusedError(INSUFFICIENT_SIZE)
        buffer.value = text

    return answer


def _numbers(*keys: str) -> Function:
    """One output for each key; outputs beyond them keep what they hold."""

    def answer(gpu: Values, *outputs: Any) -> None:
        for value, output in zip([need(gpu, key) for key in keys], outputs):
            output._obj.value = value

    return answer


def _chosen(keys: Mapping[Union[int, Tuple[int, ...]], str]) -> Function:
    """One output, of what the arguments before it choose."""

    def answer(gpu: Values, *arguments: Any) -> None:
        *choice, output = arguments
        numbers = tuple(plain(argument) for argument in choice)
        key = keys.get(numbers[0] if len(numbers) == 1 else numbers)
        if key is None:
            raise RefusedError(INVALID_ARGUMENT)
        output._obj.value = need(gpu, key)

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
    output._obj.gpu = need(gpu, "gpu_utilization_percent")
    output._obj.memory = need(gpu, "memory_utilization_percent")


def _pci_info(gpu: Values, output: Any) -> None:
    info, address = output._obj, need(gpu, "pci_bus_id").upper()
    domain, bus, rest = address.split(":")
    info.busIdLegacy = "{}:{}:{}".format(domain[-4:], bus, rest).encode()
    info.busId = "{:0>8}:{}:{}".format(domain, bus, rest).encode()
    info.domain, info.bus, info.device = int(domain, 16), int(bus, 16), int(rest[:2], 16)
    info.pciDeviceId = int(gpu.get("pci_device_id") or "0", 16)
    info.pciSubSystemId = int(gpu.get("pci_subsystem_id") or "0", 16)


def _memory_v1(gpu: Values, output: Any) -> None:
    """Counts what the driver reserves as used, as all drivers since R510 do."""
    memory = output._obj
    memory.total = need(gpu, "memory_total_bytes")
    memory.used = need(gpu, "memory_used_bytes") + need(gpu, "memory_reserved_bytes")
    memory.free = memory.total - memory.used


def _memory_v2(gpu: Values, output: Any) -> None:
    memory = output._obj
    demand_version(memory, _MEMORY_V2)
    total, reserved, used = (need(gpu, "memory_{}_bytes".format(name)) for name in ("total", "reserved", "used"))
    memory.total, memory.reserved, memory.used, memory.free = total, reserved, used, total - reserved - used


def _bar1(gpu: Values, output: Any) -> None:
    memory = output._obj
    memory.bar1Total = need(gpu, "bar1_total_bytes")
    memory.bar1Used = need(gpu, "bar1_used_bytes")
    memory.bar1Free = memory.bar1Total - memory.bar1Used


def _temperature_v(gpu: Values, output: Any) -> None:
    temperature = output._obj
    demand_version(temperature, _TEMPERATURE_V1)
    if temperature.sensorType != 0:
        raise RefusedError(INVALID_ARGUMENT)
    temperature.temperature = need(gpu, "temperature_celsius")


def _fan_speed(gpu: Values, *arguments: Any) -> None:
    """Of one fan, or of the first."""
    *fan, output = arguments
    speeds, number = need(gpu, "fan_speeds_percent"), plain(fan[0]) if fan else 0
    if number >= len(speeds):
        raise RefusedError(INVALID_ARGUMENT)
    output._obj.value = speeds[number]


def _fan_count(gpu: Values, output: Any) -> None:
    output._obj.value = len(need(gpu, "fan_speeds_percent"))


def _compute_capability(gpu: Values, major: Any, minor: Any) -> None:
    major._obj.value, minor._obj.value = need(gpu, "compute_capability")


def _event_reasons(gpu: Values, output: Any) -> None:
    output._obj.value = sum(1 << EVENT_REASONS.index(reason) for reason in need(gpu, "clocks_event_reasons"))


def _link_state(gpu: Values, link: Any, output: Any) -> None:
    output._obj.value = link_is_up(gpu, plain(link))


def _link_version(gpu: Values, link: Any, output: Any) -> None:
    if not link_is_up(gpu, plain(link)):
        raise RefusedError(NOT_SUPPORTED)
    output._obj.value = NVLINK_VERSIONS[need(gpu, "nvlink_version")]


def _link_errors(gpu: Values, link: Any, counter: Any, output: Any) -> None:
    link_is_up(gpu, plain(link))
    if plain(counter) >= len(_LINK_COUNTERS):
        raise RefusedError(INVALID_ARGUMENT)
    output._obj.value = need(gpu, _LINK_COUNTERS[plain(counter)])


def _sram(gpu: Values, output: Any) -> None:
    status = output._obj if hasattr(output, "_obj") else output.contents
    demand_version(status, _SRAM_V1)
    status.volatileCor = need(gpu, "sram_volatile_corrected")
    status.volatileUncParity = need(gpu, "sram_volatile_parity")
    status.volatileUncSecDed = need(gpu, "sram_volatile_secded")
    status.aggregateCor = need(gpu, "sram_aggregate_corrected")
    status.aggregateUncParity = need(gpu, "sram_aggregate_parity")
    status.aggregateUncSecDed = need(gpu, "sram_aggregate_secded")
    status.bThresholdExceeded = need(gpu, "sram_threshold_exceeded")


def _fabric(gpu: Values, output: Any) -> None:
    info = output._obj
    if info.version not in (_FABRIC_V2, _FABRIC_V3):
        raise RefusedError(ARGUMENT_VERSION_MISMATCH)
    info.state = FABRIC_STATES.index(need(gpu, "fabric_state"))
    info.status = gpu.get("fabric_status") or 0
    info.cliqueId = gpu.get("fabric_clique_id") or 0
    cluster = (gpu.get("fabric_cluster_uuid") or "").replace("-", "")
    place = type(info).clusterUuid  # bindings have had it as numbers and as characters
    ctypes.memmove(ctypes.addressof(info) + place.offset, bytes.fromhex(cluster.ljust(2 * place.size, "0")), place.size)
    wrong = gpu.get("fabric_health")
    info.healthMask = 0 if wrong is None else _health_mask(wrong)
    if info.version == _FABRIC_V3 and wrong is not None:
        info.healthSummary = 2 if wrong else 1


def _health_mask(wrong: Any) -> int:
    *flags, configuration = FABRIC_HEALTH
    mask = sum((1 if name in wrong else 2) << 2 * place for place, name in enumerate(flags))
    return mask | (4 if configuration in wrong else 1) << 2 * len(flags)


def _gsp_mode(gpu: Values, enabled: Any, by_default: Any) -> None:
    """On where the GPU tells of its firmware."""
    need(gpu, "gsp_firmware_version")
    enabled._obj.value = by_default._obj.value = 1


def _virtualization(gpu: Values, output: Any) -> None:
    output._obj.value = VIRTUALIZATION_MODES.index(need(gpu, "virtualization_mode"))


def _is_mig(gpu: Values, output: Any) -> None:
    output._obj.value = gpu.get("is_mig", 0)


def _inforom(gpu: Values, *outputs: Any) -> None:
    if not need(gpu, "inforom_valid"):
        raise RefusedError(CORRUPTED_INFOROM)
    for output in outputs:
        output._obj.value = 0x1E240  # a checksum


def _inforom_image(gpu: Values, buffer: Any, size: Any) -> None:
    if gpu.get("inforom_valid") is False:
        raise RefusedError(CORRUPTED_INFOROM)
    _text("inforom_image_version")(gpu, buffer, size)


def _margin(gpu: Values, output: Any) -> None:
    demand_version(output._obj, _MARGIN_V1)
    output._obj.marginTemperature = need(gpu, "temperature_margin_celsius")


def _attributes(gpu: Values, output: Any) -> None:
    """Of a MIG device."""
    attributes, profile = output._obj, need(gpu, "profile")
    attributes.multiprocessorCount = gpu.get("multiprocessors") or 0
    attributes.memorySizeMB = need(gpu, "memory_total_bytes") >> 20
    slices = [int(part[:-1]) for part in profile.split(".")[:-1]]  # 3g.40gb, or 1c.3g.40gb
    attributes.computeInstanceSliceCount, attributes.gpuInstanceSliceCount = slices[0], slices[-1]


_CLOCKS = ("graphics_clock_mhz", "sm_clock_mhz", "memory_clock_mhz", "video_clock_mhz")
_LINK_COUNTERS = ("nvlink_replay_errors", "nvlink_recovery_errors", "nvlink_crc_errors", "nvlink_crc_errors")
_THRESHOLDS = ("shutdown_threshold", "slowdown_threshold", "memory_max_threshold", "gpu_max_threshold")
_ECC_COUNTERS: Mapping[Any, str] = {
    (0, 0): "ecc_volatile_corrected",
    (1, 0): "ecc_volatile_uncorrected",
    (0, 1): "ecc_aggregate_corrected",
    (1, 1): "ecc_aggregate_uncorrected",
}

FUNCTIONS: Dict[str, Function] = {
    "nvmlDeviceGetAttributes_v2": _attributes,
    "nvmlDeviceGetBAR1MemoryInfo": _bar1,
    "nvmlDeviceGetBoardPartNumber": _text("board_part_number"),
    "nvmlDeviceGetClockInfo": _chosen(dict(enumerate(_CLOCKS))),
    "nvmlDeviceGetComputeInstanceId": _numbers("compute_instance_id"),
    "nvmlDeviceGetComputeMode": _numbers("compute_mode"),
    "nvmlDeviceGetConfComputeMemSizeInfo": _refusal(NOT_SUPPORTED),  # none of the machines has that switched on
    "nvmlDeviceGetCudaComputeCapability": _compute_capability,
    "nvmlDeviceGetCurrPcieLinkGeneration": _numbers("pcie_generation"),
    "nvmlDeviceGetCurrPcieLinkWidth": _numbers("pcie_width"),
    "nvmlDeviceGetCurrentClocksEventReasons": _event_reasons,
    "nvmlDeviceGetCurrentClocksThrottleReasons": _event_reasons,
    "nvmlDeviceGetDecoderUtilization": _numbers("decoder_utilization_percent"),
    "nvmlDeviceGetDisplayActive": _numbers("display_active"),
    "nvmlDeviceGetDisplayMode": _numbers("display_mode"),
    "nvmlDeviceGetDriverModel_v2": _refusal(NOT_SUPPORTED),  # of Windows
    "nvmlDeviceGetEccMode": _numbers("ecc_enabled", "ecc_pending"),
    "nvmlDeviceGetEncoderUtilization": _numbers("encoder_utilization_percent"),
    "nvmlDeviceGetEnforcedPowerLimit": _numbers("enforced_power_limit_watts"),
    "nvmlDeviceGetFanSpeed": _fan_speed,
    "nvmlDeviceGetFanSpeed_v2": _fan_speed,
    "nvmlDeviceGetFieldValues": field_values,
    "nvmlDeviceGetGpuFabricInfoV": _fabric,
    "nvmlDeviceGetGpuInstanceId": _numbers("gpu_instance_id"),
    "nvmlDeviceGetGpuMaxPcieLinkGeneration": _numbers("device_max_pcie_generation"),
    "nvmlDeviceGetGspFirmwareMode": _gsp_mode,
    "nvmlDeviceGetGspFirmwareVersion": _text("gsp_firmware_version"),
    "nvmlDeviceGetIndex": _numbers("index"),
    "nvmlDeviceGetInforomConfigurationChecksum": _inforom,
    "nvmlDeviceGetInforomImageVersion": _inforom_image,
    "nvmlDeviceGetMarginTemperature": _margin,
    "nvmlDeviceGetMaxClockInfo": _chosen({place: "max_" + key for place, key in enumerate(_CLOCKS)}),
    "nvmlDeviceGetMaxMigDeviceCount": _numbers("max_mig_devices"),
    "nvmlDeviceGetMaxPcieLinkGeneration": _numbers("max_pcie_generation"),
    "nvmlDeviceGetMaxPcieLinkWidth": _numbers("max_pcie_width"),
    "nvmlDeviceGetMemoryInfo": _memory_v1,
    "nvmlDeviceGetMemoryInfo_v2": _memory_v2,
    "nvmlDeviceGetMigMode": _numbers("mig_enabled", "mig_pending"),
    "nvmlDeviceGetMinorNumber": _numbers("minor_number"),
    "nvmlDeviceGetName": _text("name"),
    "nvmlDeviceGetNumFans": _fan_count,
    "nvmlDeviceGetNvLinkErrorCounter": _link_errors,
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
    "nvmlDeviceGetPowerUsage": _power,
    "nvmlDeviceGetProcessUtilization": _refusal(NOT_FOUND),  # no sample since the time asked for
    "nvmlDeviceGetRemappedRows": _numbers(
        "remapped_rows_correctable", "remapped_rows_uncorrectable", "remap_pending", "remap_failure"
    ),
    "nvmlDeviceGetRetiredPages": retired_pages,
    "nvmlDeviceGetRetiredPages_v2": retired_pages,
    "nvmlDeviceGetRetiredPagesPendingStatus": _numbers("retired_pages_pending"),
    "nvmlDeviceGetSerial": _text("serial"),
    "nvmlDeviceGetSramEccErrorStatus": _sram,
    "nvmlDeviceGetSupportedEventTypes": _constant(XID_CRITICAL),
    "nvmlDeviceGetTemperature": _chosen({0: "temperature_celsius"}),
    "nvmlDeviceGetTemperatureThreshold": _chosen({n: key + "_celsius" for n, key in enumerate(_THRESHOLDS)}),
    "nvmlDeviceGetTemperatureV": _temperature_v,
    "nvmlDeviceGetTotalEccErrors": _chosen(_ECC_COUNTERS),
    "nvmlDeviceGetTotalEnergyConsumption": _numbers("energy_joules"),
    "nvmlDeviceGetUUID": _text("uuid"),
    "nvmlDeviceGetUtilizationRates": _utilization,
    "nvmlDeviceGetVbiosVersion": _text("vbios_version"),
    "nvmlDeviceGetVirtualizationMode": _virtualization,
    "nvmlDeviceIsMigDeviceHandle": _is_mig,
    "nvmlGpmQueryDeviceSupport": query,
    "nvmlDeviceValidateInforom": _inforom,
    **PROCESS_FUNCTIONS,
}
