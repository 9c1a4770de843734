from typing import Any, Callable, Tuple

from brctl.node.facts import Gid, Inventory
from brctl.node.report import HOST, Status

LOCAL = "fe80:0000:0000:0000:00b0:7dff:fe00:0100"
V4 = "0000:0000:0000:0000:0000:ffff:0a00:0101"
V6 = "2001:0db8:0000:0000:0000:0000:0000:0001"


def table(*gids: str) -> Tuple[Gid, ...]:
    """Each for RoCE v1 and v2."""
    kinds = ("IB/RoCE v1", "RoCE v2")
    return tuple(Gid(2 * n + k, gid, kind, None) for n, gid in enumerate(gids) for k, kind in enumerate(kinds))


def with_tables(dgx: Inventory, usual: Tuple[Gid, ...], odd: Tuple[Gid, ...]) -> Inventory:
    ports = [port._replace(gids=usual) for port in dgx.rdma or ()]
    ports[2] = ports[2]._replace(gids=odd)
    return dgx._replace(rdma=tuple(ports))


def test_the_index_is_named(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(with_tables(dgx, table(LOCAL, V4), table(LOCAL, V4)))
    assert (found.status, found.summary) == (Status.PASS, "8 RoCE ports: GID 3 is RoCE v2, routed")
    (found,) = examine(with_tables(dgx, table(LOCAL, V6), table(LOCAL, V6)))
    assert found.status is Status.PASS


def test_a_port_without_an_address(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(with_tables(dgx, table(LOCAL, V4), table(LOCAL)))
    assert (found.status, found.subject.name) == (Status.WARN, "ens3np0")
    assert found.summary == "ens3np0: no GID of RoCE v2 with an address, only link-local ones or RoCE v1"


def test_no_address_anywhere_is_noted(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(with_tables(dgx, table(LOCAL), table(LOCAL)))
    assert (found.status, found.subject) == (Status.INFO, HOST)


def test_another_index_is_noted(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(with_tables(dgx, table(LOCAL, V4), table(LOCAL, V6, V4)))
    assert found.status is Status.INFO
    assert "5 on ens3np0" in found.summary
    assert found.summary.endswith("NCCL_IB_GID_INDEX must stay unset")


def test_without_roce(dgx: Inventory, examine: Callable[..., Any]) -> None:
    ports = tuple(port._replace(link_layer="InfiniBand") for port in dgx.rdma or ())
    assert examine(dgx._replace(rdma=ports))[0].status is Status.NA
