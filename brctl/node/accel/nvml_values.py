"""The `nvml` object of a recorded machine, made of what NVML answered: the form that brctl/mock/nvml.py reads.

The values are NVML's own, not what the facts make of them, so that a mistake there shows again when it is replayed.
What was not asked for, and what is not supported, is left out: the mock then answers NOT_SUPPORTED. A function that
failed answers the same error there. What the form has no key for (other errors of one function for some arguments,
links or MIG indices with a gap) stays in the calls alone.
"""

from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from .nvml_calls import known
from .nvml_record import LIBRARY, Asked, Record
from .nvml_words import event_reasons, fabric_health, fabric_state, nvlink_version, recovery_action, virtualization_mode

_NUMBERS: Dict[str, Tuple[str, ...]] = {
    "nvmlDeviceGetCurrPcieLinkGeneration": ("pcie_generation",),
    "nvmlDeviceGetCurrPcieLinkWidth": ("pcie_width",),
    "nvmlDeviceGetEccMode": ("ecc_enabled", "ecc_pending"),
    "nvmlDeviceGetEnforcedPowerLimit": ("enforced_power_limit_watts",),
    "nvmlDeviceGetGpuMaxPcieLinkGeneration": ("device_max_pcie_generation",),
    "nvmlDeviceGetGspFirmwareVersion": ("gsp_firmware_version",),
    "nvmlDeviceGetInforomImageVersion": ("inforom_image_version",),
    "nvmlDeviceGetMarginTemperature": ("temperature_margin_celsius",),
    "nvmlDeviceGetMaxMigDeviceCount": ("max_mig_devices",),
    "nvmlDeviceGetMaxPcieLinkGeneration": ("max_pcie_generation",),
    "nvmlDeviceGetMaxPcieLinkWidth": ("max_pcie_width",),
    "nvmlDeviceGetMigMode": ("mig_enabled", "mig_pending"),
    "nvmlDeviceGetName": ("name",),
    "nvmlDeviceGetPcieReplayCounter": ("pcie_replay_counter",),
    "nvmlDeviceGetPerformanceState": ("performance_state",),
    "nvmlDeviceGetPersistenceMode": ("persistence_mode",),
    "nvmlDeviceGetPowerManagementDefaultLimit": ("default_power_limit_watts",),
    "nvmlDeviceGetPowerManagementLimit": ("power_limit_watts",),
    "nvmlDeviceGetPowerManagementLimitConstraints": ("min_power_limit_watts", "max_power_limit_watts"),
    "nvmlDeviceGetPowerUsage": ("power_average_watts",),
    "nvmlDeviceGetRemappedRows": (
        "remapped_rows_correctable",
        "remapped_rows_uncorrectable",
        "remap_pending",
        "remap_failure",
    ),
    "nvmlDeviceGetRetiredPagesPendingStatus": ("retired_pages_pending",),
    "nvmlDeviceGetSerial": ("serial",),
    "nvmlDeviceGetUUID": ("uuid",),
    "nvmlDeviceGetVbiosVersion": ("vbios_version",),
}
"""Functions that give a value, or several."""
_BY_ARGUMENTS: Dict[Tuple[Any, ...], str] = {
    ("nvmlDeviceGetClockInfo", 1): "sm_clock_mhz",
    ("nvmlDeviceGetClockInfo", 2): "memory_clock_mhz",
    ("nvmlDeviceGetMaxClockInfo", 1): "max_sm_clock_mhz",
    ("nvmlDeviceGetMaxClockInfo", 2): "max_memory_clock_mhz",
    ("nvmlDeviceGetTemperature", 0): "temperature_celsius",
    ("nvmlDeviceGetTemperatureV", 0): "temperature_celsius",
    ("nvmlDeviceGetTemperatureThreshold", 0): "shutdown_threshold_celsius",
    ("nvmlDeviceGetTemperatureThreshold", 1): "slowdown_threshold_celsius",
    ("nvmlDeviceGetTotalEccErrors", 0, 0): "ecc_volatile_corrected",
    ("nvmlDeviceGetTotalEccErrors", 1, 0): "ecc_volatile_uncorrected",
    ("nvmlDeviceGetTotalEccErrors", 0, 1): "ecc_aggregate_corrected",
    ("nvmlDeviceGetTotalEccErrors", 1, 1): "ecc_aggregate_uncorrected",
}
_MEMBERS: Dict[str, Dict[str, str]] = {
    "nvmlDeviceGetMemoryInfo_v2": {
        "total": "memory_total_bytes",
        "reserved": "memory_reserved_bytes",
        "used": "memory_used_bytes",
    },
    "nvmlDeviceGetUtilizationRates": {"gpu": "gpu_utilization_percent", "memory": "memory_utilization_percent"},
    "nvmlDeviceGetSramEccErrorStatus": {
        "volatileCor": "sram_volatile_corrected",
        "volatileUncParity": "sram_volatile_parity",
        "volatileUncSecDed": "sram_volatile_secded",
        "aggregateCor": "sram_aggregate_corrected",
        "aggregateUncParity": "sram_aggregate_parity",
        "aggregateUncSecDed": "sram_aggregate_secded",
        "bThresholdExceeded": "sram_threshold_exceeded",
    },
}
_FIELDS = {
    74: "sw_power_cap_ns",
    82: "memory_temperature_celsius",
    161: "nvlink_replay_errors",
    162: "nvlink_recovery_errors",
    163: "nvlink_crc_errors",
    193: "shutdown_tlimit_celsius",
    194: "slowdown_tlimit_celsius",
    215: "nvlink_recovery_errors",
    221: "nvlink_crc_errors",
    230: "recovery_action",
    251: "sw_thermal_slowdown_ns",
    252: "hw_thermal_slowdown_ns",
    253: "hw_power_brake_slowdown_ns",
    269: "sw_thermal_slowdown_ns",
    270: "hw_thermal_slowdown_ns",
    271: "hw_power_brake_slowdown_ns",
}
_FLAGS = (
    "ecc_enabled",
    "ecc_pending",
    "mig_enabled",
    "mig_pending",
    "persistence_mode",
    "remap_pending",
    "remap_failure",
    "retired_pages_pending",
    "sram_threshold_exceeded",
)
_KNOWN_REASONS = 0x1FF
_KNOWN_RECOVERY_ACTIONS = 4
"""The form has words for these; of newer ones it is silent."""
_ARGUMENTS_MATTER = ("NVML_ERROR_NOT_SUPPORTED", "NVML_ERROR_INVALID_ARGUMENT", "NVML_ERROR_NOT_FOUND")
"""Where a function answers for other arguments, these say that there is no such sensor, link or device."""
_MISSING = "NVML_ERROR_FUNCTION_NOT_FOUND"
_UNREAD = {"uuid": "GPU-00000000-0000-0000-0000-000000000000", "pci_bus_id": "0000:00:00.0", "name": "unknown"}
"""The form wants these; where they were not read, an error stands before them."""

