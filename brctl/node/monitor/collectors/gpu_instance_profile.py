"""What the hardware counters say of the work of each MIG instance (GPM: Hopper and later).

The GPU as a whole tells no utilisation once it is divided. Compute instances of one GPU instance are counted together.
"""

from .. import GPU_LABELS, Collector, Kind, Reading, Readings, WatchedGpu
from ..previous import Previous
from .gpu_profile import SHARES

_made = Kind("gpu-instance-profile", (*GPU_LABELS, "gpu_instance", "profile"))
_GPM = "nvmlGpmMigSampleGet"
_SHARES = {name: _made.gauge("gpu_instance_" + series, "ratio", text, _GPM) for name, series, text in SHARES}


def run(gpu: WatchedGpu, _: Previous) -> Readings:
    instances = {one.gpu_instance_id: one for one in gpu.part.instances() or ()}
    for number, one in instances.items():
        seen = None if number is None else gpu.meter.profile(number)
        for name, series in _SHARES.items() if seen else ():
            yield Reading(series, getattr(seen, name), (str(number), one.profile or ""))


COLLECTOR = Collector(
    id="gpu-instance-profile",
    title="Activity of MIG instances by hardware counters",
    every_s=10.0,
    series=tuple(_made.all),
    of_gpu=run,
)
