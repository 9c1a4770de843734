"""The memory of each GPU.

On unified memory (GB10, Jetson) the GPU has none of its own: then what is told is the host's MemTotal and MemAvailable,
and `brctl_gpu_memory_unified` is 1. A discrete GPU that merely fails to tell its memory gets nothing of the kind.
"""

from typing import Optional, Tuple

from ...host import Host
from ...probe.memory import size
from .. import GPU_LABELS, Collector, Kind, Reading, Readings, WatchedGpu
from ..previous import Previous

_made = Kind("gpu-memory", GPU_LABELS)
_NVML = "nvmlDeviceGetMemoryInfo_v2"
_TOTAL = _made.gauge("gpu_memory_total_bytes", "bytes", "All of its memory.", _NVML)
_USED = _made.gauge("gpu_memory_used_bytes", "bytes", "In use, without what the driver reserves.", _NVML)
_FREE = _made.gauge("gpu_memory_free_bytes", "bytes", "Not in use.", _NVML)
_RESERVED = _made.gauge("gpu_memory_reserved_bytes", "bytes", "Kept by driver and firmware.", _NVML)
_UNIFIED = _made.gauge("gpu_memory_unified", "", "1: it is the host's, which it shares.", "nvmlDeviceGetName")


def run(gpu: WatchedGpu, previous: Previous) -> Readings:
    total, used, free, reserved = gpu.meter.memory()
    if total is None and ("unified",) not in previous.counts:  # asked once: it does not change
        previous.counts["unified",] = float(bool(gpu.part.identity().unified_memory))
    unified = total is None and bool(previous.counts.get(("unified",)))
    if unified:
        total, free = _of_host(gpu.host)
        used = None if total is None or free is None else total - free
    yield Reading(_TOTAL, total)
    yield Reading(_USED, used)
    yield Reading(_FREE, free)
    yield Reading(_RESERVED, reserved)
    yield Reading(_UNIFIED, float(unified))


def _of_host(host: Host) -> Tuple[Optional[int], Optional[int]]:
    text = host.read("/proc/meminfo") or ""
    return size(text, "MemTotal"), size(text, "MemAvailable")


COLLECTOR = Collector(id="gpu-memory", title="GPU memory", every_s=1.0, series=tuple(_made.all), of_gpu=run)