Pairs = Iterator[Tuple[str, Any]]


def nvml(record: Record) -> Optional[Dict[str, Any]]:
    """None where there is no library."""
    library = {asked.name: asked for asked in record.calls[LIBRARY]}
    init = library.get("nvmlInitWithFlags")
    if init is None or init.error == "NVML_ERROR_LIBRARY_NOT_FOUND":
        return None
    gpus = [_gpu(record, index) for index in range(_answer(library, "nvmlDeviceGetCount_v2") or 0)]
    missing = {asked.name for calls in record.calls.values() for asked in calls if asked.error == _MISSING}
    own = [asked for asked in record.calls[LIBRARY] if not asked.name.startswith("nvmlDeviceGetHandle")]
    defaults = _common(gpus)
    found = {
        "driver_version": _answer(library, "nvmlSystemGetDriverVersion") or "0.0",
        "nvml_version": _answer(library, "nvmlSystemGetNVMLVersion"),
        "cuda_version": _answer(library, "nvmlSystemGetCudaDriverVersion_v2"),
        "missing_functions": sorted(missing),
        "errors": dict(_errors(own)),
        "defaults": defaults,
        "gpus": [{key: gpu[key] for key in gpu if key not in defaults} for gpu in gpus],
    }
    return {key: value for key, value in found.items() if value or key == "gpus"}


