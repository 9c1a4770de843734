from typing import Any, Callable, Optional

import pytest

from brctl.node.facts import GpuFabric, GpuFault, GpuLink, Inventory
from brctl.node.report import HOST, Evidence, Finding, Status, Subject
from brctl.node.request import Expected, ExpectedAccelerator

GPU3 = Subject("gpu", "GPU-00000003-1111-2222-3333-444444444444", "GPU 3")


def links(active: int, of: int = 18) -> Any:
    return tuple(GpuLink(link, link < active, "4.0") for link in range(of))


@pytest.fixture
def linked(dgx: Inventory) -> Callable[..., Inventory]:
    """The node with links of these numbers, and others at the index 3."""

    def change(everywhere: Any, third: Any, switched: bool = False) -> Inventory:
        rows = [third if index == 3 else everywhere for index in range(8)]
        unsupported = [() if row else ("nvmlDeviceGetNvLinkState",) for row in rows]
        gpus = tuple(
            gpu._replace(links=row, unsupported=calls) for gpu, row, calls in zip(dgx.gpus or (), rows, unsupported)
        )
        return dgx._replace(gpus=gpus, pci=dgx.pci if switched else ())

    return change


@pytest.mark.parametrize(("number", "of"), [(18, 18), (12, 12), (12, 18)])
@pytest.mark.parametrize("declares", [True, False])
def test_all_links_whatever_their_number(
    linked: Callable[..., Inventory], examine: Callable[..., Any], number: int, of: int, declares: bool
) -> None:
    want = Expected(accelerator=ExpectedAccelerator(nvlinks=number if declares else None))
    assert examine(linked(links(number, of), links(number, of)), want) == (
        Finding(
            "gpu-links",
            Status.PASS,
            HOST,
            "8 of 8 GPUs: {} active NVLinks".format(number),
            fold="gpu-links pass host",
        ),
    )


@pytest.mark.parametrize(
    ("third", "words"), [(links(17), "17 active NVLinks"), (links(0), "0 active NVLinks"), (None, "no NVLink")]
)
def test_fewer_than_declared(
    linked: Callable[..., Inventory], declared: Expected, examine: Callable[..., Any], third: Any, words: str
) -> None:
    (found,) = examine(linked(links(18), third), declared)
    assert found._replace(remedy=None) == Finding(
        "gpu-links",
        Status.CRIT,
        GPU3,
        "GPU 3: {}, expected 18 active NVLinks".format(words),
        (
            Evidence("GPU 3", words, "nvmlDeviceGetNvLinkState"),
            Evidence("declared", "18 active NVLinks", "hardware.accelerator.nvlinks"),
        ),
        fold="gpu-links crit GPU 3",
    )
    assert found.remedy


@pytest.mark.parametrize(("switched", "status"), [(True, Status.CRIT), (False, Status.WARN)])
def test_fewer_than_the_siblings(
    linked: Callable[..., Inventory], examine: Callable[..., Any], switched: bool, status: Status
) -> None:
    (found,) = examine(linked(links(18), links(0), switched))
    assert (found.status, found.subject) == (status, GPU3)
    assert found.summary == "GPU 3: 0 active NVLinks, 7 siblings: 18 active NVLinks"


def test_all_have_too_few(linked: Callable[..., Inventory], declared: Expected, examine: Callable[..., Any]) -> None:
    (found,) = examine(linked(links(0), links(0)), declared)
    assert (found.status, found.summary) == (
        Status.CRIT,
        "8 of 8 GPUs: 0 active NVLinks, expected 18 active NVLinks",
    )


@pytest.mark.parametrize(
    ("everywhere", "status", "summary"),
    [
        (None, Status.NA, "no GPU has NVLinks"),
        (links(0), Status.INFO, "no NVLink of any GPU is active; none is declared"),
    ],
)
def test_boards_without_links(
    linked: Callable[..., Inventory], examine: Callable[..., Any], everywhere: Any, status: Status, summary: str
) -> None:
    (found,) = examine(linked(everywhere, everywhere))
    assert (found.status, found.summary) == (status, summary)


