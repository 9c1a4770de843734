"""The GPUs of every vendor library of a machine. Each is read in a thread of its own, so one that hangs, is lost or is
refused costs its own values and no other's."""

import re
import time
from functools import partial
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ..accel import Accelerator, AcceleratorError, Library
from ..deadline import HungError, run_all
from ..facts import (
    AcceleratorDriver,
    AcceleratorLibrary,
    Gpu,
    GpuFault,
    GpuProcess,
    Memory,
    Nic,
    PciDevice,
    Problem,
)
from ..host import Host
from .affinity import nearest

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
    libraries: Tuple[AcceleratorLibrary, ...] = ()


def read(
    host: Host,
    pci: Optional[Sequence[PciDevice]],
    nics: Optional[Sequence[Nic]],
    memory: Optional[Memory] = None,
    health: bool = False,
) -> GpuReading:
    """All GPUs, with their place on the PCI bus and the NIC nearest to each. Never raises for a GPU or library that
    fails: that GPU has a `fault`, and what else is missing has a Problem of the part `gpus`.

    `memory` is the host's, which a GPU without memory of its own shares. With `health` also what
    `diagnose` alone judges.
    """
    libraries = host.accelerators()
    answers = run_all([partial(_start, library) for library in libraries])
    readings = [_read_library(host, *each, pci or (), health) for each in zip(libraries, answers)]
    gpus = find_processes(host, [gpu for reading in readings for gpu in reading.gpus or ()], health)
    gpus = [_with_shared_memory(gpu, memory) for gpu in gpus]
    drivers = [reading.driver for reading in readings if reading.driver]
    problems = tuple(problem for reading in readings for problem in reading.problems)
    found = tuple(told for reading in readings for told in reading.libraries)
    return GpuReading(drivers[0] if drivers else None, _place(gpus, pci or (), nics or ()) or None, problems, found)


class _Row:
    """What is known of a GPU so far. Its thread may never come back, and then this is what remains."""

    def __init__(self, library: Library, index: int, health: bool) -> None:
        self.gpu = Gpu(index, None, None, None, None, None, vendor=library.vendor)
        self.problems: Tuple[Problem, ...] = ()
        self._library = library
        self._index = index
        self._health = health

    def fill(self) -> None:
        part = self._library.open(self._index)
        self.gpu = self.gpu._replace(uuid=part.uuid())
        self.gpu = self.gpu._replace(pci=part.pci())
        self.gpu = self.gpu._replace(identity=part.identity())
        links, began = part.links(), time.monotonic()
        whole = self.gpu._replace(
            health=part.health(links) if self._health else None,
            telemetry=part.telemetry(),
            pcie=part.pcie(),
            links=links,
            errors=part.errors(),
            limits=part.limits(),
            processes=part.processes(),
            fabric=part.fabric(),
            instances=part.instances(),
            unsupported=part.unsupported,
        )
        self.problems = failures(part)
        self.gpu = timed(whole, began)


def timed(gpu: Gpu, began: float) -> Gpu:
    """The row, with how long it took since `began` (monotonic); as it is where nobody asked for its health."""
    if gpu.health is None:
        return gpu
    return gpu._replace(health=gpu.health._replace(reading_s=time.monotonic() - began))


def failures(part: Accelerator) -> Tuple[Problem, ...]:
    """The single calls that a GPU refused."""
    return tuple(Problem("gpus", failure.kind, "GPU {}: {}".format(part.index, failure)) for failure in part.failures)


def _start(library: Library) -> Tuple[Optional[AcceleratorDriver], int]:
    return library.driver(), library.count()


def _read_library(host: Host, library: Library, answer: Any, pci: Sequence[PciDevice], health: bool) -> GpuReading:
    """`answer` is what _start gave or raised."""
    devices = _devices(library, pci)
    told = AcceleratorLibrary(library.vendor, library.source, True, None, None, library.tested_on_hardware)
    if isinstance(answer, Exception):
        told = told._replace(found=False, message=_why(answer))
        return GpuReading(problems=_library_problem(answer, devices), libraries=(told,))
    driver, count = answer
    rows = [_Row(library, index, health) for index in range(count)]
    outcomes = run_all([row.fill for row in rows])
    gpus = [with_fault(row.gpu, outcome) for row, outcome in zip(rows, outcomes)]
    problems = tuple(problem for row in rows for problem in row.problems)
    if _unlisted(gpus, devices) or not all(gpu.pci for gpu in gpus):
        gpus, more = _account(library, gpus, devices, _driver_gpus(host) if library.vendor == "nvidia" else {})
        problems += more
    return GpuReading(driver, tuple(gpus), problems, (told._replace(gpu_count=count),))


