from typing import Any, Callable

import pytest

from brctl.node.facts import Gpu, Inventory
from brctl.node.report import HOST, Evidence, Finding, Status
from brctl.node.request import Expected, ExpectedAccelerator, Override

MIB = 2**20


def sized(gpu: Gpu, mib: Any) -> Gpu:
    assert gpu.identity
    return gpu._replace(identity=gpu.identity._replace(memory_bytes=mib and mib * MIB))


@pytest.fixture
def mixed(dgx: Inventory) -> Callable[..., Inventory]:
    """The node with another memory size at some indices."""

    def change(mib: Any, *indices: int) -> Inventory:
        return dgx._replace(gpus=tuple(sized(gpu, mib) if gpu.gpu_index in indices else gpu for gpu in dgx.gpus or ()))

    return change


@pytest.mark.parametrize("mib", [81559, 81920, 80760])
def test_within_one_percent(dgx: Inventory, examine: Callable[..., Any], mib: int) -> None:
    assert examine(dgx, Expected(accelerator=ExpectedAccelerator(memory_bytes=mib * MIB))) == (
        Finding("gpu-memory", Status.PASS, HOST, "8 of 8 GPUs: 81559 MiB", fold="gpu-memory pass host"),
    )


def test_less_than_declared(mixed: Callable[..., Inventory], declared: Expected, examine: Callable[..., Any]) -> None:
    (found,) = examine(mixed(76460, 3), declared)
    assert (found.status, found.subject.name) == (Status.CRIT, "GPU 3")
    assert found.summary == "GPU 3: 76460 MiB, expected 81559 MiB"
    assert found.evidence == (
        Evidence("GPU 3", "76460 MiB", "nvmlDeviceGetMemoryInfo_v2"),
        Evidence("declared", "81559 MiB", "hardware.accelerator.memory"),
    )
    assert found.remedy


def test_more_than_declared(mixed: Callable[..., Inventory], declared: Expected, examine: Callable[..., Any]) -> None:
    (found,) = examine(mixed(95830, 3), declared)
    assert found.status is Status.WARN


def test_the_tolerance_can_be_set(
    mixed: Callable[..., Inventory], declared: Expected, examine: Callable[..., Any]
) -> None:
    (found,) = examine(mixed(76460, 3), declared, Override("gpu-memory", "tolerance", 7))
    assert (found.status, found.summary) == (
        Status.PASS,
        "7 of 8 GPUs: 81559 MiB, 1 of 8 GPUs: 76460 MiB",
    )


def test_siblings_within_the_tolerance_are_equal(mixed: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(mixed(81300, 3))
    assert found.status is Status.PASS
    (found,) = examine(mixed(76460, 3))
    assert (found.status, found.summary) == (Status.WARN, "GPU 3: 76460 MiB, 7 siblings: 81559 MiB")


def test_unified_memory_is_no_size(mixed: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(mixed(None, 0))
    assert (found.status, found.summary) == (Status.PASS, "7 of 8 GPUs: 81559 MiB; no value: GPU 0")
    (found,) = examine(mixed(None, *range(8)))
    assert found.status is Status.NA
