"""A mock NVML under pynvml: `install` replaces pynvml.CDLL, so the real binding's loading, structures, function cache
and error classes run. The values are the `nvml` object of a machine's JSON:

    {"driver_version": "580.105.08", "nvml_version": "13.580.105.08", "cuda_version": 13000,
     "defaults": {...}, "gpus": [{"uuid": "GPU-...", "pci_bus_id": "0000:1b:00.0", ...}, ...]}

`gpus` stand in NVML's index order, which is by PCI address; each takes what `defaults` has and adds or overrides. A
key that is null or absent: the functions that read it answer NOT_SUPPORTED. A key that is not listed here is refused.

Keys of the `nvml` object itself, which may all but the first be left out:

    driver_version          "580.105.08". Some answers follow from it: which field ids there are and, from 535.43 to
                            535.85, process structures that are longer than the header says
    nvml_version, cuda_version (1000 x major + 10 x minor)
    missing_functions       ["nvmlDeviceGetTemperatureV"]: C names that this driver's library does not export
    errors                  of functions that take no handle of a GPU, as described below:
                            {"nvmlInit*": "NVML_ERROR_DRIVER_NOT_LOADED"}
    unprivileged            true: who calls is not root, and every setter answers NO_PERMISSION
    seed                    a whole number: each GPU works, now more, now less, and its utilisations, clocks, power,
                            temperatures, used memory and counters follow, as a function of seed, index and the
                            monotonic clock. Absent: what is written here stays

Keys of a GPU, in `defaults` or in one of `gpus`:

    uuid                    `GPU-` and a UUID
    pci_bus_id              `0000:1b:00.0`, as the kernel writes it
    pci_device_id           device and vendor as NVML has them in one number: "233010de"
    pci_subsystem_id        likewise: "16c110de"
    serial, minor_number    "1650000000001", 0: the N of /dev/nvidiaN
    name, vbios_version, board_part_number, gsp_firmware_version
    inforom_image_version   "G520.0200.00.05"
    inforom_valid           false: what reads the InfoROM answers CORRUPTED_INFOROM
    compute_capability      [9, 0]
    virtualization_mode     "none", "pass-through", "vgpu" (a guest), "host-vgpu" or "host-vsga"
    display_active, display_mode, persistence_mode (bools)
    compute_mode            0 default, 1 exclusive thread, 2 prohibited, 3 exclusive process
    ecc_enabled, ecc_pending (bools)
    memory_total_bytes, memory_reserved_bytes, memory_used_bytes; free is what remains. Total null: unified memory;
                            0: likewise, on drivers that answer with zeros
    bar1_total_bytes, bar1_used_bytes
    gpu_utilization_percent, memory_utilization_percent, encoder_utilization_percent, decoder_utilization_percent
    temperature_celsius, memory_temperature_celsius
    temperature_margin_celsius                      "GPU T.Limit Temp" of nvidia-smi: counts down, may be negative
    shutdown_tlimit_celsius, slowdown_tlimit_celsius, memory_max_tlimit_celsius, gpu_max_tlimit_celsius
                            margins at which that happens: -8, -2, 0, 0 (Ada, Hopper and later)
    shutdown_threshold_celsius, slowdown_threshold_celsius, memory_max_threshold_celsius, gpu_max_threshold_celsius
                            temperatures at which that happens (Ampere and earlier)
    fan_speeds_percent      [30, 31], one for each fan
    performance_state       0 for P0
    clocks_event_reasons    those that are active, of gpu_idle, applications_clocks_setting, sw_power_cap, hw_slowdown,
                            sync_boost, sw_thermal_slowdown, hw_thermal_slowdown, hw_power_brake_slowdown,
                            display_clock_setting. Hardware sets hw_slowdown together with either of the two others
    sw_power_cap_ns, sync_boost_ns, sw_thermal_slowdown_ns, hw_thermal_slowdown_ns, hw_power_brake_slowdown_ns
                            how long each was active since the driver was loaded
    graphics_clock_mhz, sm_clock_mhz, memory_clock_mhz, video_clock_mhz
    max_graphics_clock_mhz, max_sm_clock_mhz, max_memory_clock_mhz, max_video_clock_mhz
    locked_clocks_mhz       [1200, 1500]: the range that graphics and SM clocks are held in
    power_average_watts, power_instant_watts, energy_joules (since the driver was loaded)
    power_limit_watts (as requested), enforced_power_limit_watts, default_power_limit_watts,
    min_power_limit_watts, max_power_limit_watts
    pcie_generation, pcie_width, max_pcie_generation, max_pcie_width (of the link: the lesser of both ends),
    device_max_pcie_generation
    pcie_replay_counter, pcie_tx_kbytes_per_s, pcie_rx_kbytes_per_s, pcie_tx_bytes, pcie_rx_bytes
    nvlinks                 how many this GPU has
    nvlinks_down            [3, 7], those of them that are not up
    nvlink_version          "4.0"
    nvlink_tx_kib, nvlink_rx_kib                    data counter of each link
    nvlink_replay_errors, nvlink_recovery_errors, nvlink_crc_errors   of each link
    fabric_state            "not-supported", "not-started", "in-progress" or "completed"
    fabric_status           how the registration ended, an nvmlReturn_t: 0 success
    fabric_clique_id, fabric_cluster_uuid ("00000000-...")
    fabric_health           what is wrong, of degraded-bandwidth, route-recovery, route-unhealthy,
                            access-timeout-recovery, incorrect-configuration; []: healthy; null: not told
    ecc_volatile_corrected, ecc_volatile_uncorrected, ecc_aggregate_corrected, ecc_aggregate_uncorrected
    sram_volatile_corrected, sram_volatile_parity, sram_volatile_secded,
    sram_aggregate_corrected, sram_aggregate_parity, sram_aggregate_secded (parity and SEC-DED: uncorrected ones)
    sram_threshold_exceeded (bool)
    remapped_rows_correctable, remapped_rows_uncorrectable, remap_pending, remap_failure (bools)
    retired_pages_sbe, retired_pages_dbe, retired_pages_pending (bool)
    recovery_action         "none", "gpu-reset", "node-reboot", "drain-p2p" or "drain-and-reset"
    processes               [{"pid": 4242, "kind": "compute", "memory_bytes": 1073741824}]; kind `compute`, `graphics`
                            or `mps`; memory_bytes null: NVML has no figure for it. With MIG also
                            "gpu_instance_id": 2, "compute_instance_id": 0
    mig_enabled, mig_pending (bools), max_mig_devices
    mig_devices             [{"uuid": "MIG-...", "gpu_instance_id": 2, "compute_instance_id": 0, "profile": "3g.40gb",
                            "memory_total_bytes": ..., "memory_used_bytes": ..., "memory_reserved_bytes": 0,
                            "multiprocessors": 60, "bar1_total_bytes": ..., "bar1_used_bytes": 0,
                            "gpm_gpu_percent": 40, "gpm_memory_percent": 10}], the last two for GPM alone. With MIG
                            on, a real parent has no utilisation, encoder, decoder or remapped rows: write null for them
    latency_ms              5: each call on it takes so much longer
    fever_s                 120: from when the library was loaded it works harder and harder for half of so many
                            seconds, and less and less for the other half, and gets 62 C warmer at its default power
                            limit, in proportion less at a lower one. Temperatures tremble by a degree, by `seed`
    xids                    [{"xid": 79, "after_s": 0}]: events, each given once to every event set that waits for
                            them, so long after the library was loaded
    errors                  what functions answer instead, by a shell pattern of C names:
                            {"nvmlDeviceGetFanSpeed*": "NVML_ERROR_TIMEOUT", "nvmlDeviceGetName": {"error": "hang"}}

`errors`: the first pattern that fits decides. The answer is a name of nvmlReturn_t, or `hang`: the call does not
return. As an object it may also have "after": 3, the first three calls that fit are answered; "until": 5, so are those
from the sixth on; "probability": 0.1, by chance, from `seed`. A pattern reaches the functions that open a handle only
where it begins with nvmlDeviceGetHandle: {"*": E, "nvmlDeviceGetHandle*": E} is a GPU that answers E to all. A GPU
that is not to be seen by this user: {"nvmlDeviceGetHandle*": "NVML_ERROR_NO_PERMISSION"}.

Setters check as the driver does, and what they set reads back: with an overlay also in later processes, as JSON under
`nvml:gpu3:power_limit_watts`.
"""