@pytest.mark.parametrize("want", [0, None])
def test_none_declared_and_none_there(
    linked: Callable[..., Inventory], examine: Callable[..., Any], want: Optional[int]
) -> None:
    (found,) = examine(linked(None, None), Expected(accelerator=ExpectedAccelerator(nvlinks=want)))
    assert found.status is (Status.NA if want is None else Status.PASS)


def test_more_than_declared(linked: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(linked(links(18), links(18)), Expected(accelerator=ExpectedAccelerator(nvlinks=12)))
    assert found.status is Status.WARN


def test_links_that_could_not_be_read(
    with_gpu: Callable[..., Inventory], declared: Expected, examine: Callable[..., Any]
) -> None:
    """None without `unsupported`: the call failed, which gpu-responding reports."""
    (found,) = examine(with_gpu(3, links=None), declared)
    assert (found.status, found.summary) == (Status.PASS, "7 of 8 GPUs: 18 active NVLinks; no value: GPU 3")


def test_a_lost_gpu_is_left_out(
    with_gpu: Callable[..., Inventory], declared: Expected, examine: Callable[..., Any]
) -> None:
    seen = with_gpu(3, links=None, fault=GpuFault("lost", "nvmlDeviceGetUUID", "GPU is lost"))
    for want in (declared, Expected()):
        (found,) = examine(seen, want)
        assert (found.status, found.summary) == (
            Status.PASS,
            "7 of 8 GPUs: 18 active NVLinks; not read: GPU 3",
        )


def bridged(dgx: Inventory, *numbers: Optional[int]) -> Inventory:
    """PCIe boards with these numbers of active links."""
    gpus = tuple(
        gpu._replace(
            links=None if number is None else links(number, 12),
            unsupported=("nvmlDeviceGetNvLinkState",) if number is None else (),
        )
        for gpu, number in zip(dgx.gpus or (), numbers)
    )
    return dgx._replace(gpus=gpus, pci=())


@pytest.mark.parametrize(
    ("numbers", "summary"),
    [
        ((12, 12, 0), "bridged in part: 2 of 3 GPUs; no active NVLink: GPU 2"),
        ((4, 4, 4, 4, 4, 4, 0, 0), "bridged in part: 6 of 8 GPUs; no active NVLink: GPU 6, GPU 7"),
        ((12, None, 12, 0), "bridged in part: 2 of 4 GPUs; no active NVLink: GPU 1, GPU 3"),
    ],
)
def test_boards_of_which_some_are_bridged(
    dgx: Inventory, examine: Callable[..., Any], numbers: Any, summary: str
) -> None:
    (found,) = examine(bridged(dgx, *numbers))
    assert (found.status, found.summary) == (Status.INFO, summary)


def test_a_bridged_board_lacks_some_links(dgx: Inventory, examine: Callable[..., Any]) -> None:
    info, odd = examine(bridged(dgx, 12, 12, 12, 8, 0, 0))
    assert (info.status, odd.status, odd.subject) == (Status.INFO, Status.WARN, GPU3)
    assert odd.summary == "GPU 3: 8 active NVLinks, 3 siblings: 12 active NVLinks"


def test_bridges_join_pairs_so_three_boards_of_four_have_lost_one(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(bridged(dgx, 12, 12, 12, 0))
    assert (found.status, found.subject) == (Status.WARN, GPU3)


def test_a_fabric_is_of_switches_also_where_none_is_on_the_bus(dgx: Inventory, examine: Callable[..., Any]) -> None:
    seen = bridged(dgx, 12, 12, 12, 0, 12, 12, 12, 0)
    fabric = GpuFabric("completed", "Success", 0, None, None)
    on_fabric = tuple(gpu._replace(fabric=fabric) for gpu in seen.gpus or ())
    found = examine(seen._replace(gpus=on_fabric))
    assert [(one.status, one.subject.name) for one in found] == [(Status.CRIT, "GPU 3"), (Status.CRIT, "GPU 7")]
