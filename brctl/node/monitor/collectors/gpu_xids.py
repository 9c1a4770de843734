"""Xid errors, counted as the driver reports them.

A gauge of the last number would hide that the same came twice, and would show it for ever. Counted is from when the
sampler began; what came before it is in the kernel log, where `brctl diagnose` finds it.
"""

from .. import GPU_LABELS, Collector, Kind, Reading, Readings, WatchedGpu
from ..previous import Previous

_made = Kind("gpu-xids", GPU_LABELS)
_COUNT = _made.counter("gpu_xid_errors_total", "", "Xid errors since the sampler began.", "nvmlEventSetWait_v2", "xid")
_SEEN = _made.gauge(
    "gpu_xid_last_seen_timestamp_seconds",
    "seconds",
    "When it last came, by the wall clock.",
    "nvmlEventSetWait_v2",
    "xid",
)


def run(gpu: WatchedGpu, previous: Previous) -> Readings:
    for xid in gpu.meter.xids() or ():
        count, seen = ("count", str(xid)), ("seen", str(xid))
        previous.counts[count] = previous.counts.get(count, 0.0) + 1
        previous.counts[seen] = previous.now
    for (what, number), value in sorted(previous.counts.items()):
        yield Reading(_COUNT if what == "count" else _SEEN, value, (number,))


COLLECTOR = Collector(id="gpu-xids", title="Xid errors", every_s=1.0, series=tuple(_made.all), of_gpu=run)