import re
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Sequence

from ..node.host.machine import Overlay
from .faults import Change
from .nvml_words import (
    CODES,
    EVENT_REASONS,
    FABRIC_HEALTH,
    FABRIC_STATES,
    HANG,
    NVLINK_VERSIONS,
    RECOVERY_ACTIONS,
    VIRTUALIZATION_MODES,
)


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


def _or_null(form: _Form) -> _Form:
    return _Form(form.expected + " or null", lambda value: value is None or form.fits(value))


def _object(needed: Mapping[str, _Form], optional: Mapping[str, _Form]) -> _Form:
    forms = dict(needed, **optional)

    def fits(value: Any) -> bool:
        if not isinstance(value, dict) or not set(needed) <= set(value) <= set(forms):
            return False
        return all(forms[key].fits(item) for key, item in value.items())

    return _Form("{{{}}}".format(", ".join('"{}"'.format(key) for key in needed)), fits)


_TEXT = _Form("a text", lambda value: isinstance(value, str))
_FLAG = _Form("true or false", lambda value: isinstance(value, bool))
_WHOLE = _Form("a whole number, not negative", lambda value: type(value) is int and value >= 0)
_SIGNED = _Form("a whole number", lambda value: type(value) is int)
_NUMBER = _Form("a number, not negative", lambda value: type(value) in (int, float) and value >= 0)
_ID = _matching("[0-9a-f]{8}", "233010de")
_UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"

