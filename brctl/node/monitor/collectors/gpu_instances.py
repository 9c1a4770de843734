"""The MIG instances of each GPU that is divided.

What the GPU as a whole does not tell then (utilisation, remapped rows) is unsupported, not 0. Memory is the GPU
instance's: compute instances of one share it, so it is told once and not to be added up over them.
"""

from .. import GPU_LABELS, Collector, Kind, Reading, Readings, WatchedGpu
from ..previous import Previous

_made = Kind("gpu-instances", (*GPU_LABELS, "gpu_instance", "compute_instance", "profile"))
_NVML = "nvmlDeviceGetMigDeviceHandleByIndex"
_TOTAL = _made.gauge("gpu_instance_memory_total_bytes", "bytes", "Memory of the GPU instance.", _NVML)
_USED = _made.gauge("gpu_instance_memory_used_bytes", "bytes", "In use.", _NVML)
_SIZE = _made.gauge("gpu_instance_multiprocessors", "", "SMs of the instance.", "nvmlDeviceGetAttributes_v2")


def run(gpu: WatchedGpu, _: Previous) -> Readings:
    for one in gpu.part.instances() or ():
        if one.gpu_instance_id is None or one.compute_instance_id is None:
            continue  # one without the other is a leftover
        labels = (str(one.gpu_instance_id), str(one.compute_instance_id), one.profile or "")
        yield Reading(_TOTAL, one.memory_bytes, labels)
        yield Reading(_USED, one.memory_used_bytes, labels)
        yield Reading(_SIZE, one.multiprocessors, labels)


COLLECTOR = Collector(id="gpu-instances", title="MIG instances", every_s=10.0, series=tuple(_made.all), of_gpu=run)
