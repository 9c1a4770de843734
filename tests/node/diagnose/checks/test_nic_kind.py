from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory, Problem
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


@pytest.fixture
def lag(dgx: Inventory) -> Inventory:
    """RoCE on a bond of both ports of one card, whose RDMA device is on the first function alone."""
    bond, port, other, *_ = dgx.nics or ()
    nics = (
        bond._replace(name="bond0", kind="bond", lower=("ens6f0np0", "ens6f1np1"), pci=None),
        port._replace(name="ens6f0np0", master="bond0", rdma="mlx5_bond_0"),
        other._replace(name="ens6f1np1", master="bond0", rdma=None),
    )
    rdma = (dgx.rdma or ())[0]._replace(device="mlx5_bond_0", netdev="bond0")
    return dgx._replace(nics=nics, rdma=(rdma,))


@pytest.mark.parametrize("patterns", ["ens6*", None])
@pytest.mark.parametrize("kind", ["roce", "ethernet", None])
def test_the_ports_of_a_bond_with_an_rdma_device(
    lag: Inventory, examine: Callable[..., Any], patterns: Any, kind: Any
) -> None:
    (found,) = examine(lag, Expected(nics=ExpectedNics(patterns, kind=kind)))
    assert (found.status, found.summary) == (Status.PASS, "2 of 2 NICs: RoCE")


def test_a_vlan_has_the_kind_of_what_it_stands_on(lag: Inventory, examine: Callable[..., Any]) -> None:
    bond = (lag.nics or ())[0]
    vlan = bond._replace(name="bond0.7", kind="vlan", lower=("bond0",))
    want = Expected(nics=ExpectedNics("bond0.7", kind="roce"))
    (found,) = examine(lag._replace(nics=(*(lag.nics or ()), vlan)), want)
    assert (found.status, found.summary) == (Status.PASS, "1 of 1 NICs: RoCE")


def test_an_ipoib_interface_is_infiniband_also_with_a_partition_key(
    dgx: Inventory, examine: Callable[..., Any]
) -> None:
    nic = (dgx.nics or ())[1]._replace(name="ib0", mac=":".join(["00"] * 20))
    key = nic._replace(name="ib0.8001", kind="virtual", pci=None, rdma=None)
    hca = (dgx.rdma or ())[0]._replace(link_layer="InfiniBand", netdev="ib0")
    want = Expected(nics=ExpectedNics("ib0,ib0.8001", kind="infiniband"))
    (found,) = examine(dgx._replace(nics=(nic, key), rdma=(hca,)), want)
    assert (found.status, found.summary) == (Status.PASS, "2 of 2 NICs: InfiniBand")


def test_efa(dgx: Inventory, examine: Callable[..., Any]) -> None:
    bare = tuple(port._replace(link_layer="Unspecified", netdev=None) for port in dgx.rdma or ())
    seen = dgx._replace(nics=(dgx.nics or ())[:1], rdma=bare)
    (found,) = examine(seen, Expected(nics=ExpectedNics(kind="efa")))
    assert (found.status, found.summary) == (Status.PASS, "8 of 8 NICs: EFA")
    (found,) = examine(seen, Expected(nics=ExpectedNics(kind="infiniband")))
    assert (found.status, found.summary) == (Status.CRIT, "8 of 8 NICs: EFA, expected infiniband")


def test_a_device_that_could_not_be_read(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    problem = Problem("rdma", "error", "mlx5_3: /sys/class/infiniband/mlx5_3/ports: Input/output error", "mlx5_3")
    rdma = tuple(port for port in dgx.rdma or () if port.device != "mlx5_3")
    (found,) = examine(dgx._replace(rdma=rdma, problems=(problem,)), declared)
    assert (found.status, found.reason, found.subject.name) == (Status.UNKNOWN, "error", "ens4np0")
    assert found.summary == problem.message


def test_bonded_storage_ports_on_the_rails_type_of_card(switched: Inventory, examine: Callable[..., Any]) -> None:
    """Rails of InfiniBand, and two such cards that speak Ethernet in a bond."""
    ports = tuple(
        port if port.device in ("mlx5_6", "mlx5_7") else port._replace(link_layer="InfiniBand")
        for port in switched.rdma or ()
    )
    nics = tuple(
        nic._replace(master="bond0") if nic.rdma in ("mlx5_6", "mlx5_7") else nic for nic in switched.nics or ()
    )
    (found,) = examine(switched._replace(nics=nics, rdma=ports))
    assert (found.status, found.summary) == (Status.PASS, "6 of 8 NICs: InfiniBand, 2 of 8 NICs: RoCE")
