from typing import Any, Callable

import pytest

from brctl.node.facts import Gpu, Inventory
from brctl.node.report import HOST, Evidence, Finding, Status
from brctl.node.request import Expected, ExpectedAccelerator


def flashed(gpu: Gpu, vbios: Any, **more: Any) -> Gpu:
    assert gpu.identity
    return gpu._replace(identity=gpu.identity._replace(vbios=vbios, **more))


@pytest.fixture
def mixed(dgx: Inventory) -> Callable[..., Inventory]:
    """The node with another VBIOS (and model) at some indices."""

    def change(vbios: Any, *indices: int, **more: Any) -> Inventory:
        gpus = tuple(flashed(gpu, vbios, **more) if gpu.gpu_index in indices else gpu for gpu in dgx.gpus or ())
        return dgx._replace(gpus=gpus)

    return change


def test_as_declared(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    assert examine(dgx, declared) == (
        Finding("gpu-vbios", Status.PASS, HOST, "8 of 8 GPUs: VBIOS 96.00.99.00.01", fold="gpu-vbios pass host"),
    )


def test_another_than_declared(
    mixed: Callable[..., Inventory], declared: Expected, examine: Callable[..., Any]
) -> None:
    (found,) = examine(mixed("96.00.74.00.01", 3), declared)
    assert (found.status, found.subject.name) == (Status.WARN, "GPU 3")
    assert found.summary == "GPU 3: VBIOS 96.00.74.00.01, expected 96.00.99.*"
    assert found.evidence == (
        Evidence("GPU 3", "VBIOS 96.00.74.00.01", "nvmlDeviceGetVbiosVersion"),
        Evidence("declared", "96.00.99.*", "hardware.accelerator.vbios"),
    )
    assert found.remedy


def test_the_odd_ones(mixed: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    found = examine(mixed("96.00.74.00.01", 3, 6))
    assert [(one.status, one.summary) for one in found] == [
        (Status.WARN, "GPU 3: VBIOS 96.00.74.00.01, 6 siblings: VBIOS 96.00.99.00.01"),
        (Status.WARN, "GPU 6: VBIOS 96.00.74.00.01, 6 siblings: VBIOS 96.00.99.00.01"),
    ]


def test_no_majority(mixed: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(mixed("96.00.74.00.01", 0, 1, 2, 3))
    assert (found.status, found.subject) == (Status.WARN, HOST)
    assert found.summary == (
        "siblings differ: VBIOS 96.00.74.00.01 on GPU 0, GPU 1, GPU 2, GPU 3; "
        "VBIOS 96.00.99.00.01 on GPU 4, GPU 5, GPU 6, GPU 7"
    )
    assert len(found.evidence) == 8


def test_models_are_not_compared_with_each_other(mixed: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(mixed("90.04.96.00.01", 6, 7, name="Tesla T4"))
    assert found.status is Status.PASS
    assert found.summary == "6 of 8 GPUs: VBIOS 96.00.99.00.01, 2 of 8 GPUs: VBIOS 90.04.96.00.01"


def test_gpus_that_show_none(mixed: Callable[..., Inventory], declared: Expected, examine: Callable[..., Any]) -> None:
    (found,) = examine(mixed(None, *range(8)), declared)
    assert found.status is Status.NA
    assert found.summary == ("no GPUs to judge; no value: GPU 0, GPU 1, GPU 2, GPU 3, GPU 4, GPU 5, GPU 6, GPU 7")
    (found,) = examine(mixed(None, 3), Expected(accelerator=ExpectedAccelerator()))
    assert (found.status, found.summary) == (Status.PASS, "7 of 8 GPUs: VBIOS 96.00.99.00.01; no value: GPU 3")


def test_several_versions_may_be_declared(with_gpu: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    want = Expected(accelerator=ExpectedAccelerator(vbios="96.00.99.*,96.00.89.*"))
    identity = (with_gpu(3).gpus or ())[3].identity
    (found,) = examine(with_gpu(3, identity=identity._replace(vbios="96.00.89.00.01")), want)
    assert found.status is Status.PASS
    (found,) = examine(with_gpu(3, identity=identity._replace(vbios="96.00.74.00.01")), want)
    assert (found.status, found.subject.name) == (Status.WARN, "GPU 3")
