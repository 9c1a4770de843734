"""GPM of the mocked NVML: in what share of the time between two samples parts of a GPU were at work (Hopper, later)."""

from ctypes import c_char, sizeof
from struct import Struct
from typing import Any, Dict, Optional

from .nvml_answer import INVALID_ARGUMENT, NOT_SUPPORTED, RefusedError, Values

_FIRST = (9, 0)
"""Compute capability."""
_VERSION = 1
_ASKED, _METRIC = Struct("I"), Struct("Iid24x")
"""nvmlGpmMetric_t: id, return code, value. By ctypes each takes ten times as long."""
_SHARES = {1: ("gpu", 1.0), 2: ("gpu", 0.93), 3: ("gpu", 0.41), 5: ("gpu", 0.62), 10: ("memory", 1.0)}
"""By NVML_GPM_METRIC_*: of which utilisation it is what part."""


def query(gpu: Values, support: Any) -> None:
    instances = gpu.get("mig_devices") or () if gpu.get("mig_enabled") else ()
    support._obj.isSupportedDevice = int(any(map(_supports, (gpu, *(of_instance(gpu, one) for one in instances)))))


def of_instance(gpu: Values, device: Values) -> Values:
    """What a sample of a MIG device is made of. NVML has no utilisation of one."""
    return {
        "compute_capability": gpu.get("compute_capability"),
        "gpu_utilization_percent": device.get("gpm_gpu_percent"),
        "memory_utilization_percent": device.get("gpm_memory_percent"),
    }


def _supports(gpu: Values) -> bool:
    """A GPU whose utilisation nobody tells (MIG, a guest) has no such counters here."""
    return tuple(gpu.get("compute_capability") or ()) >= _FIRST and gpu.get("gpu_utilization_percent") is not None


class Samples:
    """All that were allocated, and what is in them."""

    def __init__(self) -> None:
        self._taken: Dict[int, Optional[Values]] = {}
        self._next = 1

    def alloc(self) -> int:
        self._next += 1
        self._taken[self._next] = None
        return self._next

    def free(self, number: int) -> None:
        self._at(number)
        del self._taken[number]

    def take(self, number: int, gpu: Values) -> None:
        self._at(number)
        if not _supports(gpu):
            raise RefusedError(NOT_SUPPORTED)
        self._taken[number] = gpu

    def compare(self, asked: Any, first: int, second: int) -> None:
        """Fill in the metrics that are asked for, in percent, as they were at the second sample."""
        if asked.version != _VERSION or self._at(first) is None or first == second:
            raise RefusedError(INVALID_ARGUMENT)
        gpu = self._at(second)
        if gpu is None:
            raise RefusedError(INVALID_ARGUMENT)
        metrics = (c_char * sizeof(asked.metrics)).from_buffer(asked.metrics)
        for place in range(0, min(asked.numMetrics * _METRIC.size, len(metrics)), _METRIC.size):
            (number,) = _ASKED.unpack_from(metrics, place)
            of, part = _SHARES.get(number, ("", 0.0))
            value = gpu.get(of + "_utilization_percent")
            _METRIC.pack_into(metrics, place, number, NOT_SUPPORTED if value is None else 0, (value or 0) * part)

    def _at(self, number: int) -> Optional[Values]:
        if number not in self._taken:
            raise RefusedError(INVALID_ARGUMENT)
        return self._taken[number]
