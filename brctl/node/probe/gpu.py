"""The GPUs of every vendor library of a machine. Each is read in a thread of its own, so one that hangs, is lost or is
refused costs its own values and no other's."""

import re
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from ..accel import AcceleratorError, Library
from ..deadline import HungError, run_all
from ..facts import AcceleratorDriver, Gpu, GpuFault, Nic, PciDevice, Problem
from ..host import Host
from .affinity import nearest


class _Vendor(NamedTuple):
    pci_id: str
    count_call: str
    """What tells how many GPUs there are."""


_VENDORS = {"nvidia": _Vendor("10de", "nvmlDeviceGetCount_v2")}
_DISPLAY_CLASSES = ("0300", "0302")
"""VGA and 3D controllers."""
_OURS = ("nvidia", None)
"""Kernel drivers of a device that a library should answer for. One that vfio-pci holds was given to a virtual machine,
one that nouveau holds drives a display."""
_NVIDIA_GPUS = "/proc/driver/nvidia/gpus"
"""A folder for each GPU that the kernel module has, named by its PCI address (the driver's README, "/proc")."""
_UUID = re.compile(r"^GPU UUID:\s*(GPU-[0-9a-f-]+)\s*$", re.MULTILINE)
"""A GPU that was never initialised shows question marks."""
_FAULTS = ("lost", "permission", "reset-required")


class GpuReading(NamedTuple):
    driver: Optional[AcceleratorDriver] = None
    gpus: Optional[Tuple[Gpu, ...]] = None
    """By index, then those that the library does not list. None: this machine has none, or a problem says why."""
    problems: Tuple[Problem, ...] = ()


def read(host: Host, pci: Optional[Sequence[PciDevice]], nics: Optional[Sequence[Nic]]) -> GpuReading:
    """All GPUs, with their place on the PCI bus and the NIC nearest to each. Never raises for a GPU or library that
    fails: that GPU has a `fault`, and what else is missing has a Problem of the part `gpus`."""
    readings = [_read_library(host, library, pci or ()) for library in host.accelerators()]
    gpus = [gpu for reading in readings for gpu in reading.gpus or ()]
    drivers = [reading.driver for reading in readings if reading.driver]
    problems = tuple(problem for reading in readings for problem in reading.problems)
    return GpuReading(drivers[0] if drivers else None, _place(gpus, pci or (), nics or ()) or None, problems)


class _Row:
    """What is known of a GPU so far. Its thread may never come back, and then this is what remains."""

    def __init__(self, library: Library, index: int) -> None:
        self.gpu = Gpu(index, None, None, None, None, None)
        self.problems: Tuple[Problem, ...] = ()
        self._library = library
        self._index = index

    def fill(self) -> None:
        part = self._library.open(self._index)
        self.gpu = self.gpu._replace(uuid=part.uuid())
        self.gpu = self.gpu._replace(pci=part.pci())
        self.gpu = self.gpu._replace(identity=part.identity())
        whole = self.gpu._replace(
            telemetry=part.telemetry(),
            pcie=part.pcie(),
            links=part.links(),
            errors=part.errors(),
            limits=part.limits(),
            processes=part.processes(),
            unsupported=part.unsupported,
        )
        self.problems = tuple(
            Problem("gpus", failure.kind, "GPU {}: {}".format(self._index, failure)) for failure in part.failures
        )
        self.gpu = whole


def _read_library(host: Host, library: Library, pci: Sequence[PciDevice]) -> GpuReading:
    vendor = _VENDORS[library.vendor]
    devices = _devices(vendor, pci)
    (answer,) = run_all([lambda: (library.driver(), library.count())])
    if isinstance(answer, Exception):
        return GpuReading(problems=_library_problem(answer, devices))
    driver, count = answer
    rows = [_Row(library, index) for index in range(count)]
    outcomes = run_all([row.fill for row in rows])
    gpus = [_with_fault(row.gpu, outcome) for row, outcome in zip(rows, outcomes)]
    problems = tuple(problem for row in rows for problem in row.problems)
    if _unlisted(gpus, devices) or not all(gpu.pci for gpu in gpus):
        gpus, more = _account(gpus, devices, _driver_gpus(host), vendor.count_call)
        problems += more
    return GpuReading(driver, tuple(gpus), problems)


