from typing import Any, Callable

import pytest

from brctl.node.facts import GpuFault, Inventory, Problem
from brctl.node.report import HOST, Evidence, Finding, Status, Subject

UUID = "GPU-00000003-1111-2222-3333-444444444444"
PCI = "0000:86:00.0"
DRIVER, BUS = "/proc/driver/nvidia/gpus", "/sys/bus/pci/devices"


def test_all_answer(dgx: Inventory, examine: Callable[..., Any]) -> None:
    assert examine(dgx) == (
        Finding("gpu-responding", Status.PASS, HOST, "8 of 8 GPUs answer", fold="gpu-responding pass host"),
    )


def test_a_lost_gpu_is_named_by_index_address_and_uuid(
    with_gpu: Callable[..., Inventory], examine: Callable[..., Any]
) -> None:
    fault = GpuFault("lost", "nvmlDeviceGetHandleByIndex_v2", "GPU is lost")
    (found,) = examine(with_gpu(3, fault=fault, identity=None, links=None))
    assert found._replace(remedy=None) == Finding(
        "gpu-responding",
        Status.CRIT,
        Subject("gpu", UUID, "GPU 3"),
        "GPU 3 ({}, {}) is lost: nvmlDeviceGetHandleByIndex_v2: GPU is lost".format(PCI, UUID),
        (
            Evidence("UUID", UUID, DRIVER),
            Evidence("PCI address", PCI, DRIVER),
            Evidence("answer", "GPU is lost", "nvmlDeviceGetHandleByIndex_v2"),
        ),
        fold="gpu-responding crit GPU 3",
    )
    assert "power-cycle it cold" in found.remedy


def test_a_lost_gpu_of_which_nothing_is_known(with_gpu: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    fault = GpuFault("lost", "nvmlDeviceGetHandleByIndex_v2", "GPU is lost")
    (found,) = examine(with_gpu(3, uuid=None, pci=None, fault=fault))
    assert found.subject == Subject("gpu", "GPU 3", "GPU 3")
    assert found.summary == "GPU 3 is lost: nvmlDeviceGetHandleByIndex_v2: GPU is lost"
    assert found.evidence == (Evidence("answer", "GPU is lost", "nvmlDeviceGetHandleByIndex_v2"),)


def test_a_gpu_that_only_the_bus_shows(with_gpu: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    fault = GpuFault("invisible", "nvmlDeviceGetCount_v2", "7 GPUs without it")
    (found,) = examine(with_gpu(3, gpu_index=None, uuid=None, fault=fault))
    assert found.status is Status.CRIT
    assert found.subject == Subject("gpu", PCI, "GPU " + PCI)
    assert found.summary == (
        "GPU 0000:86:00.0 is on the PCI bus, but the driver does not list it: nvmlDeviceGetCount_v2: 7 GPUs without it"
    )


@pytest.mark.parametrize(
    ("kind", "status", "reason", "words"),
    [
        ("hung", Status.UNKNOWN, "hung", "hangs"),
        ("permission", Status.UNKNOWN, "permission", "may not be opened"),
        ("reset-required", Status.CRIT, None, "needs a reset"),
        ("error", Status.CRIT, None, "answers with an error"),
    ],
)
def test_the_other_faults(
    with_gpu: Callable[..., Inventory],
    examine: Callable[..., Any],
    kind: str,
    status: Status,
    reason: Any,
    words: str,
) -> None:
    fault = GpuFault(kind, "nvmlDeviceGetTemperature", "did not return within 3 s")
    (found,) = examine(with_gpu(3, fault=fault))
    assert (found.status, found.reason) == (status, reason)
    assert found.summary == "GPU 3 ({}, {}) {}: nvmlDeviceGetTemperature: did not return within 3 s".format(
        PCI, UUID, words
    )
    assert found.remedy


@pytest.mark.parametrize(
    ("kind", "call", "sources"),
    [
        ("hung", "nvmlDeviceGetUUID", [DRIVER, DRIVER]),
        ("lost", "nvmlDeviceGetPciInfo_v3", ["nvmlDeviceGetUUID", DRIVER]),
        ("lost", "nvmlDeviceGetTemperature", ["nvmlDeviceGetUUID", "nvmlDeviceGetPciInfo_v3"]),
        ("invisible", "nvmlDeviceGetCount_v2", [DRIVER, BUS]),
    ],
)
def test_evidence_names_who_answered(
    with_gpu: Callable[..., Inventory], examine: Callable[..., Any], kind: str, call: str, sources: Any
) -> None:
    (found,) = examine(with_gpu(3, fault=GpuFault(kind, call, "")))
    assert [item.source for item in found.evidence] == [*sources, call]


def test_an_address_alone_is_the_buss(with_gpu: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(with_gpu(3, uuid=None, fault=GpuFault("lost", "nvmlDeviceGetUUID", "")))
    assert found.evidence[0] == Evidence("PCI address", PCI, BUS)


def test_another_vendors_gpu(with_gpu: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(with_gpu(3, vendor="amd", fault=GpuFault("error", "amd-smi list --json", "no answer")))
    assert [item.source for item in found.evidence] == ["amd-smi list --json", BUS, "amd-smi list --json"]


def test_each_faulty_gpu_is_one_finding(dgx: Inventory, examine: Callable[..., Any]) -> None:
    lost = GpuFault("lost", "nvmlDeviceGetUUID", "GPU is lost")
    gpus = tuple(gpu._replace(fault=lost if (gpu.gpu_index or 0) > 5 else None) for gpu in dgx.gpus or ())
    assert [found.subject.name for found in examine(dgx._replace(gpus=gpus))] == ["GPU 6", "GPU 7"]


def test_a_single_call_that_failed(dgx: Inventory, examine: Callable[..., Any]) -> None:
    problem = Problem("gpus", "permission", "GPU 3: nvmlDeviceGetMemoryInfo_v2: Insufficient Permissions")
    (found,) = examine(dgx._replace(problems=(problem,)))
    assert (found.status, found.reason, found.summary) == (Status.UNKNOWN, "permission", problem.message)


def test_unread_and_absent(examine: Callable[..., Any]) -> None:
    (found,) = examine(Inventory(problems=(Problem("gpus", "hung", "nvmlInitWithFlags did not return within 8 s"),)))
    assert (found.status, found.reason) == (Status.UNKNOWN, "hung")
    assert found.summary == "nvmlInitWithFlags did not return within 8 s"
    (found,) = examine(Inventory())
    assert (found.status, found.summary) == (Status.NA, "this machine has no gpus")
