"""NVML by its binding, pynvml. No other file of the node imports that; see nvml_calls for what becomes of errors.

NVML is not shut down at the end: a call may be in flight in a thread that was given up.
"""

import os
import re
from typing import Any, Callable, List, Optional, Sequence, Tuple

from .. import deadline
from ..facts import (
    AcceleratorDriver,
    GpuErrors,
    GpuFabric,
    GpuHealth,
    GpuIdentity,
    GpuInstance,
    GpuLimits,
    GpuLink,
    GpuPcie,
    GpuProcess,
    GpuTelemetry,
)
from . import NVIDIA, AcceleratorError, Meter, Pci, Setters, nvml_processes
from .nvml_calls import CORRUPTED_INFOROM, INVALID_ARGUMENT, NOT_SUPPORTED, Calls, RefusalError, known, label, member
from .nvml_structures import fabric, memory, sram
from .nvml_words import (
    THERMAL_REASONS,
    event_reasons,
    nvlink_version,
    recovery_action,
    virtualization_mode,
)

INIT_LIMIT_S = 8.0
GPU_INIT_LIMIT_S = 1.5
"""More for each GPU of the machine: the first handle of a GPU initialises it where persistence mode is off, which
takes 1.47 s on a published measurement (pop-os/system76-power#492), and the driver does one after the other."""

# NVML_FI_DEV_*
_MEMORY_TEMPERATURE = 82
_SW_POWER_CAP = 74
_RECOVERY_ACTION = 230
_SHUTDOWN_MARGIN, _SLOWDOWN_MARGIN = 193, 194
_SLOWDOWNS = ((580, (269, 270, 271)), (575, (251, 252, 253)))
"""By the driver branch that began with it: how long software, hardware and the power brake slowed the GPU down. What
575 counted under 252 means the privilege level of power smoothing since 580."""

_NVLINK_MAX_LINKS = 36
"""Of any part (nvml.h of driver 590)."""
_LAST_PERFORMANCE_STATE = 15
"""P15; 32 stands for unknown."""
_SM, _MEMORY = 1, 2  # nvmlClockType_t
_SHUTDOWN, _SLOWDOWN = 0, 1  # nvmlTemperatureThresholds_t
_CORRECTED, _UNCORRECTED = 0, 1  # nvmlMemoryErrorType_t
_VOLATILE, _AGGREGATE = 0, 1  # nvmlEccCounterType_t
_SINGLE_BIT, _DOUBLE_BIT = 0, 1  # nvmlPageRetirementCause_t

_UNIFIED = re.compile(r"\b(GB10|Thor|Orin|Xavier|Tegra)\b")
"""Integrated GPUs, which have no memory of their own (NVIDIA's DGX Spark and Jetson guides). Another GPU that tells no
memory size merely fails to."""
_MOST_GPUS = 256
"""In one machine: a count beyond it was not written by a driver, and each costs a thread."""
_POWER_FACTOR = 2
"""A reading of more than so many times the highest limit is none (milliwatts taken for watts, leftovers)."""


