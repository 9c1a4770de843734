"""A mock NVML under pynvml: `install` replaces pynvml.CDLL, so the real binding's loading, structures, function cache
and error classes run. The values are the `nvml` object of a machine's JSON:

    {"driver_version": "580.105.08", "nvml_version": "13.580.105.08", "cuda_version": 13000,
     "missing_functions": ["nvmlDeviceGetTemperatureV"],
     "defaults": {...}, "gpus": [{"uuid": "GPU-...", "pci_bus_id": "0000:1b:00.0", ...}, ...]}

`cuda_version` is 1000 x major + 10 x minor. `missing_functions` (may be left out) are C names that this driver's
library does not export. `gpus` stand in NVML's index order, which is by PCI address; each takes what `defaults`
has and adds or overrides. A key that is null or absent: the functions that read it answer NOT_SUPPORTED.
A key that is not listed here is refused. The keys of a GPU, in `defaults` or in one of `gpus`:

    uuid                    `GPU-` and a UUID
    pci_bus_id              `0000:1b:00.0`, as the kernel writes it
    pci_device_id           device and vendor as NVML has them in one number: "233010de"
    pci_subsystem_id        likewise: "16c110de"
    serial, minor_number    "1650000000001", 0: the N of /dev/nvidiaN
    name, vbios_version, board_part_number, gsp_firmware_version
    compute_capability      [9, 0]
    display_active, display_mode, persistence_mode (bools)
    compute_mode            0 default, 1 exclusive thread, 2 prohibited, 3 exclusive process
    mig_enabled, mig_pending (bools), max_mig_devices
    ecc_enabled, ecc_pending (bools)
    memory_total_bytes, memory_reserved_bytes, memory_used_bytes; free is what remains. Total null: unified memory
    bar1_total_bytes, bar1_used_bytes
    gpu_utilization_percent, memory_utilization_percent, encoder_utilization_percent, decoder_utilization_percent
    temperature_celsius, memory_temperature_celsius
    fan_speeds_percent      [30, 31], one for each fan
    performance_state       0 for P0
    clocks_event_reasons    those that are active, of gpu_idle, applications_clocks_setting, sw_power_cap, hw_slowdown,
                            sync_boost, sw_thermal_slowdown, hw_thermal_slowdown, hw_power_brake_slowdown,
                            display_clock_setting
    graphics_clock_mhz, sm_clock_mhz, memory_clock_mhz, video_clock_mhz
    max_graphics_clock_mhz, max_sm_clock_mhz, max_memory_clock_mhz, max_video_clock_mhz
    power_average_watts, power_instant_watts, energy_joules (since the driver was loaded)
    power_limit_watts (as requested), enforced_power_limit_watts, default_power_limit_watts,
    min_power_limit_watts, max_power_limit_watts
    pcie_generation, pcie_width, max_pcie_generation, max_pcie_width
    pcie_replay_counter, pcie_tx_kbytes_per_s, pcie_rx_kbytes_per_s
    nvlinks                 how many this GPU has
    nvlinks_down            [3, 7], those of them that are not up
    nvlink_version          "4.0"
    ecc_volatile_corrected, ecc_volatile_uncorrected, ecc_aggregate_corrected, ecc_aggregate_uncorrected
    remapped_rows_correctable, remapped_rows_uncorrectable, remap_pending, remap_failure (bools)
    retired_pages_sbe, retired_pages_dbe
    recovery_action         "none", "gpu-reset", "node-reboot", "drain-p2p" or "drain-and-reset"
    processes               [{"pid": 4242, "kind": "compute", "memory_bytes": 1073741824}]; kind `compute`, `graphics`
                            or `mps`; memory_bytes null: NVML has no figure for it
"""

import re
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Sequence

from .faults import Fault, idle
from .nvml_functions import EVENT_REASONS, NVLINK_VERSIONS, RECOVERY_ACTIONS


class InvalidNvmlError(ValueError):
    """The `nvml` object is none; the message names the place."""


class _Form(NamedTuple):
    expected: str
    fits: Callable[[Any], bool]


def _matching(pattern: str, example: str) -> _Form:
    return _Form(
        "a text such as " + example, lambda value: isinstance(value, str) and bool(re.fullmatch(pattern, value))
    )


def _one_of(words: Sequence[str]) -> _Form:
    return _Form("one of " + ", ".join(words), lambda value: value in words)


def _list_of(form: _Form) -> _Form:
    return _Form(
        "a list, each {}".format(form.expected), lambda value: isinstance(value, list) and all(map(form.fits, value))
    )


def _is_process(value: Any) -> bool:
    if not isinstance(value, dict) or set(value) != {"pid", "kind", "memory_bytes"}:
        return False
    return _WHOLE.fits(value["pid"]) and value["kind"] in _KINDS and type(value["memory_bytes"]) in (int, type(None))


_KINDS = ("compute", "graphics", "mps")
_TEXT = _Form("a text", lambda value: isinstance(value, str))
_FLAG = _Form("true or false", lambda value: isinstance(value, bool))
_WHOLE = _Form("a whole number, not negative", lambda value: type(value) is int and value >= 0)
_NUMBER = _Form("a number, not negative", lambda value: type(value) in (int, float) and value >= 0)
_ID = _matching("[0-9a-f]{8}", "233010de")