_INSTANCE = {"gpu_instance_id": _WHOLE, "compute_instance_id": _WHOLE}
_PROCESS = _object(
    {"pid": _WHOLE, "kind": _one_of(("compute", "graphics", "mps")), "memory_bytes": _or_null(_WHOLE)}, _INSTANCE
)
_MIG_DEVICE = _object(
    {
        "uuid": _matching("MIG-" + _UUID, "MIG-1b2c3d4e-0000-4000-8000-0123456789ab"),
        "profile": _matching("([1-7]c[.])?[1-7]g[.][0-9]+gb([+][a-z.]+)?", "3g.40gb"),
        "memory_total_bytes": _WHOLE,
        "memory_used_bytes": _WHOLE,
        **_INSTANCE,
    },
    {
        **dict.fromkeys(("memory_reserved_bytes", "multiprocessors", "bar1_total_bytes", "bar1_used_bytes"), _WHOLE),
        **dict.fromkeys(("gpm_gpu_percent", "gpm_memory_percent"), _WHOLE),
    },
)
_ERROR = _one_of((*CODES, HANG))
_ANSWER = _object({"error": _ERROR}, {"after": _WHOLE, "until": _WHOLE, "probability": _NUMBER})
_ERRORS = _Form(
    "an object, of each pattern a name of nvmlReturn_t, `hang`, or {}".format(_ANSWER.expected),
    lambda value: isinstance(value, dict) and all(_ERROR.fits(item) or _ANSWER.fits(item) for item in value.values()),
)