class Nvml:
    """NVIDIA's library. One object for a process; `driver` comes before all else."""

    vendor = "nvidia"
    source = "libnvidia-ml.so.1"
    tested_on_hardware = False
    count_call = "nvmlDeviceGetCount_v2"
    told_at_once = False
    pci: Optional[Pci] = NVIDIA

    def __init__(self, door: Callable[[Any], Calls] = Calls) -> None:
        """`door` makes Calls of the module pynvml; one that records is another."""
        self._door = door
        self._calls: Optional[Calls] = None
        self._pid = os.getpid()
        self._version = ""
        self._count = 0

    def driver(self) -> AcceleratorDriver:
        calls = self._load()
        cuda = calls.read("nvmlSystemGetCudaDriverVersion_v2")
        return AcceleratorDriver(
            vendor=self.vendor,
            version=self._version,
            library_version=calls.read("nvmlSystemGetNVMLVersion"),
            runtime_version=None if cuda is None else "{}.{}".format(cuda // 1000, cuda % 1000 // 10),
        )

    def count(self) -> int:
        count = int(self._load().call(self.count_call))
        if count > _MOST_GPUS:
            raise AcceleratorError("error", self.count_call, "tells of {} GPUs".format(count))
        self._count = count
        return count

    def open(self, index: int) -> "NvmlGpu":
        calls = self._load()
        limit_s = INIT_LIMIT_S + GPU_INIT_LIMIT_S * self._count
        handle = calls.call("nvmlDeviceGetHandleByIndex_v2", index, limit_s=limit_s)
        return NvmlGpu(index, calls.part(handle), _release(self._version))

    def close(self) -> None:
        calls, self._calls = self._calls, None
        if calls is not None and self._pid == os.getpid():
            calls.call("nvmlShutdown")

    def _load(self) -> Calls:
        if self._calls is None or self._pid != os.getpid():  # what was loaded before a fork is of no use after it
            deadline.calling("import pynvml", INIT_LIMIT_S)
            try:
                import pynvml
            except ImportError:
                missing = "the Python package nvidia-ml-py is not installed"
                raise AcceleratorError("no-library", "import pynvml", missing) from None
            calls = self._door(pynvml)
            calls.call("nvmlInitWithFlags", 0, limit_s=INIT_LIMIT_S)
            name = "nvmlSystemGetDriverVersion"
            self._version = _certain(name, known(calls.call(name)))
            self._calls, self._pid = calls, os.getpid()
        return self._calls


class NvmlGpu:
    """One NVIDIA GPU. For one thread at a time."""

    def __init__(self, index: int, calls: Calls, release: Tuple[int, int]) -> None:
        self.index = index
        self._calls = calls
        self._read = calls.read
        self._release = release
        slowdowns = next((fields for since, fields in _SLOWDOWNS if release[0] >= since), ())
        self._slowdowns = slowdowns
        self._fields = (_MEMORY_TEMPERATURE, _SW_POWER_CAP, *slowdowns)
        self._most_watts: Optional[float] = None  # 0: not known

    @property
    def unsupported(self) -> Tuple[str, ...]:
        return tuple(sorted(map(label, self._calls.refused)))

    @property
    def failures(self) -> Tuple[AcceleratorError, ...]:
        return tuple(self._calls.failed.values())

    def uuid(self) -> str:
        name = "nvmlDeviceGetUUID"
        return _certain(name, known(self._calls.call(name)))

    def pci(self) -> str:
        name = "nvmlDeviceGetPciInfo_v3"
        address = _certain(name, member(self._calls.call(name), "busId"))
        domain, _, rest = address.lower().partition(":")
        try:
            return "{:04x}:{}".format(int(domain, 16), rest)  # NVML writes eight digits, the kernel four or more
        except ValueError:
            raise AcceleratorError("error", name, "no PCI address: {!r}".format(address)) from None

    def identity(self) -> GpuIdentity:
        name, size = _certain("nvmlDeviceGetName", self._read("nvmlDeviceGetName")), memory(self._calls)
        return GpuIdentity(
            name=name,
            serial=self._read("nvmlDeviceGetSerial"),
            vbios=self._read("nvmlDeviceGetVbiosVersion"),
            memory_bytes=member(size, "total"),
            mig_enabled=_flag(self._read_tuple("nvmlDeviceGetMigMode", 2)[0]),
            persistence_mode=_flag(self._read("nvmlDeviceGetPersistenceMode")),
            unified_memory=False if size else bool(_UNIFIED.search(name)) or None,
            virtualization_mode=virtualization_mode(self._read("nvmlDeviceGetVirtualizationMode")),
            inforom_version=self._read("nvmlDeviceGetInforomImageVersion"),
        )

    def telemetry(self) -> GpuTelemetry:
        read, size = self._read, memory(self._calls)
        utilization = read("nvmlDeviceGetUtilizationRates")
        memory_temperature, *slowdowns_ns = self._calls.read_fields(*self._fields)
        state = read("nvmlDeviceGetPerformanceState")
        names = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
        reasons = event_reasons(self._calls.read_first(names))
        power_cap, software, hardware, power_brake = (*slowdowns_ns, None, None, None)[:4]
        return GpuTelemetry(
            gpu_utilization_percent=self._percent(utilization, "gpu"),
            memory_utilization_percent=self._percent(utilization, "memory"),
            memory_used_bytes=member(size, "used"),
            memory_reserved_bytes=member(size, "reserved"),
            memory_free_bytes=member(size, "free"),
            temperature_celsius=self._calls.read_first(("nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature"), 0),
            memory_temperature_celsius=memory_temperature,
            power_watts=self._power(),
            sm_clock_mhz=read("nvmlDeviceGetClockInfo", _SM),
            memory_clock_mhz=read("nvmlDeviceGetClockInfo", _MEMORY),
            performance_state=None if state is None or state > _LAST_PERFORMANCE_STATE else state,
            clocks_event_reasons=reasons,
            temperature_margin_celsius=self._margin(reasons),
            sw_power_cap_ns=power_cap,
            sw_thermal_slowdown_ns=software,
            hw_thermal_slowdown_ns=hardware,
            hw_power_brake_slowdown_ns=power_brake,
        )

    def pcie(self) -> GpuPcie:
        return GpuPcie(
            generation=self._read("nvmlDeviceGetCurrPcieLinkGeneration"),
            width=self._read("nvmlDeviceGetCurrPcieLinkWidth"),
            max_generation=self._read("nvmlDeviceGetMaxPcieLinkGeneration"),
            max_width=self._read("nvmlDeviceGetMaxPcieLinkWidth"),
            replay_counter=self._read("nvmlDeviceGetPcieReplayCounter"),
            device_max_generation=self._read("nvmlDeviceGetGpuMaxPcieLinkGeneration"),
        )

    def links(self) -> Optional[Tuple[GpuLink, ...]]:
        name = "nvmlDeviceGetNvLinkState"
        if (name,) in self._calls.refused:
            return None
        found: List[GpuLink] = []
        version: Optional[str] = None
        for link in range(_NVLINK_MAX_LINKS):
            try:
                active = bool(self._calls.call(name, link))
            except AcceleratorError as error:
                code = error.code if isinstance(error, RefusalError) else None
                if code == INVALID_ARGUMENT:
                    break  # past the last one
                if code in NOT_SUPPORTED:
                    continue  # a part without links, or with fewer than its chip has
                self._calls.settle((name,), error)
                return None  # fewer links than there are would be no truth
            if active and version is None:  # those of one GPU are of one kind
                version = nvlink_version(self._read("nvmlDeviceGetNvLinkVersion", link))
            found.append(GpuLink(link, active, version if active else None))
        self._calls.failed.pop((name,), None)
        if not found:
            self._calls.refused.add((name,))
        return tuple(found) or None

    def errors(self) -> GpuErrors:
        correctable, uncorrectable, pending, failure = self._read_tuple("nvmlDeviceGetRemappedRows", 4)
        (action,) = self._calls.read_fields(_RECOVERY_ACTION)
        cells = sram(self._calls)
        return GpuErrors(
            ecc_enabled=_flag(self._read_tuple("nvmlDeviceGetEccMode", 2)[0]),
            volatile_corrected=self._read("nvmlDeviceGetTotalEccErrors", _CORRECTED, _VOLATILE),
            volatile_uncorrected=self._read("nvmlDeviceGetTotalEccErrors", _UNCORRECTED, _VOLATILE),
            aggregate_corrected=self._read("nvmlDeviceGetTotalEccErrors", _CORRECTED, _AGGREGATE),
            aggregate_uncorrected=self._read("nvmlDeviceGetTotalEccErrors", _UNCORRECTED, _AGGREGATE),
            remapped_rows_correctable=correctable,
            remapped_rows_uncorrectable=uncorrectable,
            remap_pending=_flag(pending),
            remap_failure=_flag(failure),
            retired_pages_sbe=_length(self._read("nvmlDeviceGetRetiredPages", _SINGLE_BIT)),
            retired_pages_dbe=_length(self._read("nvmlDeviceGetRetiredPages", _DOUBLE_BIT)),
            recovery_action=recovery_action(action),
            retired_pages_pending=_flag(self._read("nvmlDeviceGetRetiredPagesPendingStatus")),
            sram_volatile_parity=member(cells, "volatileUncParity"),
            sram_volatile_secded=member(cells, "volatileUncSecDed"),
            sram_aggregate_parity=member(cells, "aggregateUncParity"),
            sram_aggregate_secded=member(cells, "aggregateUncSecDed"),
            sram_threshold_exceeded=_flag(member(cells, "bThresholdExceeded")),
            inforom_valid=self._inforom_valid(),
        )

    def limits(self) -> GpuLimits:
        least, most = self._constraints()
        shutdown_margin, slowdown_margin = self._calls.read_fields(_SHUTDOWN_MARGIN, _SLOWDOWN_MARGIN)
        return GpuLimits(
            power_limit_watts=_watts(self._read("nvmlDeviceGetPowerManagementLimit")),
            enforced_power_limit_watts=_watts(self._read("nvmlDeviceGetEnforcedPowerLimit")),
            default_power_limit_watts=_watts(self._read("nvmlDeviceGetPowerManagementDefaultLimit")),
            min_power_limit_watts=_watts(least),
            max_power_limit_watts=_watts(most),
            max_sm_clock_mhz=self._read("nvmlDeviceGetMaxClockInfo", _SM),
            max_memory_clock_mhz=self._read("nvmlDeviceGetMaxClockInfo", _MEMORY),
            slowdown_celsius=self._read("nvmlDeviceGetTemperatureThreshold", _SLOWDOWN),
            shutdown_celsius=self._read("nvmlDeviceGetTemperatureThreshold", _SHUTDOWN),
            slowdown_margin_celsius=slowdown_margin,
            shutdown_margin_celsius=shutdown_margin,
        )

    def processes(self) -> Optional[Tuple[GpuProcess, ...]]:
        return nvml_processes.read(self._calls, self._release)

    def fabric(self) -> Optional[GpuFabric]:
        return fabric(self._calls)

    def instances(self) -> Optional[Tuple[GpuInstance, ...]]:
        if not self._read_tuple("nvmlDeviceGetMigMode", 2)[0]:
            return None
        from . import nvml_mig  # few are divided

        return nvml_mig.read(self._calls)

    def setters(self) -> Optional[Setters]:
        from .nvml_set import NvmlSetters  # of no use to those who look

        return NvmlSetters(self._calls)

    def health(self, links: Optional[Sequence[GpuLink]]) -> GpuHealth:
        from . import nvml_health  # of use to `diagnose` alone

        return nvml_health.read(self._calls, links or ())

    def meter(self) -> Meter:
        from .nvml_meter import NvmlMeter  # of no use to those who look once

        links = [link for link in self.links() or () if link.active]
        return NvmlMeter(self._calls, self._slowdowns, links)

    def _percent(self, utilization: Any, name: str) -> Optional[int]:
        value: Optional[int] = member(utilization, name)
        if value is None or value <= 100:
            return value
        self._calls.doubt("nvmlDeviceGetUtilizationRates", "{} %".format(value), "it is a part of the time")
        return None

    def _power(self) -> Optional[float]:
        watts = _watts(self._read("nvmlDeviceGetPowerUsage"))
        if self._most_watts is None:
            self._most_watts = _watts(self._constraints()[1]) or 0.0
        if watts is None or not self._most_watts or watts <= _POWER_FACTOR * self._most_watts:
            return watts
        limit = "the limit is {:g} W".format(self._most_watts)
        self._calls.doubt("nvmlDeviceGetPowerUsage", "{:g} W".format(watts), limit)
        return None

    def _constraints(self) -> Sequence[Any]:
        return self._read_tuple("nvmlDeviceGetPowerManagementLimitConstraints", 2)

    def _margin(self, reasons: Optional[Sequence[str]]) -> Optional[int]:
        """A part that has no such sensor tells 0 or less, but so does one that is too hot (leptonai/gpud#1208)."""
        margin: Optional[int] = self._read("nvmlDeviceGetMarginTemperature")
        if margin is None or margin > 0 or any(reason in THERMAL_REASONS for reason in reasons or ()):
            return margin
        return None

    def _inforom_valid(self) -> Optional[bool]:
        """By the checksum of the configuration; to validate the whole image takes long (nvidia_gpu_exporter#332)."""
        name = "nvmlDeviceGetInforomConfigurationChecksum"
        try:
            return None if (name,) in self._calls.refused else bool(self._calls.call(name) is not None)
        except AcceleratorError as error:
            if isinstance(error, RefusalError) and error.code == CORRUPTED_INFOROM:
                return False
            self._calls.settle((name,), error)
            return None

    def _read_tuple(self, name: str, size: int) -> Sequence[Any]:
        values = self._read(name)
        return (None,) * size if values is None else [known(value) for value in values]


def _release(version: str) -> Tuple[int, int]:
    """Branch and number: (535, 54) of 535.54.03."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return (int(numbers.group(1)), int(numbers.group(2))) if numbers else (0, 0)


def _certain(name: str, value: Optional[str]) -> str:
    if value is None:
        raise AcceleratorError("error", name, "gave nothing")
    return value


def _watts(milliwatts: Optional[int]) -> Optional[float]:
    return None if milliwatts is None else milliwatts / 1000.0


def _flag(value: Optional[int]) -> Optional[bool]:
    return None if value is None else bool(value)


def _length(items: Optional[Sequence[Any]]) -> Optional[int]:
    return None if items is None else len(items)
