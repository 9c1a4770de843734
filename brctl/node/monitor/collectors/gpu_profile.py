"""What the hardware counters say of each GPU's work (GPM: Hopper and later).

They need no profiler and lock none out. Each figure is of the time since the last look.
"""

from .. import GPU_LABELS, Collector, Kind, Reading, Readings, WatchedGpu
from ..previous import Previous

_made = Kind("gpu-profile", GPU_LABELS)
_GPM = "nvmlGpmMetricsGet"
SHARES = (
    ("graphics_engine_ratio", "graphics_engine_active_ratio", "Part of the time in which it computed or drew."),
    ("sm_ratio", "sm_active_ratio", "Part of the SMs that were at work."),
    ("sm_occupancy_ratio", "sm_occupancy_ratio", "Warps at work, of those that there could be."),
    ("tensor_ratio", "tensor_active_ratio", "Part of the time in which tensor cores worked."),
    ("memory_bandwidth_ratio", "memory_bandwidth_ratio", "Bandwidth of its memory in use."),
)
"""Field of GpuProfile, end of the Series' name, help."""
_SHARES = {name: _made.gauge("gpu_" + series, "ratio", text, _GPM) for name, series, text in SHARES}


def run(gpu: WatchedGpu, _: Previous) -> Readings:
    seen = gpu.meter.profile()
    if seen:
        for name, series in _SHARES.items():
            yield Reading(series, getattr(seen, name))


COLLECTOR = Collector(
    id="gpu-profile", title="GPU activity by hardware counters", every_s=1.0, series=tuple(_made.all), of_gpu=run
)
