"""What the sampler asks an NVIDIA GPU for again and again, in as few calls as can be.

Never nvmlDeviceGetPcieThroughput, which measures for 20 ms in the driver: there are counters.
"""

import ctypes
from struct import Struct
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ..gpu_facts import GpuLink
from ..meter_facts import GpuActivity, GpuLinkErrorSums, GpuMemory, GpuProfile, GpuTemperatures, GpuTraffic
from .nvml_batch import Batch, Field
from .nvml_calls import Calls, member
from .nvml_structures import memory
from .nvml_words import THERMAL_REASONS, event_reasons, link_error_fields

# NVML_FI_DEV_*
_SW_POWER_CAP, _ENERGY, _POWER_AVERAGE, _POWER_INSTANT = 74, 83, 185, 186
_MEMORY_TEMPERATURE, _PCIE_REPLAYS = 82, 94
_PCIE_TRANSMITTED, _PCIE_RECEIVED = 197, 198
_LINK_DATA, _ALL_LINKS = (138, 139), 0xFFFFFFFF
"""KiB transmitted and received. The scope is the link; UINT_MAX is the sum over all of them (nvml.h)."""
_SM, _MEMORY = 1, 2  # nvmlClockType_t
_REASONS = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
_TEMPERATURE = ("nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature")
_LAST_PERFORMANCE_STATE = 15
_REGISTER, _NEXT = "nvmlDeviceRegisterEvents", "nvmlEventSetWait_v2"
_XID_EVENT = 8
"""nvmlEventTypeXidCriticalError"""
_TIMEOUT = 10
_MOST_EVENTS = 64
"""At one look: a GPU in trouble reports one Xid after the other."""
_GPM_METRICS = (1, 2, 3, 5, 10)
"""NVML_GPM_METRIC_*: GRAPHICS_UTIL, SM_UTIL, SM_OCCUPANCY, ANY_TENSOR_UTIL, DRAM_BW_UTIL; all in percent."""
_METRIC, _METRICS_AT = Struct("4xid24x"), 24
"""Return code and value of nvmlGpmMetric_t; where they begin in nvmlGpmMetricsGet_t."""
_METRICS_SIZE = _METRIC.size * len(_GPM_METRICS)


