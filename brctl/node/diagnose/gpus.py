"""GPUs as parts that a check judges."""

from typing import Any, Callable, Optional, Sequence, Tuple

from ..accel import NVIDIA
from ..facts import Gpu, Inventory, PciDevice
from ..report import Subject
from ..siblings import Part
from . import reason

_FASTEST = (0, 1, 2)


def subject(gpu: Gpu) -> Subject:
    """By UUID, else by PCI address, which no reboot changes; named by NVML's index."""
    name = "GPU {}".format(gpu.pci if gpu.gpu_index is None else gpu.gpu_index)
    return Subject("gpu", gpu.uuid or gpu.pci or name, name)


def model(gpu: Gpu) -> Optional[str]:
    """As NVML names it: GPUs of one model are siblings."""
    return gpu.identity.name if gpu.identity else None


def works(gpu: Gpu, least_percent: float) -> bool:
    """Whether it is known to be used so much, in one of the performance states that work is done in."""
    values = gpu.telemetry
    if gpu.fault or values is None or values.gpu_utilization_percent is None:
        return False
    return values.gpu_utilization_percent >= least_percent and values.performance_state in _FASTEST


def parts(gpus: Sequence[Gpu], read: Callable[[Gpu], Any], show: Callable[[Any], str], source: str) -> Tuple[Part, ...]:
    """What `read` gives for each GPU, a faulty one being not read: check gpu-responding reports that, once."""
    return tuple(_part(gpu, read, show, source) for gpu in gpus)


def _part(gpu: Gpu, read: Callable[[Gpu], Any], show: Callable[[Any], str], source: str) -> Part:
    if gpu.fault:
        return Part(subject(gpu), None, "not read", source, reason=reason(gpu.fault.kind))
    value = read(gpu)
    return Part(subject(gpu), value, "no value" if value is None else show(value), source, model(gpu))


def on_bus(seen: Inventory) -> Optional[Tuple[PciDevice, ...]]:
    """NVIDIA's GPUs on the PCI bus, whoever holds them; None where that is not known."""
    return None if seen.pci is None else tuple(filter(NVIDIA.is_gpu, seen.pci))
