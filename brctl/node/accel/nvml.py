"""NVML by its binding, pynvml. No other file of the node imports that; see nvml_calls for what becomes of errors.

NVML is never shut down: a call may be in flight in a thread that was given up.
"""

from typing import Any, List, Optional, Sequence, Tuple

from .. import deadline
from ..facts import (
    AcceleratorDriver,
    GpuErrors,
    GpuIdentity,
    GpuLimits,
    GpuLink,
    GpuPcie,
    GpuProcess,
    GpuTelemetry,
)
from . import AcceleratorError
from .nvml_calls import INVALID_ARGUMENT, NOT_SUPPORTED, Calls, RefusalError, known, label

INIT_LIMIT_S = 8.0
GPU_INIT_LIMIT_S = 1.5
"""More for each GPU of the machine: the first handle of a GPU initialises it where persistence mode is off, which
takes 1.47 s on a published measurement (pop-os/system76-power#492), and the driver does one after the other."""

_FIELD_MEMORY_TEMPERATURE = 82
_FIELD_RECOVERY_ACTION = 230

_EVENT_REASONS = (
    "gpu_idle",
    "applications_clocks_setting",
    "sw_power_cap",
    "hw_slowdown",
    "sync_boost",
    "sw_thermal_slowdown",
    "hw_thermal_slowdown",
    "hw_power_brake_slowdown",
    "display_clock_setting",
    "board_limit",
    "reliability",
)
"""nvmlClocksEventReason*, by their bit."""
_RECOVERY_ACTIONS = (
    "none",
    "gpu-reset",
    "node-reboot",
    "drain-p2p",
    "drain-and-reset",
    "recover-imex-domain",
    "bus-reset",
    "system-reboot",
)
_NVLINK_VERSIONS = {1: "1.0", 2: "2.0", 3: "2.2", 4: "3.0", 5: "3.1", 6: "4.0", 7: "5.0", 8: "6.0"}
_NVLINK_MAX_LINKS = 36
"""Of any part (nvml.h of driver 590)."""
_LAST_PERFORMANCE_STATE = 15
"""P15; 32 stands for unknown."""
_SM, _MEMORY = 1, 2  # nvmlClockType_t
_CORRECTED, _UNCORRECTED = 0, 1  # nvmlMemoryErrorType_t
_VOLATILE, _AGGREGATE = 0, 1  # nvmlEccCounterType_t
_SINGLE_BIT, _DOUBLE_BIT = 0, 1  # nvmlPageRetirementCause_t


