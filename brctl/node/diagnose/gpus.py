"""GPUs as parts that a check judges."""

from typing import Any, Callable, Optional, Sequence, Tuple

from ..accel import NVIDIA
from ..facts import Gpu, Inventory, PciDevice
from ..report import Subject
from ..siblings import Part
from . import reason


def subject(gpu: Gpu) -> Subject:
    """By UUID, else by PCI address, which no reboot changes; named by NVML's index."""
    name = "GPU {}".format(gpu.pci if gpu.gpu_index is None else gpu.gpu_index)
    return Subject("gpu", gpu.uuid or gpu.pci or name, name)


def parts(gpus: Sequence[Gpu], read: Callable[[Gpu], Any], show: Callable[[Any], str], source: str) -> Tuple[Part, ...]:
    """What `read` gives for each GPU, a faulty one being not read: check gpu-responding reports that, once."""
    return tuple(_part(gpu, read, show, source) for gpu in gpus)


def _part(gpu: Gpu, read: Callable[[Gpu], Any], show: Callable[[Any], str], source: str) -> Part:
    if gpu.fault:
        return Part(subject(gpu), None, "not read", source, reason=reason(gpu.fault.kind))
    value = read(gpu)
    model = gpu.identity.name if gpu.identity else None
    return Part(subject(gpu), value, "no value" if value is None else show(value), source, model)


def on_bus(seen: Inventory) -> Optional[Tuple[PciDevice, ...]]:
    """NVIDIA's GPUs on the PCI bus, whoever holds them; None where that is not known."""
    return None if seen.pci is None else tuple(filter(NVIDIA.is_gpu, seen.pci))
