import threading
from typing import Any, Dict, List, Optional, Sequence, Tuple

import pynvml
import pytest

from brctl.mock import faults, nvml_library
from brctl.mock.nvml import install
from brctl.node import deadline
from brctl.node.accel import AcceleratorError, Library
from brctl.node.accel.nvml import Nvml
from brctl.node.facts import AcceleratorDriver, Gpu, GpuFault, Nic, PciDevice, Problem
from brctl.node.host import Completed
from brctl.node.probe.gpu import GpuReading, read

Plain = Dict[str, Any]
_GPUS = "/proc/driver/nvidia/gpus"


class FakeHost:
    """Has NVML, and what NVIDIA's kernel module shows of its GPUs under /proc."""

    mock: Optional[str] = None

    def __init__(self, uuids: Dict[str, str], libraries: Sequence[Library] = ()) -> None:
        self.uuids = uuids
        self.libraries = tuple(libraries) or (Nvml(),)

    def listdir(self, path: str) -> Optional[Tuple[str, ...]]:
        assert path == _GPUS
        return tuple(sorted(self.uuids)) or None

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


def read_all(plain: Plain, text: str = "", pci: Any = None, uuids: Optional[Dict[str, str]] = None) -> GpuReading:
    install(plain, faults.parse(text))
    host = FakeHost(uuids_of(plain) if uuids is None else uuids)
    return read(host, pci_of(plain) if pci is None else pci, (NIC,))


def row(reading: GpuReading, place: int) -> Gpu:
    assert reading.gpus is not None
    return reading.gpus[place]


def test_a_healthy_machine(dgx_h100_nvml: Plain) -> None:
    reading = read_all(dgx_h100_nvml)
    assert reading.driver == AcceleratorDriver("nvidia", "580.105.08", "13.580.105.08", "13.0")
    assert reading.problems == ()
    assert reading.gpus is not None
    assert [gpu.gpu_index for gpu in reading.gpus] == list(range(8))
    assert {gpu.pci: gpu.uuid for gpu in reading.gpus} == uuids_of(dgx_h100_nvml)
    first, last = reading.gpus[0], reading.gpus[7]
    assert (first.numa_node, first.nearest_nic, first.nearest_nic_path) == (0, "ens1np0", "PIX")
    assert (last.numa_node, last.nearest_nic, last.nearest_nic_path) == (1, "ens1np0", "SYS")
    assert first.fault is None
    assert first.identity is not None
    assert first.telemetry is not None
    assert first.pcie is not None
    assert first.errors is not None
    assert first.limits is not None
    assert len(first.links or ()) == 18
    assert first.processes == ()
    assert first.unsupported == ("nvmlDeviceGetRetiredPages(0)", "nvmlDeviceGetRetiredPages(1)")


def test_a_lost_gpu_keeps_its_row_and_its_name(dgx_h100_nvml: Plain) -> None:
    reading = read_all(dgx_h100_nvml, "gpu3-lost")
    assert row(reading, 3) == Gpu(
        gpu_index=3,
        uuid=dgx_h100_nvml["gpus"][3]["uuid"],
        pci="0000:5d:00.0",
        numa_node=0,
        nearest_nic="ens1np0",
        nearest_nic_path="NODE",
        fault=GpuFault("lost", "nvmlDeviceGetHandleByIndex_v2", "GPU is lost"),
    )
    assert reading.problems == ()
    assert reading.gpus is not None
    assert [gpu.gpu_index for gpu in reading.gpus if gpu.telemetry] == [0, 1, 2, 4, 5, 6, 7]


def test_two_lost_gpus_are_named_in_order(dgx_h100_nvml: Plain) -> None:
    reading = read_all(dgx_h100_nvml, "gpu6-lost+gpu2-lost")
    for place in (2, 6):
        want = dgx_h100_nvml["gpus"][place]
        assert (row(reading, place).pci, row(reading, place).uuid) == (want["pci_bus_id"], want["uuid"])


def test_what_was_read_before_a_gpu_was_lost(dgx_h100_nvml: Plain) -> None:
    gpu = row(read_all(dgx_h100_nvml, "gpu3-lost@8", uuids={}), 3)
    assert gpu.fault == GpuFault("lost", "nvmlDeviceGetUtilizationRates", "GPU is lost")
    assert (gpu.uuid, gpu.pci) == (dgx_h100_nvml["gpus"][3]["uuid"], "0000:5d:00.0")
    assert gpu.identity is not None
    assert gpu.identity.serial == dgx_h100_nvml["gpus"][3]["serial"]
    assert (gpu.telemetry, gpu.limits, gpu.processes) == (None, None, None)


