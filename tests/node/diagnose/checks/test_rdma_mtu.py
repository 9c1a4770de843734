from typing import Any, Callable

from brctl.node.facts import Inventory
from brctl.node.report import HOST, Status

Port = Callable[..., Inventory]


def test_all_alike_and_one_odd(dgx: Inventory, with_port: Port, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx)
    assert (found.status, found.summary) == (Status.PASS, "8 of 8 NICs: RDMA MTU 4096 (interface 9000)")
    (found,) = examine(with_port(2, rdma_mtu=1024))
    assert (found.status, found.subject.name) == (Status.WARN, "ens3np0")
    assert found.summary == ("ens3np0: RDMA MTU 1024 (interface 9000), 7 siblings: RDMA MTU 4096 (interface 9000)")


def test_small_everywhere_is_noted(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx._replace(rdma=tuple(port._replace(rdma_mtu=1024) for port in dgx.rdma or ())))
    assert (found.status, found.subject) == (Status.INFO, HOST)
    assert found.summary.startswith("8 RDMA ports: RDMA MTU 1024: each packet carries a quarter")


def test_infiniband_says_it_by_ibv_devinfo(dgx: Inventory, examine: Callable[..., Any]) -> None:
    ports = [port._replace(link_layer="InfiniBand") for port in dgx.rdma or ()]
    ports[2] = ports[2]._replace(rdma_mtu=2048)
    (found,) = examine(dgx._replace(rdma=tuple(ports)))
    assert (found.summary, found.evidence[0].source) == (
        "ens3np0: RDMA MTU 2048, 7 siblings: RDMA MTU 4096",
        "ibv_devinfo -d mlx5_2",
    )
