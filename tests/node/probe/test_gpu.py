import threading
from typing import Any, Dict

import pynvml
import pytest

from brctl.mock import nvml_errors
from brctl.node import deadline
from brctl.node.accel.nvml import NvmlGpu
from brctl.node.facts import (
    AcceleratorDriver,
    AcceleratorLibrary,
    Gpu,
    GpuFault,
    Problem,
)
from brctl.node.probe.gpu import GpuReading

Plain = Dict[str, Any]
LOST = "NVML_ERROR_GPU_IS_LOST"


def row(reading: GpuReading, place: int) -> Gpu:
    assert reading.gpus is not None
    return reading.gpus[place]


def test_a_healthy_machine(dgx_h100_nvml: Plain, gpus: Any) -> None:
    reading = gpus.read(dgx_h100_nvml)
    assert reading.driver == AcceleratorDriver("nvidia", "580.105.08", "13.580.105.08", "13.0")
    assert reading.problems == ()
    assert reading.gpus is not None
    assert [gpu.gpu_index for gpu in reading.gpus] == list(range(8))
    assert {gpu.pci: gpu.uuid for gpu in reading.gpus} == gpus.uuids(dgx_h100_nvml)
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
    assert first.fabric is not None
    assert first.instances is None
    assert first.unsupported == (
        "nvmlDeviceGetRetiredPages(0)",
        "nvmlDeviceGetRetiredPages(1)",
        "nvmlDeviceGetRetiredPagesPendingStatus",
        "nvmlDeviceGetTemperatureThreshold(0)",
        "nvmlDeviceGetTemperatureThreshold(1)",
    )
    assert reading.libraries == (AcceleratorLibrary("nvidia", "libnvidia-ml.so.1", True, None, 8, False),)


def test_a_lost_gpu_keeps_its_row_and_its_name(dgx_h100_nvml: Plain, gpus: Any) -> None:
    reading = gpus.read(gpus.lost(dgx_h100_nvml, 3))
    assert row(reading, 3) == Gpu(
        gpu_index=3,
        uuid=dgx_h100_nvml["gpus"][3]["uuid"],
        pci="0000:5d:00.0",
        numa_node=0,
        nearest_nic="ens1np0",
        nearest_nic_path="NODE",
        fault=GpuFault("lost", "nvmlDeviceGetHandleByIndex_v2", "GPU is lost"),
        vendor="nvidia",
    )
    assert reading.problems == ()
    assert reading.gpus is not None
    assert [gpu.gpu_index for gpu in reading.gpus if gpu.telemetry] == [0, 1, 2, 4, 5, 6, 7]


def test_two_lost_gpus_are_named_in_order(dgx_h100_nvml: Plain, gpus: Any) -> None:
    reading = gpus.read(gpus.lost(dgx_h100_nvml, 6, 2))
    for place in (2, 6):
        want = dgx_h100_nvml["gpus"][place]
        assert (row(reading, place).pci, row(reading, place).uuid) == (want["pci_bus_id"], want["uuid"])


def test_what_was_read_before_a_gpu_was_lost(dgx_h100_nvml: Plain, gpus: Any) -> None:
    dgx_h100_nvml["gpus"][3]["errors"] = {"nvmlDeviceGetUtilizationRates": LOST}
    gpu = row(gpus.read(dgx_h100_nvml, uuids={}), 3)
    assert gpu.fault == GpuFault("lost", "nvmlDeviceGetUtilizationRates", "GPU is lost")
    assert (gpu.uuid, gpu.pci) == (dgx_h100_nvml["gpus"][3]["uuid"], "0000:5d:00.0")
    assert gpu.identity is not None
    assert gpu.identity.serial == dgx_h100_nvml["gpus"][3]["serial"]
    assert (gpu.telemetry, gpu.limits, gpu.processes) == (None, None, None)


def test_virtual_functions_are_no_gpus_of_the_host(dgx_h100_nvml: Plain, gpus: Any) -> None:
    """Those of a vGPU host: of the same class, held by the same driver, and unknown to NVML."""
    pci = gpus.pci(dgx_h100_nvml)
    parts = [pci[0]._replace(address="0000:19:00.{}".format(n), physical_function=pci[0].address) for n in range(1, 5)]
    reading = gpus.read(dgx_h100_nvml, pci=[*pci, *parts])
    assert reading == gpus.read(dgx_h100_nvml)
    assert len(reading.gpus) == 8


def test_a_gpu_whose_file_cannot_be_read_costs_its_own_uuid(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, gpus: Any
) -> None:
    read = gpus.host.read

    def fail(host: Any, path: str) -> Any:
        if "0000:5d:00.0" in path:
            raise OSError(5, "Input/output error", path)
        return read(host, path)

    monkeypatch.setattr(gpus.host, "read", fail)
    reading = gpus.read(gpus.lost(dgx_h100_nvml, 3, 5))
    assert (row(reading, 3).pci, row(reading, 3).uuid) == ("0000:5d:00.0", None)
    assert row(reading, 5).uuid == dgx_h100_nvml["gpus"][5]["uuid"]


