"""Which GPU it is, with its limits: what does not change while a job runs."""

from .. import GPU_LABELS, Collector, Kind, Reading, Readings, WatchedGpu
from ..previous import Previous

_made = Kind("gpu-info", GPU_LABELS)
_INFO = _made.gauge(
    "gpu_info", "", "1: a GPU, with its PCI address, product name, driver, serial number and VBIOS.", "NVML",
    "pci", "name", "driver", "serial", "vbios",
)  # fmt: skip
_LIMIT = _made.gauge("gpu_power_limit_watts", "watts", "The limit in force.", "nvmlDeviceGetEnforcedPowerLimit")
_DEFAULT = _made.gauge(
    "gpu_default_power_limit_watts", "watts", "The board's own limit.", "nvmlDeviceGetPowerManagementDefaultLimit"
)
_CLOCK = _made.gauge("gpu_max_sm_clock_hertz", "hertz", "The highest SM clock.", "nvmlDeviceGetMaxClockInfo")
_SLOWDOWN = _made.gauge(
    "gpu_slowdown_celsius", "celsius", "Where it slows down (Ampere and earlier).", "nvmlDeviceGetTemperatureThreshold"
)
_MIG = _made.gauge("gpu_mig_enabled", "", "1: it is divided into instances.", "nvmlDeviceGetMigMode")
_PERSISTENCE = _made.gauge(
    "gpu_persistence_mode", "", "1: the driver stays loaded without users.", "nvmlDeviceGetPersistenceMode"
)


def run(gpu: WatchedGpu, _: Previous) -> Readings:
    identity, limits = gpu.part.identity(), gpu.part.limits()
    labels = (gpu.part.pci(), identity.name, gpu.driver, identity.serial, identity.vbios)
    yield Reading(_INFO, 1.0, tuple(label or "" for label in labels))
    yield Reading(_LIMIT, limits.enforced_power_limit_watts)
    yield Reading(_DEFAULT, limits.default_power_limit_watts)
    yield Reading(_CLOCK, None if limits.max_sm_clock_mhz is None else limits.max_sm_clock_mhz * 1e6)
    yield Reading(_SLOWDOWN, limits.slowdown_celsius)
    yield Reading(_MIG, None if identity.mig_enabled is None else float(identity.mig_enabled))
    yield Reading(_PERSISTENCE, None if identity.persistence_mode is None else float(identity.persistence_mode))


COLLECTOR = Collector(id="gpu-info", title="GPUs and their limits", every_s=60.0, series=tuple(_made.all), of_gpu=run)
