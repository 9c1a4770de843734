from typing import Any, Callable

from brctl.node.facts import GpuFault, Inventory, Problem
from brctl.node.report import HOST, Evidence, Finding, Status
from brctl.node.request import Expected, ExpectedAccelerator

NVML = "nvmlDeviceGetCount_v2 and /sys/bus/pci/devices"
BUS = "/sys/bus/pci/devices"


def test_all_there(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    assert examine(dgx, declared) == (
        Finding("gpu-count", Status.PASS, HOST, "8 of 8 GPUs", fold="gpu-count pass host"),
    )


def test_one_is_missing(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx._replace(gpus=dgx.gpus[:7] if dgx.gpus else None), declared)
    assert found._replace(remedy=None) == Finding(
        "gpu-count",
        Status.CRIT,
        HOST,
        "7 of 8 GPUs expected",
        (Evidence("GPUs", "7", NVML), Evidence("declared", "8", "hardware.accelerator.count")),
        fold="gpu-count crit host",
    )
    assert "lspci" in found.remedy


def test_a_lost_or_invisible_gpu_is_there(
    with_gpu: Callable[..., Inventory], declared: Expected, examine: Callable[..., Any]
) -> None:
    for kind in ("lost", "invisible"):
        (found,) = examine(with_gpu(3, fault=GpuFault(kind, "nvmlDeviceGetHandleByIndex_v2", "")), declared)
        assert found.status is Status.PASS


def test_more_than_declared(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx, Expected(accelerator=ExpectedAccelerator(gpu_count=4)))
    assert (found.status, found.summary) == (Status.WARN, "8 GPUs, 4 expected")
    assert found.remedy == "correct the config: it declares fewer GPUs than are there"


def test_none_where_some_are_declared(examine: Callable[..., Any], declared: Expected) -> None:
    (found,) = examine(Inventory(pci=()), declared)
    assert (found.status, found.summary) == (Status.CRIT, "0 of 8 GPUs expected")
    (found,) = examine(Inventory(pci=()), Expected(accelerator=ExpectedAccelerator(model="NVIDIA*")))
    assert (found.status, found.summary) == (Status.CRIT, "no GPU, but accelerators are declared")
    assert found.evidence == (Evidence("GPUs", "0", BUS), Evidence("declared", "some", "hardware.accelerator"))


def test_without_a_driver_the_bus_is_counted(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    problem = Problem("gpus", "error", "nvmlInitWithFlags: Driver Not Loaded")
    seen = dgx._replace(gpus=None, accelerator_driver=None, problems=(problem,))
    (found,) = examine(seen, declared)
    assert (found.status, found.summary) == (Status.PASS, "8 of 8 GPUs")
    (found,) = examine(seen._replace(pci=(seen.pci or ())[:-2]), declared)
    assert (found.status, found.summary) == (Status.CRIT, "7 of 8 GPUs expected")
    assert found.evidence[0] == Evidence("GPUs", "7", BUS)


def test_neither_library_nor_bus(examine: Callable[..., Any], declared: Expected) -> None:
    for part in ("gpus", "pci"):
        problem = Problem(part, "no-driver", "nvmlInitWithFlags: Driver Not Loaded")
        (found,) = examine(Inventory(problems=(problem,)), declared)
        assert (found.status, found.reason, found.summary) == (Status.UNKNOWN, "error", problem.message)


def test_nothing_declared(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx)
    assert (found.status, found.summary) == (Status.NA, "GPUs: 8, no number declared")
    (found,) = examine(dgx, Expected(accelerator=ExpectedAccelerator(nvlinks=18)))
    assert (found.status, found.summary) == (Status.NA, "GPUs: 8, no number declared")


def test_a_vgpu_hosts_virtual_functions_do_not_count(
    dgx: Inventory, declared: Expected, examine: Callable[..., Any]
) -> None:
    (board,) = [device for device in dgx.pci or () if device.address == "0000:53:00.0"]
    parts = [
        board._replace(address="0000:53:00.{}".format(number), physical_function=board.address)
        for number in range(1, 5)
    ]
    (found,) = examine(dgx._replace(gpus=None, pci=(*(dgx.pci or ()), *parts)), declared)
    assert (found.status, found.summary) == (Status.PASS, "8 of 8 GPUs")
