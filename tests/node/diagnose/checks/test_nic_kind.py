from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory
from brctl.node.report import HOST, Evidence, Finding, Status, Subject
from brctl.node.request import Expected, ExpectedNics


@pytest.fixture
def switched(dgx: Inventory) -> Inventory:
    """The node with one card set to InfiniBand."""
    ports = tuple(
        port._replace(link_layer="InfiniBand") if port.device == "mlx5_3" else port for port in dgx.rdma or ()
    )
    return dgx._replace(rdma=ports)


@pytest.mark.parametrize("kind", ["roce", "ethernet", None])
def test_roce_is_ethernet_too(dgx: Inventory, examine: Callable[..., Any], kind: Any) -> None:
    assert examine(dgx, Expected(nics=ExpectedNics("ens*np*", kind=kind))) == (
        Finding("nic-kind", Status.PASS, HOST, "8 of 8 NICs: RoCE", fold="nic-kind pass host"),
    )


def test_one_is_of_another_kind(switched: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    (found,) = examine(switched, declared)
    assert found._replace(remedy=None) == Finding(
        "nic-kind",
        Status.CRIT,
        Subject("nic", "ens4np0", "ens4np0"),
        "ens4np0: InfiniBand, expected roce",
        (
            Evidence("ens4np0", "InfiniBand", "/sys/class/infiniband"),
            Evidence("declared", "roce", "hardware.nics.kind"),
        ),
        fold="nic-kind crit ens4np0",
    )
    assert "LINK_TYPE_P1" in found.remedy


def test_the_odd_one(switched: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(switched)
    assert (found.status, found.summary) == (Status.WARN, "ens4np0: InfiniBand, 7 siblings: RoCE")


def test_ethernet_without_rdma(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx, Expected(nics=ExpectedNics("eno1", kind="roce")))
    assert (found.status, found.summary) == (Status.CRIT, "eno1: Ethernet without RDMA, expected roce")
    (found,) = examine(dgx, Expected(nics=ExpectedNics("eno1", kind="ethernet")))
    assert found.status is Status.PASS


def test_a_bond_has_the_rdma_device_of_its_ports(dgx: Inventory, examine: Callable[..., Any]) -> None:
    ports = [port._replace(device="mlx5_bond_0", netdev="bond0") for port in (dgx.rdma or ())[:1]]
    bond, port, *_ = dgx.nics or ()
    nics = (bond._replace(name="bond0", kind="bond"), port._replace(master="bond0", rdma="mlx5_bond_0"))
    (found,) = examine(
        dgx._replace(nics=nics, rdma=tuple(ports)), Expected(nics=ExpectedNics("bond0,ens*", kind="roce"))
    )
    assert (found.status, found.summary) == (Status.PASS, "2 of 2 NICs: RoCE")