def _account(
    library: Library, gpus: Sequence[Gpu], devices: Sequence[str], uuids: Dict[str, Optional[str]]
) -> Tuple[List[Gpu], Tuple[Problem, ...]]:
    """Place the GPUs that did not say where they are, and add those that are on the PCI bus but not listed."""
    rows = _name_silent(gpus, devices, uuids)
    unlisted, unnamed = _unlisted(rows, devices), sum(gpu.pci is None for gpu in rows)
    if not unnamed:
        fault = GpuFault("invisible", library.count_call, "lists {} GPUs, and not this one".format(len(gpus)))
        lost = Gpu(None, None, None, None, None, None, fault, vendor=library.vendor)
        return rows + [lost._replace(uuid=uuids.get(address), pci=address) for address in unlisted], ()
    if len(unlisted) <= unnamed:
        return rows, ()
    text = "{} GPUs on the PCI bus do not answer ({}); {} lists {} of them, and nobody can tell which"
    return rows, (
        Problem("gpus", "error", text.format(len(unlisted), ", ".join(unlisted), library.count_call, unnamed)),
    )


def _unlisted(gpus: Sequence[Gpu], devices: Sequence[str]) -> List[str]:
    return sorted(set(devices).difference(gpu.pci or "" for gpu in gpus))


def _devices(library: Library, pci: Sequence[PciDevice]) -> Tuple[str, ...]:
    """Addresses of the devices on the PCI bus that the library should answer for."""
    ours = library.pci
    if ours is None:
        return ()
    return tuple(device.address for device in pci if ours.is_gpu(device) and device.driver in (ours.driver, None))


def _why(error: Exception) -> str:
    """Which call found no library tells nobody anything."""
    absent = isinstance(error, AcceleratorError) and error.kind == "no-library"
    return error.args[0].partition(": ")[2] if absent else str(error)


def _library_problem(error: Exception, devices: Sequence[str]) -> Tuple[Problem, ...]:
    if isinstance(error, HungError):
        return (Problem("gpus", "hung", str(error)),)
    kind = error.kind if isinstance(error, AcceleratorError) else "error"
    if kind in ("no-library", "no-driver") and not devices:
        return ()  # a machine without GPUs
    return (Problem("gpus", kind, str(error)),)


def with_fault(gpu: Gpu, outcome: Optional[Exception]) -> Gpu:
    """The row, with why reading it failed; as it is where that did not."""
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


def find_processes(host: Host, gpus: Sequence[Gpu], states: bool = False) -> List[Gpu]:
    """Tell of each process on a GPU whether it is to be seen from here; with `states`, also what it is doing."""
    pids = sorted({process.pid for gpu in gpus for process in gpu.processes or ()})
    (answer,) = run_all([lambda: {pid: _is_present(host, pid) for pid in pids}])
    present = {} if isinstance(answer, Exception) else answer
    seen = [pid for pid in pids if states and present.get(pid)]
    # Each by itself: the file of a process whose memory map is stuck may hang too.
    state = dict(zip(seen, run_all([partial(_state, host, pid) for pid in seen])))

    def told(process: GpuProcess) -> GpuProcess:
        doing = state.get(process.pid)
        return process._replace(present=present.get(process.pid), state=doing if isinstance(doing, str) else None)

    return [gpu._replace(processes=gpu.processes and tuple(map(told, gpu.processes))) for gpu in gpus]


def _is_present(host: Host, pid: int) -> Optional[bool]:
    try:
        return host.listdir("/proc/{}".format(pid)) is not None
    except PermissionError:  # hidepid=1: it is there, and another user's
        return True
    except OSError:
        return None


def _state(host: Host, pid: int) -> Optional[str]:
    """Third field of proc(5)'s stat; the name before it may hold blanks and brackets."""
    text = host.read("/proc/{}/stat".format(pid)) or ""
    words = text.rpartition(")")[2].split()
    return words[0] if words else None


def _with_shared_memory(gpu: Gpu, memory: Optional[Memory]) -> Gpu:
    if memory is None or gpu.identity is None or not gpu.identity.unified_memory:
        return gpu
    total, free = memory.total_bytes, memory.available_bytes
    telemetry = gpu.telemetry
    if telemetry:
        telemetry = telemetry._replace(memory_used_bytes=total - free, memory_free_bytes=free)
    return gpu._replace(identity=gpu.identity._replace(memory_bytes=total), telemetry=telemetry)


def _driver_gpus(host: Host) -> Dict[str, Optional[str]]:
    """UUIDs by PCI address, as NVIDIA's kernel module knows them without asking the GPU; none where it does not say."""
    (names,) = run_all([lambda: host.listdir(_NVIDIA_GPUS)])
    addresses = names if isinstance(names, tuple) else ()
    # Each by itself: for the GPU that is in trouble the file may hang too.
    texts = run_all([partial(host.read, "{}/{}/information".format(_NVIDIA_GPUS, each)) for each in addresses])
    found = [_UUID.search(text) if isinstance(text, str) else None for text in texts]
    return {address: match and match.group(1) for address, match in zip(addresses, found)}


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