def _answer(calls: Mapping[str, Asked], name: str) -> Any:
    return calls[name].value if name in calls else None


def _common(gpus: Sequence[Dict[str, Any]]) -> Dict[str, Any]:
    """What all have alike."""
    first, *others = gpus or ({},)
    return {key: value for key, value in first.items() if others and all(gpu.get(key) == value for gpu in others)}


def _gpu(record: Record, index: int) -> Dict[str, Any]:
    place = "gpu{}".format(index)
    calls = list(record.calls.get(place, ()))
    opened = [asked for asked in record.calls[LIBRARY] if asked.name.startswith("nvmlDeviceGetHandle")]
    refused = [asked.error for asked in opened if asked.arguments == (index,) and asked.error]
    errors: Dict[str, Any] = {"nvmlDeviceGetHandle*": refused[-1], "*": refused[-1]} if refused else {}
    errors.update(_errors(calls))
    values = {**_UNREAD, **dict(_values(calls)), **dict(_links(calls)), **dict(_processes(calls))}
    parts = sorted(part for part in record.calls if part.startswith(place + "/"))
    values["mig_devices"] = [device for device in (_mig_device(record.calls[part]) for part in parts) if device]
    values["errors"] = errors
    return {key: value for key, value in values.items() if value or key not in ("mig_devices", "errors")}


def _errors(calls: Sequence[Asked]) -> Pairs:
    """What functions answer instead, as the key `errors` has it."""
    outcomes: Dict[str, List[Optional[str]]] = {}
    for asked in calls:
        outcomes.setdefault(asked.name, []).append(asked.error)
    for name, errors in outcomes.items():
        failed = [number for number, error in enumerate(errors) if error and error not in _ARGUMENTS_MATTER]
        if _MISSING in errors:
            continue
        if errors[0] and len(set(errors)) == 1:
            yield name, errors[0]
        elif failed:
            end = failed[-1] + 1
            until = {} if end == len(errors) else {"until": end}
            yield name, dict(error=errors[failed[0]], after=failed[0], **until)


def _values(calls: Sequence[Asked]) -> Pairs:
    for asked in calls:
        for key, value in _pairs(asked):
            value = _in_form(key, value)
            if value is not None:
                yield key, value


def _pairs(asked: Asked) -> Pairs:
    """The keys that one call tells of, with NVML's values."""
    name, value = asked.name, asked.value
    call: Tuple[Any, ...] = (name, *asked.arguments)
    if name == "nvmlDeviceGetInforomConfigurationChecksum" and asked.error in (None, "NVML_ERROR_CORRUPTED_INFOROM"):
        yield "inforom_valid", asked.error is None
    elif asked.error:
        return
    elif name in _NUMBERS:
        yield from zip(_NUMBERS[name], value if isinstance(value, list) else (value,))
    elif call in _BY_ARGUMENTS:
        yield _BY_ARGUMENTS[call], value
    elif name in _MEMBERS:
        yield from ((key, value[member]) for member, key in _MEMBERS[name].items())
    elif name == "nvmlDeviceGetRetiredPages":
        yield ("retired_pages_sbe", "retired_pages_dbe")[asked.arguments[0]], len(value)
    elif name in _SHAPED:
        yield from _SHAPED[name](value)


def _fields(answers: Sequence[Mapping[str, Any]]) -> Pairs:
    for answer in answers:
        if not answer["nvmlReturn"] and answer["fieldId"] in _FIELDS:
            yield _FIELDS[answer["fieldId"]], answer["value"]


def _memory(memory: Mapping[str, int]) -> Pairs:
    """Of version 1, which counts as used what the driver reserves."""
    yield from (("memory_total_bytes", memory["total"]), ("memory_used_bytes", memory["used"]))
    yield "memory_reserved_bytes", 0