class Nvml:
    """NVIDIA's library. One object for a process; `driver` comes before all else."""

    vendor = "nvidia"

    def __init__(self) -> None:
        self._calls: Optional[Calls] = None
        self._count = 0

    def driver(self) -> AcceleratorDriver:
        calls = self._load()
        name = "nvmlSystemGetDriverVersion"
        version = _certain(name, known(calls.call(name)))
        cuda = calls.read("nvmlSystemGetCudaDriverVersion_v2")
        return AcceleratorDriver(
            vendor=self.vendor,
            version=version,
            library_version=calls.read("nvmlSystemGetNVMLVersion"),
            runtime_version=None if cuda is None else "{}.{}".format(cuda // 1000, cuda % 1000 // 10),
        )

    def count(self) -> int:
        self._count = int(self._load().call("nvmlDeviceGetCount_v2"))
        return self._count

    def open(self, index: int) -> "NvmlGpu":
        calls = self._load()
        limit_s = INIT_LIMIT_S + GPU_INIT_LIMIT_S * self._count
        handle = calls.call("nvmlDeviceGetHandleByIndex_v2", index, limit_s=limit_s)
        return NvmlGpu(index, Calls(calls.pynvml, handle))

    def _load(self) -> Calls:
        if self._calls is None:
            deadline.calling("import pynvml", INIT_LIMIT_S)
            try:
                import pynvml
            except ImportError:
                missing = "the Python package nvidia-ml-py is not installed"
                raise AcceleratorError("no-library", "import pynvml", missing) from None
            calls = Calls(pynvml)
            calls.call("nvmlInitWithFlags", 0, limit_s=INIT_LIMIT_S)
            self._calls = calls
        return self._calls


class NvmlGpu:
    """One NVIDIA GPU. For one thread at a time."""

    def __init__(self, index: int, calls: Calls) -> None:
        self.index = index
        self._calls = calls
        self._read = calls.read

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
        address = _certain(name, _member(self._calls.call(name), "busId"))
        domain, _, rest = address.lower().partition(":")
        try:
            return "{:04x}:{}".format(int(domain, 16), rest)  # NVML writes eight digits, the kernel four or more
        except ValueError:
            raise AcceleratorError("error", name, "no PCI address: {!r}".format(address)) from None

    def identity(self) -> GpuIdentity:
        return GpuIdentity(
            name=_certain("nvmlDeviceGetName", self._read("nvmlDeviceGetName")),
            serial=self._read("nvmlDeviceGetSerial"),
            vbios=self._read("nvmlDeviceGetVbiosVersion"),
            memory_bytes=_member(self._memory(), "total"),
            mig_enabled=_flag(self._read_tuple("nvmlDeviceGetMigMode", 2)[0]),
            persistence_mode=_flag(self._read("nvmlDeviceGetPersistenceMode")),
        )

    def telemetry(self) -> GpuTelemetry:
        utilization, memory = self._read("nvmlDeviceGetUtilizationRates"), self._memory()
        (memory_temperature,) = self._calls.read_fields(_FIELD_MEMORY_TEMPERATURE)
        state = self._read("nvmlDeviceGetPerformanceState")
        return GpuTelemetry(
            gpu_utilization_percent=_member(utilization, "gpu"),
            memory_utilization_percent=_member(utilization, "memory"),
            memory_used_bytes=_member(memory, "used"),
            memory_reserved_bytes=_member(memory, "reserved"),
            memory_free_bytes=_member(memory, "free"),
            temperature_celsius=self._calls.read_first(("nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature"), 0),
            memory_temperature_celsius=memory_temperature,
            power_watts=_watts(self._read("nvmlDeviceGetPowerUsage")),
            sm_clock_mhz=self._read("nvmlDeviceGetClockInfo", _SM),
            memory_clock_mhz=self._read("nvmlDeviceGetClockInfo", _MEMORY),
            performance_state=None if state is None or state > _LAST_PERFORMANCE_STATE else state,
            clocks_event_reasons=self._event_reasons(),
        )

    def pcie(self) -> GpuPcie:
        return GpuPcie(
            generation=self._read("nvmlDeviceGetCurrPcieLinkGeneration"),
            width=self._read("nvmlDeviceGetCurrPcieLinkWidth"),
            max_generation=self._read("nvmlDeviceGetMaxPcieLinkGeneration"),
            max_width=self._read("nvmlDeviceGetMaxPcieLinkWidth"),
            replay_counter=self._read("nvmlDeviceGetPcieReplayCounter"),
        )

    def links(self) -> Optional[Tuple[GpuLink, ...]]:
        name = "nvmlDeviceGetNvLinkState"
        if (name,) in self._calls.refused:
            return None
        found: List[GpuLink] = []
        for link in range(_NVLINK_MAX_LINKS):
            try:
                active = bool(self._calls.call(name, link))
            except RefusalError as refusal:
                if refusal.code == INVALID_ARGUMENT:
                    break  # past the last one
                if refusal.code in NOT_SUPPORTED:
                    continue  # a part without links, or with fewer than its chip has
                self._calls.settle((name,), refusal)
                return None  # fewer links than there are would be no truth
            found.append(GpuLink(link, active, self._link_version(link) if active else None))
        self._calls.failed.pop((name,), None)
        if not found:
            self._calls.refused.add((name,))
        return tuple(found) or None

    def errors(self) -> GpuErrors:
        correctable, uncorrectable, pending, failure = self._read_tuple("nvmlDeviceGetRemappedRows", 4)
        (action,) = self._calls.read_fields(_FIELD_RECOVERY_ACTION)
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
            recovery_action=_recovery_action(action),
        )

    def limits(self) -> GpuLimits:
        least, most = self._read_tuple("nvmlDeviceGetPowerManagementLimitConstraints", 2)
        return GpuLimits(
            power_limit_watts=_watts(self._read("nvmlDeviceGetPowerManagementLimit")),
            enforced_power_limit_watts=_watts(self._read("nvmlDeviceGetEnforcedPowerLimit")),
            default_power_limit_watts=_watts(self._read("nvmlDeviceGetPowerManagementDefaultLimit")),
            min_power_limit_watts=_watts(least),
            max_power_limit_watts=_watts(most),
            max_sm_clock_mhz=self._read("nvmlDeviceGetMaxClockInfo", _SM),
            max_memory_clock_mhz=self._read("nvmlDeviceGetMaxClockInfo", _MEMORY),
        )

    def processes(self) -> Optional[Tuple[GpuProcess, ...]]:
        compute, graphics = self._processes("Compute"), self._processes("Graphics")
        if compute is None and graphics is None:
            return None
        # One that does both is in both lists, with the same memory.
        computing = {process.pid for process in compute or ()}
        rest = [process for process in graphics or () if process.pid not in computing]
        return tuple(sorted((*(compute or ()), *rest), key=lambda process: process.pid))

    def _processes(self, kind: str) -> Optional[List[GpuProcess]]:
        # The name without a version is pynvml's own, and fails where the driver is older than the binding.
        names = ["nvmlDeviceGet{}RunningProcesses_v{}".format(kind, version) for version in (3, 2)]
        answers = self._calls.read_first(names)
        if answers is None:
            return None
        listed = [(known(answer.pid), known(answer.usedGpuMemory)) for answer in answers]
        return [GpuProcess(pid, kind.lower(), memory) for pid, memory in listed if pid]  # 0 is nobody

    def _memory(self) -> Any:
        """Version 2 tells what the driver reserves; version 1 counts that as used. None on unified memory."""
        memory = self._calls.read_first(("nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMemoryInfo"))
        return memory if memory is not None and memory.total else None

    def _event_reasons(self) -> Optional[Tuple[str, ...]]:
        names = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
        mask = self._calls.read_first(names)
        if mask is None:
            return None
        return tuple(_event_reason(bit) for bit in range(mask.bit_length()) if mask >> bit & 1)

    def _link_version(self, link: int) -> Optional[str]:
        return _NVLINK_VERSIONS.get(self._read("nvmlDeviceGetNvLinkVersion", link))

    def _read_tuple(self, name: str, size: int) -> Sequence[Any]:
        values = self._read(name)
        return (None,) * size if values is None else [known(value) for value in values]


def _certain(name: str, value: Optional[str]) -> str:
    if value is None:
        raise AcceleratorError("error", name, "gave nothing")
    return value


def _member(structure: Any, name: str) -> Any:
    return known(getattr(structure, name, None))


def _watts(milliwatts: Optional[int]) -> Optional[float]:
    return None if milliwatts is None else milliwatts / 1000.0


def _flag(value: Optional[int]) -> Optional[bool]:
    return None if value is None else bool(value)


def _length(items: Optional[Sequence[Any]]) -> Optional[int]:
    return None if items is None else len(items)


def _event_reason(bit: int) -> str:
    """The bit itself where a newer driver has more reasons than we know."""
    return _EVENT_REASONS[bit] if bit < len(_EVENT_REASONS) else hex(1 << bit)


def _recovery_action(number: Optional[int]) -> Optional[str]:
    if number is None:
        return None
    return _RECOVERY_ACTIONS[number] if 0 <= number < len(_RECOVERY_ACTIONS) else str(number)
