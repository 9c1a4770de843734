from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory, Problem
from brctl.node.report import HOST, Evidence, Finding, Status
from brctl.node.request import Expected, ExpectedNics

SOURCE = "/sys/class/net and /sys/class/infiniband"


def test_all_there(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    assert examine(dgx, declared) == (
        Finding("nic-count", Status.PASS, HOST, "8 of 8 NICs", fold="nic-count pass host"),
    )


def test_a_card_whose_driver_is_not_loaded(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    pci = tuple(card._replace(driver=None) if card.address == "0000:1b:00.0" else card for card in dgx.pci or ())
    nics = tuple(nic for nic in dgx.nics or () if nic.name != "ens4np0")
    (found,) = examine(dgx._replace(nics=nics, pci=pci), declared)
    assert found._replace(remedy=None) == Finding(
        "nic-count",
        Status.CRIT,
        HOST,
        "7 of 8 NICs expected",
        (
            Evidence("NICs", "7", SOURCE),
            Evidence("declared", "8", "hardware.nics.count"),
            Evidence("0000:1b:00.0", "no driver", "/sys/bus/pci/devices/0000:1b:00.0/driver"),
        ),
        fold="nic-count crit host",
    )
    assert "lspci" in found.remedy


def test_more_than_declared(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx, Expected(nics=ExpectedNics("ens*np*, eno1", 8)))
    assert (found.status, found.summary) == (Status.WARN, "9 NICs, 8 expected")


@pytest.mark.parametrize(("patterns", "count"), [("mlx5_*", 8), ("ens[12]np0", 2), ("bond0", 0), ("lo", 1), ("l*", 0)])
def test_what_patterns_name(dgx: Inventory, examine: Callable[..., Any], patterns: str, count: int) -> None:
    (found,) = examine(dgx, Expected(nics=ExpectedNics(patterns, count)))
    assert (found.status, found.summary) == (Status.PASS, "{0} of {0} NICs".format(count))


def test_without_patterns_those_with_rdma_count_else_all_hardware(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx, Expected(nics=ExpectedNics(nic_count=8)))
    assert found.summary == "8 of 8 NICs"
    plain = dgx._replace(nics=tuple(nic for nic in dgx.nics or () if not nic.rdma), rdma=None, pci=())
    (found,) = examine(plain, Expected(nics=ExpectedNics(nic_count=1)))
    assert found.summary == "1 of 1 NICs"


def test_infiniband_needs_no_interface(dgx: Inventory, examine: Callable[..., Any]) -> None:
    bare = tuple(port._replace(link_layer="InfiniBand", netdev=None) for port in dgx.rdma or ())
    second = bare[0]._replace(port=2)
    seen = dgx._replace(nics=(dgx.nics or ())[:1], rdma=(*bare, second))
    (found,) = examine(seen, Expected(nics=ExpectedNics("mlx5_*", 9, kind="infiniband")))
    assert found.summary == "9 of 9 NICs"


def test_no_interface_fits(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx, Expected(nics=ExpectedNics("ibp*")))
    assert (found.status, found.summary) == (Status.CRIT, "no interface fits ibp*")
    assert found.evidence == (
        Evidence("interfaces", "eno1 " + " ".join("ens{}np0".format(rail) for rail in range(1, 9)) + " lo", SOURCE),
        Evidence("declared", "ibp*", "hardware.nics.interfaces"),
    )


def test_nothing_declared(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx)
    assert (found.status, found.summary) == (Status.NA, "NICs: 8, no number declared")
    (found,) = examine(dgx, Expected(nics=ExpectedNics("ens*")))
    assert found.status is Status.NA


def test_what_was_not_read_cannot_pass(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    problem = Problem("rdma", "hung", "/sys/class/infiniband did not return within 3 s")
    (found,) = examine(dgx._replace(rdma=None, problems=(problem,)), declared)
    assert (found.status, found.reason, found.summary) == (Status.UNKNOWN, "hung", problem.message)