def _pci(info: Mapping[str, Any]) -> Pairs:
    domain, _, rest = info["busId"].lower().partition(":")
    yield "pci_bus_id", "{:0>4}:{}".format(domain.lstrip("0"), rest)
    yield "pci_device_id", "{:08x}".format(info["pciDeviceId"])
    yield "pci_subsystem_id", "{:08x}".format(info["pciSubSystemId"])


def _fabric(info: Mapping[str, Any]) -> Pairs:
    digits, health = info["clusterUuid"], fabric_health(info["healthMask"])
    yield "fabric_state", fabric_state(info["state"]) or "not-supported"
    yield "fabric_status", info["status"]
    yield "fabric_clique_id", info["cliqueId"]
    yield "fabric_cluster_uuid", "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    yield "fabric_health", None if health is None else list(health)


def _reasons(mask: int) -> Pairs:
    yield "clocks_event_reasons", list(event_reasons(mask & _KNOWN_REASONS) or ())


def _virtualization(mode: int) -> Pairs:
    yield "virtualization_mode", virtualization_mode(mode)


_SHAPED: Dict[str, Callable[[Any], Pairs]] = {
    "nvmlDeviceGetCurrentClocksEventReasons": _reasons,
    "nvmlDeviceGetCurrentClocksThrottleReasons": _reasons,
    "nvmlDeviceGetFieldValues": _fields,
    "nvmlDeviceGetGpuFabricInfoV": _fabric,
    "nvmlDeviceGetMemoryInfo": _memory,
    "nvmlDeviceGetPciInfo_v3": _pci,
    "nvmlDeviceGetVirtualizationMode": _virtualization,
}


def _in_form(key: str, value: Any) -> Any:
    if value is None:
        return None
    if key in _FLAGS:
        return bool(value)
    if key == "recovery_action":
        return recovery_action(value) if value <= _KNOWN_RECOVERY_ACTIONS else None
    return value / 1000 if key.endswith("_watts") else value


def _links(calls: Sequence[Asked]) -> Pairs:
    states = {
        asked.arguments[0]: asked.value
        for asked in calls
        if asked.name == "nvmlDeviceGetNvLinkState" and not asked.error
    }
    versions = [asked.value for asked in calls if asked.name == "nvmlDeviceGetNvLinkVersion" and not asked.error]
    if states:
        yield "nvlinks", max(states) + 1
        yield "nvlinks_down", [link for link in sorted(states) if not states.get(link)]
    if versions:
        yield "nvlink_version", nvlink_version(versions[0])


def _processes(calls: Sequence[Asked]) -> Pairs:
    lists = [asked for asked in calls if "RunningProcesses" in asked.name and not asked.error]
    if lists:
        yield "processes", [_process(asked.name, process) for asked in lists for process in asked.value]


def _process(name: str, process: Mapping[str, Any]) -> Dict[str, Any]:
    kind = "graphics" if "Graphics" in name else "compute"
    found = {"pid": process["pid"], "kind": kind, "memory_bytes": known(process["usedGpuMemory"])}
    instances = known(process.get("gpuInstanceId")), known(process.get("computeInstanceId"))
    if None not in instances:
        found.update(gpu_instance_id=instances[0], compute_instance_id=instances[1])
    return found


def _mig_device(calls: Sequence[Asked]) -> Optional[Dict[str, Any]]:
    """None where it did not tell all that the form wants."""
    values = dict(_values(calls))
    told = {asked.name: asked.value for asked in calls}
    found = {
        "uuid": values.get("uuid"),
        "profile": values.get("name", "").partition(" MIG ")[2],
        "gpu_instance_id": told.get("nvmlDeviceGetGpuInstanceId"),
        "compute_instance_id": told.get("nvmlDeviceGetComputeInstanceId"),
        "memory_total_bytes": values.get("memory_total_bytes"),
        "memory_used_bytes": values.get("memory_used_bytes"),
    }
    if None in found.values():
        return None
    attributes = told.get("nvmlDeviceGetAttributes_v2") or {}
    return dict(
        found,
        memory_reserved_bytes=values["memory_reserved_bytes"],
        multiprocessors=attributes.get("multiprocessorCount", 0),
    )