_DRIVER = {"driver_version": _TEXT, "nvml_version": _TEXT, "cuda_version": _WHOLE, "missing_functions": _list_of(_TEXT)}
_ALIKE = (
    (_TEXT, "serial name vbios_version board_part_number gsp_firmware_version"),
    (_FLAG, "display_active display_mode persistence_mode mig_enabled mig_pending ecc_enabled ecc_pending"),
    (_FLAG, "remap_pending remap_failure"),
    (_WHOLE, "minor_number compute_mode max_mig_devices performance_state nvlinks"),
    (_WHOLE, "memory_total_bytes memory_reserved_bytes memory_used_bytes bar1_total_bytes bar1_used_bytes"),
    (_WHOLE, "gpu_utilization_percent memory_utilization_percent"),
    (_WHOLE, "encoder_utilization_percent decoder_utilization_percent"),
    (_WHOLE, "temperature_celsius memory_temperature_celsius"),
    (_WHOLE, "graphics_clock_mhz sm_clock_mhz memory_clock_mhz video_clock_mhz"),
    (_WHOLE, "max_graphics_clock_mhz max_sm_clock_mhz max_memory_clock_mhz max_video_clock_mhz"),
    (_WHOLE, "pcie_generation pcie_width max_pcie_generation max_pcie_width"),
    (_WHOLE, "pcie_replay_counter pcie_tx_kbytes_per_s pcie_rx_kbytes_per_s"),
    (_WHOLE, "ecc_volatile_corrected ecc_volatile_uncorrected ecc_aggregate_corrected ecc_aggregate_uncorrected"),
    (_WHOLE, "remapped_rows_correctable remapped_rows_uncorrectable retired_pages_sbe retired_pages_dbe"),
    (_NUMBER, "power_average_watts power_instant_watts energy_joules power_limit_watts enforced_power_limit_watts"),
    (_NUMBER, "default_power_limit_watts min_power_limit_watts max_power_limit_watts"),
)
KEYS: Dict[str, _Form] = {
    "uuid": _matching("GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "GPU-1b2c3d4e-0000-4000-8000-0123456789ab"),
    "pci_bus_id": _matching("[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}[.][0-7]", "0000:1b:00.0"),
    "pci_device_id": _ID,
    "pci_subsystem_id": _ID,
    "compute_capability": _Form("two whole numbers", lambda value: _list_of(_WHOLE).fits(value) and len(value) == 2),
    "fan_speeds_percent": _list_of(_WHOLE),
    "clocks_event_reasons": _list_of(_one_of(EVENT_REASONS)),
    "nvlinks_down": _list_of(_WHOLE),
    "nvlink_version": _one_of(tuple(NVLINK_VERSIONS)),
    "recovery_action": _one_of(RECOVERY_ACTIONS),
    "processes": _list_of(_Form('{"pid", "kind", "memory_bytes"}', _is_process)),
    **{key: form for form, keys in _ALIKE for key in keys.split()},
}
"""What each key of a GPU may hold, besides null."""


def check(nvml: Mapping[str, Any]) -> None:
    """Raises InvalidNvmlError, with the nearest key for one that there is not."""
    defaults, gpus = nvml.get("defaults", {}), nvml.get("gpus")
    if not isinstance(gpus, list) or not all(isinstance(part, dict) for part in (defaults, *gpus)):
        raise InvalidNvmlError("nvml: `gpus` is a list of objects, `defaults` an object")
    _check("nvml", {key: nvml[key] for key in nvml if key not in ("defaults", "gpus")}, _DRIVER)
    _check("nvml.defaults", defaults, KEYS)
    for place, gpu in enumerate(gpus):
        _check("nvml.gpus[{}]".format(place), gpu, KEYS)
    _demand("nvml", nvml, ("driver_version",))
    for place, gpu in enumerate(gpus):
        _demand("nvml.gpus[{}]".format(place), dict(defaults, **gpu), ("uuid", "pci_bus_id", "name"))


def install(nvml: Optional[Mapping[str, Any]], faults: Sequence[Fault] = ()) -> None:
    """Let pynvml load the mock from now on; with None, or the fault no-library, it finds no library.

    A fault that finds nothing to act on (see faults.idle) changes nothing. Raises InvalidNvmlError.
    """
    import pynvml

    from .nvml_library import Library

    if nvml is not None:
        check(nvml)
    nothing = idle(faults, len(nvml["gpus"]) if nvml else 0)
    active = [fault for fault in faults if fault not in nothing]

    def load(name: str) -> Library:
        if nvml is None or any(fault.name == "no-library" for fault in active):
            raise OSError(name + ": cannot open shared object file: No such file or directory")
        return Library(nvml, active)

    pynvml.CDLL = load
    pynvml.nvmlLib, pynvml._nvmlLib_refcount = None, 0
    pynvml._nvmlGetFunctionPointer_cache.clear()


def _check(where: str, values: Mapping[str, Any], forms: Mapping[str, _Form]) -> None:
    for key, value in values.items():
        if key not in forms:
            import difflib  # costs more than all the rest, and is seldom needed

            nearest = difflib.get_close_matches(key, forms, n=1, cutoff=0)[0]
            raise InvalidNvmlError("{}: unknown key {!r}; nearest: {!r}".format(where, key, nearest))
        if value is not None and not forms[key].fits(value):
            raise InvalidNvmlError("{}.{}: {} is expected".format(where, key, forms[key].expected))


def _demand(where: str, values: Mapping[str, Any], keys: Sequence[str]) -> None:
    for key in keys:
        if values.get(key) is None:
            raise InvalidNvmlError("{}: {!r} is missing".format(where, key))
