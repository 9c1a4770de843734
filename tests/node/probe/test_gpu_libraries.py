"""Libraries that are not there or several, and what only the host knows of a GPU."""

import threading
from typing import Any, Dict, Optional

import pynvml
import pytest

from brctl.mock.nvml import install
from brctl.node import deadline
from brctl.node.accel import AcceleratorError, Pci
from brctl.node.accel.nvml import Nvml
from brctl.node.facts import (
    AcceleratorDriver,
    AcceleratorLibrary,
    Gpu,
    GpuFault,
    GpuProcess,
    Memory,
    Problem,
)
from brctl.node.probe.gpu import GpuReading, read

Plain = Dict[str, Any]
LOST = "NVML_ERROR_GPU_IS_LOST"


def row(reading: GpuReading, place: int) -> Gpu:
    assert reading.gpus is not None
    return reading.gpus[place]


def without(plain: Plain, name: str) -> Optional[Plain]:
    """The same without the driver, or None: without the library."""
    return dict(plain, errors={"nvmlInit*": "NVML_ERROR_DRIVER_NOT_LOADED"}) if name == "no-driver" else None


# The library as a whole


@pytest.mark.parametrize(
    ("name", "words"), [("no-library", "NVML Shared Library Not Found"), ("no-driver", "Driver Not Loaded")]
)
def test_no_library_or_driver(dgx_h100_nvml: Plain, name: str, words: str, gpus: Any) -> None:
    reading = gpus.read(without(dgx_h100_nvml, name), pci=gpus.pci(dgx_h100_nvml))
    message = "nvmlInitWithFlags: " + words
    assert (reading.driver, reading.gpus) == (None, None)
    assert reading.problems == (Problem("gpus", name, message),)
    (library,) = reading.libraries
    why = words if name == "no-library" else message  # which call found no library tells nobody anything
    assert library == AcceleratorLibrary("nvidia", "libnvidia-ml.so.1", False, why, None, False)


@pytest.mark.parametrize("name", ["no-library", "no-driver"])
def test_a_machine_without_gpus_has_no_problem(dgx_h100_nvml: Plain, name: str, gpus: Any) -> None:
    switch_and_nic = gpus.pci(dgx_h100_nvml)[8:]
    for pci in (switch_and_nic, ()):
        reading = gpus.read(without(dgx_h100_nvml, name), pci=pci)
        assert (reading.driver, reading.gpus, reading.problems) == (None, None, ())
    dgx_h100_nvml["gpus"] = []
    assert gpus.read(dgx_h100_nvml).gpus is None
    assert read(gpus.host({}), None, None).gpus is None


def test_a_mismatch_is_a_problem_in_any_case(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, gpus: Any) -> None:
    def refuse(flags: int) -> Any:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH)

    monkeypatch.setattr(pynvml, "nvmlInitWithFlags", refuse)
    (problem,) = gpus.read(dgx_h100_nvml, pci=()).problems
    assert (problem.reason, problem.message) == (
        "version-mismatch",
        "nvmlInitWithFlags: RM has detected an NVML/RM version mismatch.",
    )


class OtherLibrary:
    """A library that fails, hangs or is there, and knows no GPUs."""

    vendor, source, tested_on_hardware = "other", "other-smi", True
    count_call, pci = "other-smi -L", Pci("abcd", ("1200",), "other")

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


def test_a_library_that_hangs(dgx_h100_nvml: Plain, gpus: Any) -> None:
    forever = threading.Event()
    reading = read(gpus.host({}, [OtherLibrary(hangs=forever)]), (), ())
    forever.set()
    assert (reading.driver, reading.gpus) == (None, None)
    assert reading.problems == (Problem("gpus", "hung", "otherInit did not return within 0.05 s"),)
    assert reading.libraries[0].message == "otherInit did not return within 0.05 s"


def test_a_library_that_breaks(dgx_h100_nvml: Plain, gpus: Any) -> None:
    reading = read(gpus.host({}, [OtherLibrary(ZeroDivisionError("x"))]), (), ())
    assert reading.problems == (Problem("gpus", "error", "x"),)


def test_several_libraries(dgx_h100_nvml: Plain, gpus: Any) -> None:
    install(dgx_h100_nvml)
    broken = OtherLibrary(AcceleratorError("error", "otherInit", "broken"))
    reading = read(gpus.host({}, [broken, OtherLibrary(), Nvml()]), (), ())
    assert reading.driver == AcceleratorDriver("other", "1", None, None)
    assert len(reading.gpus or ()) == 8
    assert reading.problems == (Problem("gpus", "error", "otherInit: broken"),)
    assert [(told.vendor, told.found, told.gpu_count, told.message) for told in reading.libraries] == [
        ("other", False, None, "otherInit: broken"),
        ("other", True, 0, None),
        ("nvidia", True, 8, None),
    ]
    assert {gpu.vendor for gpu in reading.gpus or ()} == {"nvidia"}


