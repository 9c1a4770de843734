from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory
from brctl.node.report import HOST, Evidence, Finding, Status, Subject
from brctl.node.request import Expected, ExpectedNics


@pytest.fixture
def bonded(dgx: Inventory) -> Callable[..., Inventory]:
    """The node with its last two rails in a bond."""

    def change(bond_mtu: int, *port_mtus: int) -> Inventory:
        nics = list(dgx.nics or ())
        for place, mtu in zip((7, 8), port_mtus):
            nics[place] = nics[place]._replace(master="bond0", mtu=mtu)
        bond = nics[0]._replace(name="bond0", kind="bond", mtu=bond_mtu, lower=("ens7np0", "ens8np0"), pci=None)
        return dgx._replace(nics=(bond, *nics))

    return change


@pytest.mark.parametrize("declares", [True, False])
def test_all_alike(dgx: Inventory, declared: Expected, examine: Callable[..., Any], declares: bool) -> None:
    assert examine(dgx, declared if declares else None) == (
        Finding("nic-mtu", Status.PASS, HOST, "8 of 8 NICs: MTU 9000", fold="nic-mtu pass host"),
    )


def test_another_than_declared(
    with_nic: Callable[..., Inventory], declared: Expected, examine: Callable[..., Any]
) -> None:
    (found,) = examine(with_nic(2, mtu=1500), declared)
    assert found._replace(remedy=None) == Finding(
        "nic-mtu",
        Status.WARN,
        Subject("nic", "ens3np0", "ens3np0"),
        "ens3np0: MTU 1500, expected 9000",
        (
            Evidence("ens3np0", "MTU 1500", "/sys/class/net/ens3np0/mtu"),
            Evidence("declared", "9000", "tune.network.mtu"),
        ),
        fold="nic-mtu warn ens3np0",
    )
    assert "brctl tune apply" in found.remedy


def test_all_are_another(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx, Expected(mtu=8192, mtu_interfaces="ens*np*"))
    assert (found.subject, found.summary) == (HOST, "8 of 8 NICs: MTU 9000, expected 8192")
    assert len(found.evidence) == 9


def test_the_odd_one(with_nic: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(with_nic(2, mtu=1500))
    assert (found.status, found.summary) == (Status.WARN, "ens3np0: MTU 1500, 7 siblings: MTU 9000")


def test_mtu_without_a_pattern_is_for_the_declared_nics(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx, Expected(mtu=9000, nics=ExpectedNics("ens1np0,eno1")))
    assert (found.status, found.summary) == (Status.WARN, "eno1: MTU 1500, expected 9000")


@pytest.mark.parametrize(
    ("carrier", "declares", "summary"),
    [
        (False, True, "ens3np0: MTU 1500, expected 9000"),
        (None, True, "7 of 8 NICs: MTU 9000; administratively down: ens3np0"),
        (False, False, "7 of 8 NICs: MTU 9000; no link: ens3np0"),
    ],
)
def test_without_a_link(
    with_nic: Callable[..., Inventory],
    declared: Expected,
    examine: Callable[..., Any],
    carrier: Any,
    declares: bool,
    summary: str,
) -> None:
    (found,) = examine(with_nic(2, mtu=1500, carrier=carrier), declared if declares else None)
    assert found.summary == summary


def test_other_speeds_and_infiniband_are_not_compared(
    with_nic: Callable[..., Inventory], examine: Callable[..., Any]
) -> None:
    (found,) = examine(with_nic(2, mtu=1500, speed_mbps=200000))
    assert found.status is Status.PASS
    seen = with_nic(2, mtu=2044)
    ports = tuple(port._replace(link_layer="InfiniBand") for port in seen.rdma or ())
    (found,) = examine(seen._replace(rdma=ports))
    assert (found.status, found.summary) == (Status.NA, "no NICs to judge")


def test_a_port_unlike_its_bond(bonded: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(bonded(9000, 9000, 1500), Expected(mtu=9000, mtu_interfaces="bond0"))
    assert (found.status, found.subject.name) == (Status.WARN, "ens8np0")
    assert found.summary == "ens8np0: MTU 1500, its bond bond0: MTU 9000"
    assert found.evidence == (
        Evidence("ens8np0", "MTU 1500", "/sys/class/net/ens8np0/mtu"),
        Evidence("bond0", "MTU 9000", "/sys/class/net/bond0/mtu"),
    )


def test_a_port_is_told_once(bonded: Callable[..., Inventory], declared: Expected, examine: Callable[..., Any]) -> None:
    (found,) = examine(bonded(9000, 9000, 1500), declared)
    assert found.summary == "ens8np0: MTU 1500, expected 9000"


def test_a_bond_and_its_ports_are_no_siblings_of_rails(
    bonded: Callable[..., Inventory], examine: Callable[..., Any]
) -> None:
    (found,) = examine(bonded(1500, 1500, 1500))
    assert (found.status, found.summary) == (Status.PASS, "6 of 8 NICs: MTU 9000, 2 of 8 NICs: MTU 1500")


def test_two_bonds_are_no_siblings(bonded: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    """bond0 for management, bond1 for storage, on the same cards."""
    seen = bonded(9000, 9000, 9000)
    bond, *nics = seen.nics or ()
    nics[5] = nics[5]._replace(master="bond1", mtu=1500)
    nics[6] = nics[6]._replace(master="bond1", mtu=1500)
    (found,) = examine(seen._replace(nics=(bond, bond._replace(name="bond1", mtu=1500), *nics)))
    assert (found.status, found.summary) == (Status.PASS, "6 of 8 NICs: MTU 9000, 2 of 8 NICs: MTU 1500")


def test_a_port_unlike_the_other_in_its_bond(bonded: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    found = examine(bonded(9000, 9000, 1500))
    assert [(one.status, one.summary) for one in found] == [
        (Status.WARN, "siblings differ: MTU 9000 on ens7np0; MTU 1500 on ens8np0"),
        (Status.WARN, "ens8np0: MTU 1500, its bond bond0: MTU 9000"),
    ]