def test_a_gpu_that_hangs(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.1)
    monkeypatch.setattr(nvml_library, "HANG_S", 1.0)
    reading = read_all(dgx_h100_nvml, "gpu3-hang")
    gpu = row(reading, 3)
    assert gpu.fault == GpuFault("hung", "nvmlDeviceGetUUID", "did not return within 0.1 s")
    assert (gpu.uuid, gpu.pci) == (dgx_h100_nvml["gpus"][3]["uuid"], "0000:5d:00.0")
    assert reading.gpus is not None
    assert [gpu.gpu_index for gpu in reading.gpus if gpu.telemetry] == [0, 1, 2, 4, 5, 6, 7]


def test_without_the_kernel_modules_files_there_is_the_address(dgx_h100_nvml: Plain) -> None:
    gpu = row(read_all(dgx_h100_nvml, "gpu3-lost", uuids={}), 3)
    assert (gpu.uuid, gpu.pci, gpu.numa_node) == (None, "0000:5d:00.0", 0)


def test_without_anything_there_is_the_index(dgx_h100_nvml: Plain) -> None:
    reading = read_all(dgx_h100_nvml, "gpu3-lost", pci=(), uuids={})
    gpu = row(reading, 3)
    assert (gpu.gpu_index, gpu.uuid, gpu.pci, gpu.nearest_nic) == (3, None, None, None)
    assert reading.problems == ()


def test_the_kernel_modules_files_that_hang_or_are_refused(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.05)
    forever = threading.Event()
    for trouble in (lambda *_: forever.wait(1), PermissionError):
        monkeypatch.setattr(FakeHost, "listdir", trouble)
        gpu = row(read_all(dgx_h100_nvml, "gpu3-lost"), 3)
        assert (gpu.uuid, gpu.pci) == (None, "0000:5d:00.0")
    forever.set()


def test_a_gpu_that_nvml_does_not_list(dgx_h100_nvml: Plain) -> None:
    pci, uuids = pci_of(dgx_h100_nvml), uuids_of(dgx_h100_nvml)
    gone = dgx_h100_nvml["gpus"].pop(3)
    reading = read_all(dgx_h100_nvml, pci=pci, uuids=uuids)
    assert len(reading.gpus or ()) == 8
    gpu = row(reading, 7)
    assert (gpu.gpu_index, gpu.uuid, gpu.pci, gpu.numa_node) == (None, gone["uuid"], "0000:5d:00.0", 0)
    assert gpu.fault == GpuFault("invisible", "nvmlDeviceGetCount_v2", "lists 7 GPUs, and not this one")
    assert row(reading, 3).pci == dgx_h100_nvml["gpus"][3]["pci_bus_id"]
    uuids["0000:5d:00.0"] = "GPU-????????-????-????-????-????????????"
    assert row(read_all(dgx_h100_nvml, pci=pci, uuids=uuids), 7).uuid is None


def test_a_gpu_that_a_virtual_machine_has_is_not_missed(dgx_h100_nvml: Plain) -> None:
    pci = [
        device._replace(driver="vfio-pci") if device.address == "0000:5d:00.0" else device
        for device in pci_of(dgx_h100_nvml)
    ]
    dgx_h100_nvml["gpus"].pop(3)
    assert len(read_all(dgx_h100_nvml, pci=pci).gpus or ()) == 7


def test_one_that_is_lost_and_one_that_is_not_listed_cannot_be_told_apart(dgx_h100_nvml: Plain) -> None:
    pci = pci_of(dgx_h100_nvml)
    dgx_h100_nvml["gpus"].pop(3)
    reading = read_all(dgx_h100_nvml, "gpu5-lost", pci=pci, uuids={})
    assert len(reading.gpus or ()) == 7
    assert row(reading, 5).pci is None
    assert reading.problems == (
        Problem(
            "gpus",
            "error",
            "2 GPUs on the PCI bus do not answer (0000:5d:00.0, 0000:cb:00.0); nvmlDeviceGetCount_v2 lists 1 of them, "
            "and nobody can tell which",
        ),
    )