def test_each_library_answers_for_its_own_devices(dgx_h100_nvml: Plain, gpus: Any) -> None:
    pci = [*gpus.pci(dgx_h100_nvml), gpus.device("0000:f1:00.0", "abcd", "1200", ("pci0000:f0",), 1)]
    install(dgx_h100_nvml)
    reading = read(gpus.host(gpus.uuids(dgx_h100_nvml), [Nvml(), OtherLibrary()]), pci, ())
    gpu = row(reading, 8)
    assert (gpu.vendor, gpu.pci, gpu.uuid) == ("other", "0000:f1:00.0", None)
    assert gpu.fault == GpuFault("invisible", "other-smi -L", "lists 0 GPUs, and not this one")
    missing = OtherLibrary(AcceleratorError("no-library", "other-smi", "other-smi is not installed"))
    reading = read(gpus.host({}, [missing]), pci, ())
    assert reading.problems == (Problem("gpus", "no-library", "other-smi: other-smi is not installed"),)
    held = [device._replace(driver="vfio-pci") if device.vendor_id == "abcd" else device for device in pci]
    assert read(gpus.host({}, [missing]), held, ()).problems == ()


# What is told with the help of the host


def test_processes_that_are_not_to_be_seen_from_here(dgx_h100_nvml: Plain, gpus: Any) -> None:
    dgx_h100_nvml["gpus"][0]["processes"] = [
        {"pid": pid, "kind": "compute", "memory_bytes": 1 << 30} for pid in (41, 42, 43)
    ]
    install(dgx_h100_nvml)
    host = gpus.host(gpus.uuids(dgx_h100_nvml), pids=(41,), hidden=(43,))
    assert row(read(host, gpus.pci(dgx_h100_nvml), ()), 0).processes == (
        GpuProcess(41, "compute", 1 << 30, present=True),
        GpuProcess(42, "compute", 1 << 30, present=False),  # it ended, or is in another namespace; its memory counts
        GpuProcess(43, "compute", 1 << 30, present=True),
    )


def test_processes_when_proc_cannot_be_read(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, gpus: Any) -> None:
    def refuse(host: Any, path: str) -> Any:
        raise OSError(5, "Input/output error", path)

    monkeypatch.setattr(gpus.host, "listdir", refuse)
    dgx_h100_nvml["gpus"][0]["processes"] = [{"pid": 41, "kind": "compute", "memory_bytes": None}]
    assert row(gpus.read(dgx_h100_nvml), 0).processes == (GpuProcess(41, "compute", None),)


def test_unified_memory_is_the_hosts(dgx_h100_nvml: Plain, gpus: Any) -> None:
    dgx_h100_nvml["gpus"] = dgx_h100_nvml["gpus"][:2]
    dgx_h100_nvml["gpus"][0].update(name="NVIDIA GB10", memory_total_bytes=None)
    dgx_h100_nvml["gpus"][1].update(memory_total_bytes=None)  # an H100 that fails to tell
    shared, failing = gpus.read(dgx_h100_nvml, memory=Memory(128 << 30, 100 << 30, 0)).gpus or ()
    assert shared.identity is not None
    assert shared.telemetry is not None
    assert shared.identity.memory_bytes == 128 << 30
    assert (shared.telemetry.memory_used_bytes, shared.telemetry.memory_free_bytes) == (28 << 30, 100 << 30)
    assert shared.telemetry.memory_reserved_bytes is None
    assert failing.identity is not None
    assert failing.telemetry is not None
    assert (failing.identity.memory_bytes, failing.telemetry.memory_used_bytes) == (None, None)
    unknown = row(gpus.read(dgx_h100_nvml), 0).identity
    assert unknown is not None
    assert unknown.memory_bytes is None


def test_unified_memory_of_a_gpu_that_fails_later(dgx_h100_nvml: Plain, gpus: Any) -> None:
    dgx_h100_nvml["gpus"][0].update(
        name="NVIDIA GB10", memory_total_bytes=None, errors={"nvmlDeviceGetPowerUsage": LOST}
    )
    gpu = row(gpus.read(dgx_h100_nvml, memory=Memory(128 << 30, 100 << 30, 0)), 0)
    assert gpu.identity is not None
    assert (gpu.identity.memory_bytes, gpu.telemetry) == (128 << 30, None)


def test_a_gpu_that_this_user_may_not_see_keeps_its_row(dgx_h100_nvml: Plain, gpus: Any) -> None:
    dgx_h100_nvml["gpus"][2]["errors"] = {"nvmlDeviceGetHandle*": "NVML_ERROR_NO_PERMISSION"}
    gpu = row(gpus.read(dgx_h100_nvml), 2)
    assert gpu.fault == GpuFault("permission", "nvmlDeviceGetHandleByIndex_v2", "Insufficient Permissions")
    assert (gpu.uuid, gpu.pci) == (dgx_h100_nvml["gpus"][2]["uuid"], dgx_h100_nvml["gpus"][2]["pci_bus_id"])
