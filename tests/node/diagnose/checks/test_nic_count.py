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
    assert found.summary == "8 of 8 RDMA NICs"
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
    assert (found.status, found.summary) == (Status.NA, "RDMA NICs: 8, no number declared")
    (found,) = examine(dgx, Expected(nics=ExpectedNics("ens*")))
    assert found.status is Status.NA


def test_what_was_not_read_cannot_pass(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    problem = Problem("rdma", "hung", "/sys/class/infiniband did not return within 3 s")
    (found,) = examine(dgx._replace(rdma=None, problems=(problem,)), declared)
    assert (found.status, found.reason, found.summary) == (Status.UNKNOWN, "hung", problem.message)


def without(seen: Inventory, *rails: int) -> Inventory:
    """The node without these interfaces, whose cards are there and have their driver."""
    names = ["ens{}np0".format(rail) for rail in rails]
    return seen._replace(nics=tuple(nic for nic in seen.nics or () if nic.name not in names))


@pytest.mark.parametrize("patterns", ["ens*np*", None])
@pytest.mark.parametrize(("rails", "seen_here"), [((4,), 7), (range(1, 9), 0)])
def test_rails_that_are_lent_to_a_pod(
    dgx: Inventory, examine: Callable[..., Any], patterns: Any, rails: Any, seen_here: int
) -> None:
    (found,) = examine(without(dgx, *rails), Expected(nics=ExpectedNics(patterns, 8)))
    lent = 8 - seen_here
    noun = "NICs" if patterns or not seen_here else "RDMA NICs"
    assert (found.status, found.remedy) == (Status.INFO, None)
    assert found.summary == "{} of 8 {} expected; {} in another network namespace".format(seen_here, noun, lent)
    address = "0000:{:02x}:00.0".format(0x17 + rails[0])
    assert found.evidence[2] == Evidence(
        address,
        "mlx5_core, in another network namespace",
        "/sys/bus/pci/devices/{}/driver".format(address),
    )
    assert len(found.evidence) == 2 + lent


def test_all_that_a_pattern_names_is_lent(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(without(dgx, *range(1, 9)), Expected(nics=ExpectedNics("ens*np*")))
    assert (found.status, found.summary) == (
        Status.INFO,
        "no interface fits ens*np*; 8 in another network namespace",
    )


def test_one_is_lent_and_one_is_gone(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    pci = tuple(card for card in dgx.pci or () if card.address != "0000:1c:00.0")
    (found,) = examine(without(dgx, 4, 5)._replace(pci=pci), declared)
    assert (found.status, found.summary) == (Status.CRIT, "6 of 8 NICs expected")
    assert [item.value for item in found.evidence[2:]] == ["mlx5_core, in another network namespace"]


def test_another_card_that_is_lent_explains_nothing(
    dgx: Inventory, declared: Expected, examine: Callable[..., Any]
) -> None:
    pci = tuple(card for card in dgx.pci or () if card.address != "0000:1b:00.0")
    storage = pci[0]._replace(address="0000:5e:00.0", device_id="101d")
    (found,) = examine(without(dgx, 4)._replace(pci=(*pci, storage)), declared)
    assert (found.status, found.summary) == (Status.CRIT, "7 of 8 NICs expected")


def test_one_that_a_virtual_machine_holds(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    pci = tuple(card._replace(driver="vfio-pci") if card.address == "0000:1b:00.0" else card for card in dgx.pci or ())
    (found,) = examine(without(dgx, 4)._replace(pci=pci), declared)
    assert (found.status, found.evidence[2].value) == (Status.CRIT, "held by vfio-pci")


def test_one_that_could_not_be_read_may_be_the_missing_one(
    dgx: Inventory, declared: Expected, examine: Callable[..., Any]
) -> None:
    seen = without(dgx, 4)._replace(pci=())
    problem = Problem("nics", "error", "/sys/class/net/ens4np0/mtu: Input/output error", "ens4np0")
    (found,) = examine(seen._replace(problems=(problem,)), declared)
    assert (found.status, found.reason) == (Status.UNKNOWN, "error")
    assert found.summary == "7 of 8 NICs expected; not read: " + problem.message
    for other in ("wlan0", "mlx5_0"):  # no pattern names the one, and the other is there as ens1np0
        (found,) = examine(seen._replace(problems=(problem._replace(subject=other),)), declared)
        assert found.status is Status.CRIT


def test_efa_adapters_have_no_interface(dgx: Inventory, examine: Callable[..., Any]) -> None:
    rdma = tuple(port._replace(link_layer="Unspecified", netdev=None) for port in (dgx.rdma or ())[:4])
    (found,) = examine(dgx._replace(nics=(dgx.nics or ())[:1], rdma=rdma), Expected(nics=ExpectedNics(nic_count=4)))
    assert (found.status, found.summary) == (Status.PASS, "4 of 4 RDMA NICs")


def test_virtual_functions_do_not_count(dgx: Inventory, examine: Callable[..., Any]) -> None:
    part = (dgx.pci or ())[0]._replace(address="0000:18:00.1", physical_function="0000:18:00.0")
    nic = (dgx.nics or ())[1]._replace(name="ens1v0", pci=part.address, rdma="mlx5_8")
    seen = dgx._replace(pci=(*(dgx.pci or ()), part), nics=(*(dgx.nics or ()), nic))
    (found,) = examine(seen, Expected(nics=ExpectedNics(nic_count=8)))
    assert (found.status, found.summary) == (Status.PASS, "8 of 8 RDMA NICs")
