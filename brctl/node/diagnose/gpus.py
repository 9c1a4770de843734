"""GPUs as parts that a check judges."""

from typing import Any, Callable, Optional, Sequence, Tuple

from ..facts import Gpu, Inventory, PciDevice
from ..report import Subject
from . import reason
from .parts import Part

NVIDIA = "10de"
"""The PCI vendor id."""


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
    """NVIDIA's display and 3D controllers on the PCI bus; None where that is not known."""
    if seen.pci is None:
        return None
    return tuple(device for device in seen.pci if device.vendor_id == NVIDIA and device.pci_class.startswith("03"))