class NvmlMeter:
    """Of one GPU, for one thread."""

    def __init__(self, calls: Calls, slowdowns: Sequence[int], links: Sequence[GpuLink]) -> None:
        """`slowdowns`: the fields of this driver for software, hardware and power brake; `links`: the active ones."""
        self._calls = calls
        self._read = calls.read
        ids = (_POWER_AVERAGE, _POWER_INSTANT, _ENERGY, _SW_POWER_CAP, *slowdowns)
        self._activity = Batch(calls, [(field, 0) for field in ids])
        self._of_memory = Batch(calls, [(_MEMORY_TEMPERATURE, 0)])
        pcie: List[Field] = [(_PCIE_TRANSMITTED, 0), (_PCIE_RECEIVED, 0), (_PCIE_REPLAYS, 0)]
        self._traffic = Batch(calls, pcie + [(field, _ALL_LINKS) for field in _LINK_DATA if links])
        self._of_links = Batch(calls, [(field, link.link_index) for field in _LINK_DATA for link in links])
        self._error_fields = link_error_fields(links[0].version if links else None)
        fields = [field for field in self._error_fields if field is not None]
        self._link_errors = Batch(calls, [(field, link.link_index) for field in fields for link in links])
        self._links = len(links)
        self._events: Any = None
        self._gpm: Dict[Tuple[int, ...], Tuple[Any, Any, Any]] = {}
        """Of the GPU, and of each MIG instance: what is asked, the last sample, and where the next one goes."""
        self._has_gpm = False
        self._reasons: Optional[Tuple[str, ...]] = None

    def activity(self) -> GpuActivity:
        utilization = self._read("nvmlDeviceGetUtilizationRates")
        average, instant, energy, *slowdowns_ns = self._activity.read()
        power_cap, software, hardware, brake = (*slowdowns_ns, None, None, None)[:4]
        self._reasons = event_reasons(self._calls.read_first(_REASONS))
        return GpuActivity(
            gpu_utilization_percent=_percent(member(utilization, "gpu")),
            memory_utilization_percent=_percent(member(utilization, "memory")),
            sm_clock_mhz=self._read("nvmlDeviceGetClockInfo", _SM),
            memory_clock_mhz=self._read("nvmlDeviceGetClockInfo", _MEMORY),
            clocks_event_reasons=self._reasons,
            power_average_watts=_thousandth(average),
            power_instant_watts=_thousandth(instant),
            energy_joules=_thousandth(energy),
            sw_power_cap_ns=power_cap,
            sw_thermal_slowdown_ns=software,
            hw_thermal_slowdown_ns=hardware,
            hw_power_brake_slowdown_ns=brake,
        )

    def memory(self) -> GpuMemory:
        size = memory(self._calls)
        return GpuMemory(*(member(size, name) for name in ("total", "used", "free", "reserved")))

    def temperatures(self) -> GpuTemperatures:
        (of_memory,) = self._of_memory.read()
        state = self._read("nvmlDeviceGetPerformanceState")
        return GpuTemperatures(
            core_celsius=self._calls.read_first(_TEMPERATURE, 0),
            memory_celsius=of_memory,
            margin_celsius=self._margin(),
            performance_state=None if state is None or state > _LAST_PERFORMANCE_STATE else state,
        )

    def traffic(self) -> GpuTraffic:
        transmitted, received, replays, *of_links = self._traffic.read()
        sent_kib, received_kib = of_links or (None, None)
        if any(self._traffic.refused((field, _ALL_LINKS)) for field in _LINK_DATA):  # it knows but single links
            sent_kib, received_kib = self._sums(self._of_links.read(), len(_LINK_DATA))
        return GpuTraffic(
            pcie_transmit_bytes=transmitted,
            pcie_receive_bytes=received,
            pcie_replays=replays,
            nvlink_transmit_bytes=None if sent_kib is None else sent_kib * 1024,
            nvlink_receive_bytes=None if received_kib is None else received_kib * 1024,
        )

    def link_errors(self) -> GpuLinkErrorSums:
        fields = self._error_fields
        sums = iter(self._sums(self._link_errors.read(), len(fields) - fields.count(None)))
        return GpuLinkErrorSums(*(None if field is None else next(sums) for field in fields))

    def _sums(self, of_links: Sequence[Optional[int]], fields: int) -> List[Optional[int]]:
        """Over all links, of each field."""
        return [_sum(of_links[place * self._links : (place + 1) * self._links]) for place in range(fields)]

    def xids(self) -> Optional[Tuple[int, ...]]:
        """By the driver's event set, which begins with the first look."""
        if self._events is None:
            self._calls.read(_REGISTER, by=self._register)
        return None if self._events is None else tuple(self._waiting())

    def profile(self, gpu_instance: Optional[int] = None) -> Optional[GpuProfile]:
        """None at the first look, which has nothing to compare with."""
        calls, name = self._calls, "nvmlGpmMetricsGet"
        instance = () if gpu_instance is None else (gpu_instance,)
        # Asked again only where it has none: in MIG mode that is so until there is an instance.
        self._has_gpm = self._has_gpm or bool(member(calls.read("nvmlGpmQueryDeviceSupport"), "isSupportedDevice"))
        if not self._has_gpm or (name, *instance) in calls.refused:
            return None
        values = calls.read(name, *instance, by=self._compare)
        return GpuProfile(*values) if values else None

    def _register(self, handle: Any) -> None:
        pynvml = self._calls.pynvml
        events = pynvml.nvmlEventSetCreate()
        try:
            pynvml.nvmlDeviceRegisterEvents(handle, _XID_EVENT, events)
        except pynvml.NVMLError:
            pynvml.nvmlEventSetFree(events)
            raise
        self._events = events

    def _waiting(self) -> List[int]:
        found: List[int] = []
        while len(found) < _MOST_EVENTS:
            event = self._calls.call(_NEXT, by=self._next)
            if event is None:
                break
            if event.eventType & _XID_EVENT:
                found.append(int(event.eventData))
        return found

    def _next(self, _: Any) -> Any:
        """Not by pynvml's own function, which makes an exception of it that there is none."""
        pynvml = self._calls.pynvml
        event = pynvml.c_nvmlEventData_t()
        code = pynvml._nvmlGetFunctionPointer(_NEXT)(self._events, ctypes.byref(event), ctypes.c_uint(0))
        if code not in (0, _TIMEOUT):
            raise pynvml.NVMLError(code)
        return None if code else event

    def _compare(self, handle: Any, *instance: int) -> Optional[Tuple[Optional[float], ...]]:
        pynvml = self._calls.pynvml
        take = pynvml.nvmlGpmMigSampleGet if instance else pynvml.nvmlGpmSampleGet
        if instance not in self._gpm:
            self._gpm[instance] = _gpm_question(pynvml), None, pynvml.nvmlGpmSampleAlloc()
        asked, before, now = self._gpm[instance]
        take(handle, *instance, now)
        self._gpm[instance] = asked, now, before or pynvml.nvmlGpmSampleAlloc()
        if before is None:
            return None
        asked.sample1, asked.sample2 = before, now
        pynvml.nvmlGpmMetricsGet(asked)
        # To read each by ctypes would take ten times as long.
        found = _METRIC.iter_unpack(bytes(memoryview(asked).cast("B")[_METRICS_AT : _METRICS_AT + _METRICS_SIZE]))
        return tuple(value / 100.0 if not code and 0 <= value <= 100 else None for code, value in found)

    def _margin(self) -> Optional[int]:
        """A part that has no such sensor tells 0 or less, but so does one that is too hot (leptonai/gpud#1208)."""
        margin: Optional[int] = self._read("nvmlDeviceGetMarginTemperature")
        if margin is None or margin > 0 or any(reason in THERMAL_REASONS for reason in self._reasons or ()):
            return margin
        return None


def _gpm_question(pynvml: Any) -> Any:
    """What is asked of two samples: 16 kB, and so made once."""
    asked = pynvml.c_nvmlGpmMetricsGet_t()
    asked.version, asked.numMetrics = pynvml.NVML_GPM_METRICS_GET_VERSION, len(_GPM_METRICS)
    for place, metric in enumerate(_GPM_METRICS):
        asked.metrics[place].metricId = metric
    return asked


def _percent(value: Optional[int]) -> Optional[int]:
    """A greater one is no part of the time."""
    return value if value is None or value <= 100 else None


def _thousandth(value: Optional[int]) -> Optional[float]:
    return None if value is None else value / 1000.0


def _sum(values: Sequence[Optional[int]]) -> Optional[int]:
    """None where one of them is: a part of the whole is not the whole."""
    return None if not values or None in values else sum(value for value in values if value is not None)
