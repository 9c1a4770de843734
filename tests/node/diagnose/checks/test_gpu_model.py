from typing import Any, Callable

import pytest

from brctl.node.facts import Gpu, GpuFault, Inventory
from brctl.node.report import HOST, Evidence, Finding, Status, Subject
from brctl.node.request import Expected, ExpectedAccelerator

GPU3 = Subject("gpu", "GPU-00000003-1111-2222-3333-444444444444", "GPU 3")


def renamed(gpu: Gpu, name: str) -> Gpu:
    assert gpu.identity
    return gpu._replace(identity=gpu.identity._replace(name=name))


@pytest.fixture
def mixed(dgx: Inventory) -> Callable[..., Inventory]:
    """The node with other models at some indices."""

    def change(name: str, *indices: int) -> Inventory:
        gpus = tuple(renamed(gpu, name) if gpu.gpu_index in indices else gpu for gpu in dgx.gpus or ())
        return dgx._replace(gpus=gpus)

    return change


@pytest.mark.parametrize("want", ["NVIDIA H100 80GB HBM3", "NVIDIA H100*", None])
def test_all_alike(dgx: Inventory, examine: Callable[..., Any], want: Any) -> None:
    assert examine(dgx, Expected(accelerator=ExpectedAccelerator(model=want))) == (
        Finding("gpu-model", Status.PASS, HOST, "8 of 8 GPUs: NVIDIA H100 80GB HBM3", fold="gpu-model pass host"),
    )


def test_one_is_another(mixed: Callable[..., Inventory], declared: Expected, examine: Callable[..., Any]) -> None:
    (found,) = examine(mixed("NVIDIA H100 PCIe", 3), declared)
    assert found._replace(remedy=None) == Finding(
        "gpu-model",
        Status.CRIT,
        GPU3,
        "GPU 3: NVIDIA H100 PCIe, expected NVIDIA H100 80GB HBM3",
        (
            Evidence("GPU 3", "NVIDIA H100 PCIe", "nvmlDeviceGetName"),
            Evidence("declared", "NVIDIA H100 80GB HBM3", "hardware.accelerator.model"),
        ),
        fold="gpu-model crit GPU 3",
    )
    assert found.remedy


def test_all_are_another(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx, Expected(accelerator=ExpectedAccelerator(model="NVIDIA B200")))
    assert (found.status, found.subject) == (Status.CRIT, HOST)
    assert found.summary == "8 of 8 GPUs: NVIDIA H100 80GB HBM3, expected NVIDIA B200"


def test_the_odd_one_among_siblings(mixed: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(mixed("NVIDIA H100 PCIe", 3))
    assert (found.status, found.subject) == (Status.WARN, GPU3)
    assert found.summary == "GPU 3: NVIDIA H100 PCIe, 7 siblings: NVIDIA H100 80GB HBM3"
    assert found.evidence == (
        Evidence("GPU 3", "NVIDIA H100 PCIe", "nvmlDeviceGetName"),
        Evidence("7 siblings", "NVIDIA H100 80GB HBM3", "nvmlDeviceGetName"),
    )


def test_two_kinds_may_be_meant(mixed: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(mixed("NVIDIA T4", 4, 5, 6, 7))
    assert (found.status, found.subject) == (Status.INFO, HOST)
    assert found.summary == (
        "siblings differ: NVIDIA H100 80GB HBM3 on GPU 0, GPU 1, GPU 2, GPU 3; NVIDIA T4 on GPU 4, GPU 5, GPU 6, GPU 7"
    )


def test_one_gpu_alone(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx._replace(gpus=(dgx.gpus or ())[:1]))
    assert found.status is Status.NA
    assert found.summary == "1 of 1 GPUs: NVIDIA H100 80GB HBM3; nothing declared, no siblings to compare"


def test_a_lost_gpu_is_left_out(
    with_gpu: Callable[..., Inventory], declared: Expected, examine: Callable[..., Any]
) -> None:
    seen = with_gpu(3, identity=None, fault=GpuFault("lost", "nvmlDeviceGetUUID", "GPU is lost"))
    for want in (declared, Expected()):
        (found,) = examine(seen, want)
        assert found.status is Status.PASS
        assert found.summary == "7 of 8 GPUs: NVIDIA H100 80GB HBM3; not read: GPU 3"


def test_no_gpu_could_be_read(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    lost, hung = (GpuFault(kind, "nvmlDeviceGetUUID", "") for kind in ("lost", "hung"))
    gpus = [gpu._replace(identity=None, fault=lost) for gpu in dgx.gpus or ()]
    (found,) = examine(dgx._replace(gpus=tuple(gpus)), declared)
    assert (found.status, found.reason) == (Status.UNKNOWN, "error")
    assert found.summary == "none of 8 GPUs could be read"
    gpus[5] = gpus[5]._replace(fault=hung)
    (found,) = examine(dgx._replace(gpus=tuple(gpus)), declared)
    assert found.reason == "hung"


def test_several_models_may_be_declared(mixed: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    want = Expected(accelerator=ExpectedAccelerator(model="NVIDIA H100 80GB HBM3, NVIDIA H200"))
    (found,) = examine(mixed("NVIDIA H200", 3), want)
    assert found.status is Status.PASS
    (found,) = examine(mixed("NVIDIA B200", 3), want)
    assert (found.status, found.subject.name) == (Status.CRIT, "GPU 3")
