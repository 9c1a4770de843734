from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory, Problem
from brctl.node.report import HOST, Evidence, Finding, Status, Subject
from brctl.node.request import Expected, ExpectedNics


@pytest.mark.parametrize("declares", [True, False])
def test_all_alike(dgx: Inventory, declared: Expected, examine: Callable[..., Any], declares: bool) -> None:
    assert examine(dgx, declared if declares else None) == (
        Finding("nic-firmware", Status.PASS, HOST, "8 of 8 NICs: firmware 28.41.1000", fold="nic-firmware pass host"),
    )


def test_another_than_declared(
    with_nic: Callable[..., Inventory], declared: Expected, examine: Callable[..., Any]
) -> None:
    (found,) = examine(with_nic(2, firmware="22.36.1010"), declared)
    assert found._replace(remedy=None) == Finding(
        "nic-firmware",
        Status.WARN,
        Subject("nic", "ens3np0", "ens3np0"),
        "ens3np0: firmware 22.36.1010, expected 28.*",
        (
            Evidence("ens3np0", "firmware 22.36.1010", "ethtool -i ens3np0"),
            Evidence("declared", "28.*", "hardware.nics.firmware"),
        ),
        fold="nic-firmware warn ens3np0",
    )
    assert found.remedy


def test_the_odd_one(with_nic: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(with_nic(2, firmware="28.39.1002"))
    assert (found.status, found.summary) == (
        Status.WARN,
        "ens3np0: firmware 28.39.1002, 7 siblings: firmware 28.41.1000",
    )


def test_other_cards_are_not_compared(with_nic: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    seen = with_nic(2, firmware="32.38.3056")
    pci = tuple(card._replace(device_id="a2dc") if card.address == "0000:1a:00.0" else card for card in seen.pci or ())
    (found,) = examine(seen._replace(pci=pci))
    assert (found.status, found.summary) == (
        Status.PASS,
        "7 of 8 NICs: firmware 28.41.1000, 1 of 8 NICs: firmware 32.38.3056",
    )


def test_what_the_rdma_device_says(with_nic: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    want = Expected(nics=ExpectedNics("ens3np0", firmware="29.*"))
    (found,) = examine(with_nic(2, firmware=None), want)
    assert found.evidence[0] == Evidence("ens3np0", "firmware 28.41.1000", "/sys/class/infiniband/mlx5_2/fw_ver")


def test_nics_that_show_none(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx, Expected(nics=ExpectedNics("eno1", firmware="28.*")))
    assert (found.status, found.summary) == (Status.NA, "no NICs to judge; no value: eno1")


@pytest.mark.parametrize("patterns", ["28.41.*,28.39.*", "28.39.1002, 28.41.1000"])
def test_several_versions_may_be_declared(
    with_nic: Callable[..., Inventory], examine: Callable[..., Any], patterns: str
) -> None:
    want = Expected(nics=ExpectedNics("ens*np*", firmware=patterns))
    (found,) = examine(with_nic(2, firmware="28.39.1002"), want)
    assert found.status is Status.PASS
    (found,) = examine(with_nic(2, firmware="28.36.1010"), want)
    assert (found.status, found.summary) == (
        Status.WARN,
        "ens3np0: firmware 28.36.1010, expected {}".format(patterns),
    )


def test_ethtool_that_hung(with_nic: Callable[..., Inventory], declared: Expected, examine: Callable[..., Any]) -> None:
    """Where the RDMA device tells the firmware too, nothing is missing."""
    seen = with_nic(2, firmware=None)
    problem = Problem("nics", "hung", "ethtool -i ens3np0 did not return within 3 s", "ens3np0")
    (found,) = examine(seen._replace(problems=(problem,)), declared)
    assert found.status is Status.PASS
    rdma = tuple(port._replace(firmware=None) for port in seen.rdma or ())
    (found,) = examine(seen._replace(rdma=rdma, problems=(problem,)), declared)
    assert (found.status, found.reason, found.subject.name) == (Status.UNKNOWN, "hung", "ens3np0")
    assert found.summary == problem.message
