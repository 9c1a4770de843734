"""How warm each GPU is, and how far it is from slowing down.

The margin counts down to the point where the GPU slows down, whatever the board's limits are, and is the better alarm
where there is one (Ada, Hopper and later).
"""

from .. import GPU_LABELS, Collector, Kind, Reading, Readings, WatchedGpu
from ..previous import Previous

_made = Kind("gpu-temperature", GPU_LABELS)
_CORE = _made.gauge("gpu_temperature_celsius", "celsius", "Of the GPU.", "nvmlDeviceGetTemperatureV")
_MEMORY = _made.gauge("gpu_memory_temperature_celsius", "celsius", "Of its memory.", "field 82")
_MARGIN = _made.gauge(
    "gpu_temperature_margin_celsius", "celsius", "Degrees left until it slows down.", "nvmlDeviceGetMarginTemperature"
)
_STATE = _made.gauge("gpu_performance_state", "", "0 is the fastest (P0).", "nvmlDeviceGetPerformanceState")


def run(gpu: WatchedGpu, _: Previous) -> Readings:
    seen = gpu.meter.temperatures()
    yield Reading(_CORE, seen.core_celsius)
    yield Reading(_MEMORY, seen.memory_celsius)
    yield Reading(_MARGIN, seen.margin_celsius)
    yield Reading(_STATE, seen.performance_state)


COLLECTOR = Collector(
    id="gpu-temperature", title="GPU temperatures and margins", every_s=1.0, series=tuple(_made.all), of_gpu=run
)
