"""Machines of a few files, and GPUs with what a host knows of them."""

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import pytest

from brctl.mock.machines import load
from brctl.mock.nvml import install
from brctl.node.accel import Library
from brctl.node.accel.nvml import Nvml
from brctl.node.facts import Memory, Nic, PciDevice
from brctl.node.host import Completed
from brctl.node.host.machine import Machine
from brctl.node.probe.gpu import GpuReading, read

Plain = Dict[str, Any]
LOST = "NVML_ERROR_GPU_IS_LOST"
_GPUS = "/proc/driver/nvidia/gpus"


class GpuHost:
    """Has NVML, and what NVIDIA's kernel module shows of its GPUs under /proc."""

    mock: Optional[str] = None

    def __init__(
        self,
        uuids: Dict[str, str],
        libraries: Sequence[Library] = (),
        pids: Sequence[int] = (),
        hidden: Sequence[int] = (),
    ) -> None:
        self.uuids = uuids
        self.pids, self.hidden = pids, hidden
        self.libraries = tuple(libraries) or (Nvml(),)

    def listdir(self, path: str) -> Optional[Tuple[str, ...]]:
        if path == _GPUS:
            return tuple(sorted(self.uuids)) or None
        pid = int(path[len("/proc/") :])
        if pid in self.hidden:
            raise PermissionError(path)
        return ("stat",) if pid in self.pids else None

    def read(self, path: str) -> Optional[str]:
        address = path[len(_GPUS) + 1 : -len("/information")]
        text = "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 18\nGPU UUID: \t {}\nVideo BIOS: \t ??.??.??.??.??\n"
        return text.format(self.uuids[address]) + "Bus Location: \t {}\nDevice Minor: \t 0\n".format(address)

    def accelerators(self) -> Tuple[Library, ...]:
        return self.libraries

    def readlink(self, path: str) -> Optional[str]:
        raise AssertionError(path)

    def write(self, *arguments: Any) -> None:
        raise AssertionError(arguments)

    def run(self, *arguments: Any) -> Optional[Completed]:
        raise AssertionError(arguments)


def pci_of(plain: Plain) -> List[PciDevice]:
    """Each GPU on a root port of its own, four on each NUMA node; with a NIC and a switch chip that are no GPUs."""
    found = []
    for place, gpu in enumerate(plain["gpus"]):
        above = ("pci0000:0{}".format(place), "0000:0{}:01.0".format(place))
        found.append(_device(gpu["pci_bus_id"], "10de", "0302", above, place // 4))
    return [
        *found,
        _device("0000:1a:00.0", "15b3", "0207", ("pci0000:00", "0000:00:01.0"), 0),
        _device("0000:05:00.0", "10de", "0680", ("pci0000:09",), 0),
    ]


def _device(address: str, vendor: str, pci_class: str, above: Tuple[str, ...], numa_node: int) -> PciDevice:
    return PciDevice(address, vendor, "0000", pci_class, None, numa_node, None, None, None, None, above)


NIC = Nic("ens1np0", "physical", None, 9000, "up", True, 400000, None, None, "0000:1a:00.0", 0, None, (), "mlx5_0")


def uuids_of(plain: Plain) -> Dict[str, str]:
    return {gpu["pci_bus_id"]: gpu["uuid"] for gpu in plain["gpus"]}


def lost(plain: Plain, *indices: int) -> Plain:
    """The same, with GPUs that answer nothing but that they are lost."""
    for index in indices:
        plain["gpus"][index]["errors"] = {"*": LOST, "nvmlDeviceGetHandle*": LOST}
    return plain


def read_all(
    plain: Optional[Plain], pci: Any = None, uuids: Optional[Dict[str, str]] = None, memory: Optional[Memory] = None
) -> GpuReading:
    install(plain)
    plain = plain or {"gpus": ()}
    host = GpuHost(uuids_of(plain) if uuids is None else uuids)
    return read(host, pci_of(plain) if pci is None else pci, (NIC,), memory)


@pytest.fixture
def machine() -> Callable[..., Machine]:
    """Makes a machine of a few files: path -> text, or `{"link": ...}`, `{"errno": ...}`."""

    def make(files: Dict[str, Any], commands: Optional[Dict[str, Any]] = None) -> Machine:
        plain = {"name": "m", "recorded": False, "sources": [], "files": files, "commands": commands or {}}
        return Machine(plain, "m", lambda: None)

    return make


@pytest.fixture
def dgx() -> Machine:
    return load("dgx-h100")


@pytest.fixture
def own_pynvml(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine puts its mock under pynvml for good; after the test all is as before."""
    import pynvml

    for name in ("CDLL", "nvmlLib", "_nvmlLib_refcount"):
        monkeypatch.setattr(pynvml, name, getattr(pynvml, name))
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})


class Gpus:
    """NVML's GPUs with their host around them."""

    host = GpuHost
    pci = staticmethod(pci_of)
    uuids = staticmethod(uuids_of)
    read = staticmethod(read_all)
    lost = staticmethod(lost)
    device = staticmethod(_device)


@pytest.fixture
def gpus() -> Any:
    """Makes hosts with GPUs, and reads them."""
    return Gpus