def test_a_getter_that_fails_is_a_problem_and_no_fault(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    dgx_h100_nvml["gpus"] = dgx_h100_nvml["gpus"][:1]

    def refuse(handle: Any) -> Any:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_UNKNOWN)

    monkeypatch.setattr(pynvml, "nvmlDeviceGetPowerUsage", refuse)
    reading = read_all(dgx_h100_nvml)
    assert reading.problems == (Problem("gpus", "error", "GPU 0: nvmlDeviceGetPowerUsage: Unknown Error"),)
    gpu = row(reading, 0)
    assert gpu.fault is None
    assert gpu.telemetry is not None
    assert (gpu.telemetry.power_watts, gpu.telemetry.temperature_celsius) == (None, 29)


@pytest.mark.parametrize(
    ("code", "kind"), [(4, "permission"), (16, "reset-required"), (999, "error"), (9, "error"), (1, "error")]
)
def test_kinds_of_faults(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, code: int, kind: str) -> None:
    def refuse(handle: Any) -> Any:
        raise pynvml.NVMLError(code)

    monkeypatch.setattr(pynvml, "nvmlDeviceGetUUID", refuse)
    fault = row(read_all(dgx_h100_nvml), 0).fault
    assert fault == GpuFault(kind, "nvmlDeviceGetUUID", str(pynvml.NVMLError(code)))


def test_an_odd_answer_costs_one_gpu(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pynvml, "nvmlDeviceGetNvLinkState", lambda *_: {}["no"])
    gpu = row(read_all(dgx_h100_nvml), 0)
    assert gpu.fault == GpuFault("error", "KeyError", "'no'")
    assert gpu.identity is not None


# The library as a whole


@pytest.mark.parametrize(
    ("text", "words"), [("no-library", "NVML Shared Library Not Found"), ("no-driver", "Driver Not Loaded")]
)
def test_no_library_or_driver(dgx_h100_nvml: Plain, text: str, words: str) -> None:
    problem = Problem("gpus", text, "nvmlInitWithFlags: " + words)
    assert read_all(dgx_h100_nvml, text) == GpuReading(None, None, (problem,))


@pytest.mark.parametrize("text", ["no-library", "no-driver"])
def test_a_machine_without_gpus_has_no_problem(dgx_h100_nvml: Plain, text: str) -> None:
    switch_and_nic = pci_of(dgx_h100_nvml)[8:]
    assert read_all(dgx_h100_nvml, text, pci=switch_and_nic) == GpuReading()
    install(dgx_h100_nvml, faults.parse(text))
    assert read(FakeHost({}), None, None) == GpuReading()
    dgx_h100_nvml["gpus"] = []
    assert read_all(dgx_h100_nvml).gpus is None


def test_a_mismatch_is_a_problem_in_any_case(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(flags: int) -> Any:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH)

    monkeypatch.setattr(pynvml, "nvmlInitWithFlags", refuse)
    (problem,) = read_all(dgx_h100_nvml, pci=()).problems
    assert (problem.reason, problem.message) == (
        "version-mismatch",
        "nvmlInitWithFlags: RM has detected an NVML/RM version mismatch.",
    )


class OtherLibrary:
    """A library that fails, hangs or is there, and knows no GPUs."""

    vendor = "nvidia"

    def __init__(self, trouble: Optional[Exception] = None, hangs: Optional[threading.Event] = None) -> None:
        self.trouble, self.hangs = trouble, hangs

    def driver(self) -> AcceleratorDriver:
        if self.hangs:
            deadline.calling("otherInit", 0.05)
            self.hangs.wait(1)
        if self.trouble:
            raise self.trouble
        return AcceleratorDriver("other", "1", None, None)

    def count(self) -> int:
        return 0

    def open(self, index: int) -> Any:
        raise AssertionError(index)


def test_a_library_that_hangs(dgx_h100_nvml: Plain) -> None:
    forever = threading.Event()
    reading = read(FakeHost({}, [OtherLibrary(hangs=forever)]), (), ())
    forever.set()
    assert reading == GpuReading(problems=(Problem("gpus", "hung", "otherInit did not return within 0.05 s"),))


def test_a_library_that_breaks(dgx_h100_nvml: Plain) -> None:
    reading = read(FakeHost({}, [OtherLibrary(ZeroDivisionError("x"))]), (), ())
    assert reading.problems == (Problem("gpus", "error", "x"),)


def test_several_libraries(dgx_h100_nvml: Plain) -> None:
    install(dgx_h100_nvml)
    broken = OtherLibrary(AcceleratorError("error", "otherInit", "broken"))
    reading = read(FakeHost({}, [broken, OtherLibrary(), Nvml()]), (), ())
    assert reading.driver == AcceleratorDriver("other", "1", None, None)
    assert len(reading.gpus or ()) == 8
    assert reading.problems == (Problem("gpus", "error", "otherInit: broken"),)