def test_a_gpu_that_hangs(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, gpus: Any) -> None:
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.5)
    monkeypatch.setattr(nvml_errors, "HANG_S", 1.0)
    dgx_h100_nvml["gpus"][3]["errors"] = {"*": "hang"}
    reading = gpus.read(dgx_h100_nvml)
    gpu = row(reading, 3)
    assert gpu.fault == GpuFault("hung", "nvmlDeviceGetUUID", "did not return within 0.5 s")
    assert (gpu.uuid, gpu.pci) == (dgx_h100_nvml["gpus"][3]["uuid"], "0000:5d:00.0")
    assert reading.gpus is not None
    assert [gpu.gpu_index for gpu in reading.gpus if gpu.telemetry] == [0, 1, 2, 4, 5, 6, 7]


def test_without_the_kernel_modules_files_there_is_the_address(dgx_h100_nvml: Plain, gpus: Any) -> None:
    gpu = row(gpus.read(gpus.lost(dgx_h100_nvml, 3), uuids={}), 3)
    assert (gpu.uuid, gpu.pci, gpu.numa_node) == (None, "0000:5d:00.0", 0)


def test_without_anything_there_is_the_index(dgx_h100_nvml: Plain, gpus: Any) -> None:
    reading = gpus.read(gpus.lost(dgx_h100_nvml, 3), pci=(), uuids={})
    gpu = row(reading, 3)
    assert (gpu.gpu_index, gpu.uuid, gpu.pci, gpu.nearest_nic) == (3, None, None, None)
    assert reading.problems == ()


def test_the_kernel_modules_files_that_hang_or_are_refused(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, gpus: Any
) -> None:
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.5)
    forever = threading.Event()
    for trouble in (lambda *_: forever.wait(1), PermissionError):
        monkeypatch.setattr(gpus.host, "listdir", trouble)
        gpu = row(gpus.read(gpus.lost(dgx_h100_nvml, 3)), 3)
        assert (gpu.uuid, gpu.pci) == (None, "0000:5d:00.0")
    forever.set()


def test_a_gpu_that_nvml_does_not_list(dgx_h100_nvml: Plain, gpus: Any) -> None:
    pci, uuids = gpus.pci(dgx_h100_nvml), gpus.uuids(dgx_h100_nvml)
    gone = dgx_h100_nvml["gpus"].pop(3)
    reading = gpus.read(dgx_h100_nvml, pci=pci, uuids=uuids)
    assert len(reading.gpus or ()) == 8
    gpu = row(reading, 7)
    assert (gpu.gpu_index, gpu.uuid, gpu.pci, gpu.numa_node) == (None, gone["uuid"], "0000:5d:00.0", 0)
    assert gpu.fault == GpuFault("invisible", "nvmlDeviceGetCount_v2", "lists 7 GPUs, and not this one")
    assert row(reading, 3).pci == dgx_h100_nvml["gpus"][3]["pci_bus_id"]
    uuids["0000:5d:00.0"] = "GPU-????????-????-????-????-????????????"
    assert row(gpus.read(dgx_h100_nvml, pci=pci, uuids=uuids), 7).uuid is None


def test_a_gpu_that_a_virtual_machine_has_is_not_missed(dgx_h100_nvml: Plain, gpus: Any) -> None:
    pci = [
        device._replace(driver="vfio-pci") if device.address == "0000:5d:00.0" else device
        for device in gpus.pci(dgx_h100_nvml)
    ]
    dgx_h100_nvml["gpus"].pop(3)
    assert len(gpus.read(dgx_h100_nvml, pci=pci).gpus or ()) == 7


def test_one_that_is_lost_and_one_that_is_not_listed_cannot_be_told_apart(dgx_h100_nvml: Plain, gpus: Any) -> None:
    pci = gpus.pci(dgx_h100_nvml)
    dgx_h100_nvml["gpus"].pop(3)
    reading = gpus.read(gpus.lost(dgx_h100_nvml, 5), pci=pci, uuids={})
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


def test_a_getter_that_fails_is_a_problem_and_no_fault(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, gpus: Any
) -> None:
    dgx_h100_nvml["gpus"] = dgx_h100_nvml["gpus"][:1]

    def refuse(handle: Any) -> Any:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_UNKNOWN)

    monkeypatch.setattr(pynvml, "nvmlDeviceGetPowerUsage", refuse)
    reading = gpus.read(dgx_h100_nvml)
    assert reading.problems == (Problem("gpus", "error", "GPU 0: nvmlDeviceGetPowerUsage: Unknown Error"),)
    gpu = row(reading, 0)
    assert gpu.fault is None
    assert gpu.telemetry is not None
    assert (gpu.telemetry.power_watts, gpu.telemetry.temperature_celsius) == (None, 29)


@pytest.mark.parametrize(
    ("code", "kind"), [(4, "permission"), (16, "reset-required"), (999, "error"), (9, "error"), (1, "error")]
)
def test_kinds_of_faults(
    dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, code: int, kind: str, gpus: Any
) -> None:
    def refuse(handle: Any) -> Any:
        raise pynvml.NVMLError(code)

    monkeypatch.setattr(pynvml, "nvmlDeviceGetUUID", refuse)
    fault = row(gpus.read(dgx_h100_nvml), 0).fault
    assert fault == GpuFault(kind, "nvmlDeviceGetUUID", str(pynvml.NVMLError(code)))


def test_a_fault_of_our_own_costs_one_gpu(dgx_h100_nvml: Plain, monkeypatch: pytest.MonkeyPatch, gpus: Any) -> None:
    monkeypatch.setattr(NvmlGpu, "links", lambda _: {}["no"])
    gpu = row(gpus.read(dgx_h100_nvml), 0)
    assert gpu.fault == GpuFault("error", "KeyError", "'no'")
    assert gpu.identity is not None
