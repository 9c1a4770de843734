from typing import Any, Callable

from brctl.node.facts import Inventory
from brctl.node.report import Status


def test_all_alike(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx)
    assert (found.status, found.summary) == (Status.PASS, "8 GPUs: PIX to the nearest NIC")


def test_a_gpu_that_is_far(with_gpu: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(with_gpu(3, nearest_nic_path="SYS"))
    assert (found.status, found.subject.name) == (Status.WARN, "GPU 3")
    assert found.summary == "GPU 3: SYS to its nearest NIC ens4np0, 7 like it: PIX"


def test_a_nearer_one_is_no_fault(dgx: Inventory, examine: Callable[..., Any]) -> None:
    gpus = [gpu._replace(nearest_nic_path="NODE") for gpu in dgx.gpus or ()]
    gpus[3] = gpus[3]._replace(nearest_nic_path="PIX")
    (found,) = examine(dgx._replace(gpus=tuple(gpus)))
    assert (found.status, found.summary) == (Status.PASS, "8 GPUs: PIX, NODE to the nearest NIC")


def test_no_majority_is_no_fault(dgx: Inventory, examine: Callable[..., Any]) -> None:
    gpus = [gpu._replace(nearest_nic_path="SYS" if place % 2 else "PIX") for place, gpu in enumerate(dgx.gpus or ())]
    assert examine(dgx._replace(gpus=tuple(gpus)))[0].status is Status.PASS


def test_a_nic_without_a_numa_node(with_nic: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(with_nic(2, numa_node=None))
    assert (found.status, found.summary) == (
        Status.WARN,
        "ens3np0: the firmware does not tell its NUMA node, that of 7 others it does",
    )


def test_without_a_nic(dgx: Inventory, examine: Callable[..., Any]) -> None:
    gpus = tuple(gpu._replace(nearest_nic=None, nearest_nic_path=None) for gpu in dgx.gpus or ())
    assert examine(dgx._replace(gpus=gpus))[0].status is Status.NA