_DRIVER = {
    "driver_version": _matching("[0-9]+([.][0-9]+)+", "580.105.08"),
    "nvml_version": _TEXT,
    "cuda_version": _WHOLE,
    "missing_functions": _list_of(_TEXT),
    "errors": _ERRORS,
    "unprivileged": _FLAG,
    "seed": _WHOLE,
}
_ALIKE = (
    (_TEXT, "serial name vbios_version board_part_number gsp_firmware_version inforom_image_version"),
    (_TEXT, "fabric_cluster_uuid"),
    (_FLAG, "display_active display_mode persistence_mode mig_enabled mig_pending ecc_enabled ecc_pending"),
    (_FLAG, "remap_pending remap_failure retired_pages_pending sram_threshold_exceeded inforom_valid"),
    (_WHOLE, "minor_number latency_ms fever_s compute_mode max_mig_devices performance_state"),
    (_WHOLE, "nvlinks fabric_status fabric_clique_id"),
    (_WHOLE, "memory_total_bytes memory_reserved_bytes memory_used_bytes bar1_total_bytes bar1_used_bytes"),
    (_WHOLE, "gpu_utilization_percent memory_utilization_percent"),
    (_WHOLE, "encoder_utilization_percent decoder_utilization_percent"),
    (_WHOLE, "temperature_celsius memory_temperature_celsius"),
    (_WHOLE, "shutdown_threshold_celsius slowdown_threshold_celsius"),
    (_WHOLE, "memory_max_threshold_celsius gpu_max_threshold_celsius"),
    (_SIGNED, "temperature_margin_celsius shutdown_tlimit_celsius slowdown_tlimit_celsius"),
    (_SIGNED, "memory_max_tlimit_celsius gpu_max_tlimit_celsius"),
    (_WHOLE, "sw_power_cap_ns sync_boost_ns sw_thermal_slowdown_ns hw_thermal_slowdown_ns hw_power_brake_slowdown_ns"),
    (_WHOLE, "graphics_clock_mhz sm_clock_mhz memory_clock_mhz video_clock_mhz"),
    (_WHOLE, "max_graphics_clock_mhz max_sm_clock_mhz max_memory_clock_mhz max_video_clock_mhz"),
    (_WHOLE, "pcie_generation pcie_width max_pcie_generation max_pcie_width device_max_pcie_generation"),
    (_WHOLE, "pcie_replay_counter pcie_tx_kbytes_per_s pcie_rx_kbytes_per_s pcie_tx_bytes pcie_rx_bytes"),
    (_WHOLE, "nvlink_tx_kib nvlink_rx_kib nvlink_replay_errors nvlink_recovery_errors nvlink_crc_errors"),
    (_WHOLE, "ecc_volatile_corrected ecc_volatile_uncorrected ecc_aggregate_corrected ecc_aggregate_uncorrected"),
    (_WHOLE, "sram_volatile_corrected sram_volatile_parity sram_volatile_secded"),
    (_WHOLE, "sram_aggregate_corrected sram_aggregate_parity sram_aggregate_secded"),
    (_WHOLE, "remapped_rows_correctable remapped_rows_uncorrectable retired_pages_sbe retired_pages_dbe"),
    (_NUMBER, "power_average_watts power_instant_watts energy_joules power_limit_watts enforced_power_limit_watts"),
    (_NUMBER, "default_power_limit_watts min_power_limit_watts max_power_limit_watts"),
)
_PAIR = _Form("two whole numbers", lambda value: _list_of(_WHOLE).fits(value) and len(value) == 2)
KEYS: Dict[str, _Form] = {
    "uuid": _matching("GPU-" + _UUID, "GPU-1b2c3d4e-0000-4000-8000-0123456789ab"),
    "pci_bus_id": _matching("[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}[.][0-7]", "0000:1b:00.0"),
    "pci_device_id": _ID,
    "pci_subsystem_id": _ID,
    "compute_capability": _PAIR,
    "virtualization_mode": _one_of(VIRTUALIZATION_MODES),
    "fan_speeds_percent": _list_of(_WHOLE),
    "clocks_event_reasons": _list_of(_one_of(EVENT_REASONS)),
    "locked_clocks_mhz": _PAIR,
    "nvlinks_down": _list_of(_WHOLE),
    "nvlink_version": _one_of(tuple(NVLINK_VERSIONS)),
    "fabric_state": _one_of(FABRIC_STATES),
    "fabric_health": _list_of(_one_of(FABRIC_HEALTH)),
    "recovery_action": _one_of(RECOVERY_ACTIONS),
    "processes": _list_of(_PROCESS),
    "mig_devices": _list_of(_MIG_DEVICE),
    "xids": _list_of(_object({"xid": _WHOLE, "after_s": _NUMBER}, {})),
    "errors": _ERRORS,
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


def install(
    nvml: Optional[Mapping[str, Any]], changes: Sequence[Change] = (), overlay: Optional[Overlay] = None
) -> None:
    """Let pynvml load the mock from now on; with None it finds no library.

    `changes` come over the GPUs' values as the program runs; what is set is kept in `overlay`. Raises InvalidNvmlError.
    """
    import pynvml

    from .nvml_library import Library  # with ctypes: not for those who only check

    if nvml is not None:
        check(nvml)

    def load(name: str) -> Library:
        if nvml is None:
            raise OSError(name + ": cannot open shared object file: No such file or directory")
        return Library(nvml, changes, overlay)

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