def _account(
    gpus: Sequence[Gpu], devices: Sequence[str], uuids: Dict[str, Optional[str]], count_call: str
) -> Tuple[List[Gpu], Tuple[Problem, ...]]:
    """Place the GPUs that did not say where they are, and add those that are on the PCI bus but not listed."""
    rows = _name_silent(gpus, devices, uuids)
    unlisted, unnamed = _unlisted(rows, devices), sum(gpu.pci is None for gpu in rows)
    if not unnamed:
        fault = GpuFault("invisible", count_call, "lists {} GPUs, and not this one".format(len(gpus)))
        return rows + [Gpu(None, uuids.get(address), address, None, None, None, fault) for address in unlisted], ()
    if len(unlisted) <= unnamed:
        return rows, ()
    text = "{} GPUs on the PCI bus do not answer ({}); {} lists {} of them, and nobody can tell which"
    return rows, (Problem("gpus", "error", text.format(len(unlisted), ", ".join(unlisted), count_call, unnamed)),)


def _unlisted(gpus: Sequence[Gpu], devices: Sequence[str]) -> List[str]:
    return sorted(set(devices).difference(gpu.pci or "" for gpu in gpus))


def _devices(vendor: _Vendor, pci: Sequence[PciDevice]) -> Tuple[str, ...]:
    """Addresses of a vendor's GPUs on the PCI bus."""
    return tuple(
        device.address
        for device in pci
        if device.vendor_id == vendor.pci_id and device.pci_class in _DISPLAY_CLASSES and device.driver in _OURS
    )


def _library_problem(error: Exception, devices: Sequence[str]) -> Tuple[Problem, ...]:
    if isinstance(error, HungError):
        return (Problem("gpus", "hung", str(error)),)
    kind = error.kind if isinstance(error, AcceleratorError) else "error"
    if kind in ("no-library", "no-driver") and not devices:
        return ()  # a machine without GPUs
    return (Problem("gpus", kind, str(error)),)


def _with_fault(gpu: Gpu, outcome: Optional[Exception]) -> Gpu:
    if outcome is None:
        return gpu
    if isinstance(outcome, HungError):
        return gpu._replace(
            fault=GpuFault("hung", outcome.call, "did not return within {:g} s".format(outcome.limit_s))
        )
    if isinstance(outcome, AcceleratorError):
        kind = outcome.kind if outcome.kind in _FAULTS else "error"
        return gpu._replace(fault=GpuFault(kind, outcome.call, outcome.message))
    return gpu._replace(fault=GpuFault("error", type(outcome).__name__, str(outcome)))


def _driver_gpus(host: Host) -> Dict[str, Optional[str]]:
    """UUIDs by PCI address, as NVIDIA's kernel module knows them without asking the GPU; none where it does not say."""

    def ask() -> Dict[str, Optional[str]]:
        addresses = host.listdir(_NVIDIA_GPUS) or ()
        texts = [host.read("{}/{}/information".format(_NVIDIA_GPUS, address)) or "" for address in addresses]
        found = [_UUID.search(text) for text in texts]
        return {address: match and match.group(1) for address, match in zip(addresses, found)}

    (answer,) = run_all([ask])
    return {} if isinstance(answer, Exception) else answer


def _name_silent(gpus: Sequence[Gpu], devices: Sequence[str], uuids: Dict[str, Optional[str]]) -> List[Gpu]:
    """Give each GPU that did not tell its PCI address the one that is left over, with the UUID that goes with it.

    NVML's indices follow the addresses. Where there are more or fewer left than silent GPUs, nobody can tell.
    """
    silent = [gpu.gpu_index for gpu in gpus if gpu.pci is None]
    claimed = {gpu.pci for gpu in gpus}
    for known in (uuids, devices):
        left = sorted(set(known) - claimed)
        if len(left) == len(silent):
            address_of = dict(zip(silent, left))
            named = [gpu._replace(pci=gpu.pci or address_of[gpu.gpu_index]) for gpu in gpus]
            return [gpu._replace(uuid=gpu.uuid or uuids.get(gpu.pci or "")) for gpu in named]
    return list(gpus)


def _place(gpus: Sequence[Gpu], pci: Sequence[PciDevice], nics: Sequence[Nic]) -> Tuple[Gpu, ...]:
    numa_nodes = {device.address: device.numa_node for device in pci}
    near = nearest([gpu.pci for gpu in gpus if gpu.pci], pci, nics)
    placed = [gpu._replace(numa_node=numa_nodes.get(gpu.pci or "")) for gpu in gpus]
    return tuple(
        gpu._replace(nearest_nic=near[gpu.pci].nic, nearest_nic_path=near[gpu.pci].path) if gpu.pci in near else gpu
        for gpu in placed
    )
