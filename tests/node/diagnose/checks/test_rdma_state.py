from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory
from brctl.node.report import Status
from brctl.node.request import Expected

Port = Callable[..., Inventory]
DOWN = {"state": "DOWN", "physical_state": "Polling", "rate_gbps": None}


def infiniband(seen: Inventory) -> Inventory:
    ports = tuple(port._replace(link_layer="InfiniBand", netdev=None) for port in seen.rdma or ())
    return seen._replace(rdma=ports, nics=())


def test_all_active(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx)
    assert (found.status, found.summary) == (Status.PASS, "8 RDMA ports are active")


def test_polling_is_critical_and_no_slow_link(with_port: Port, examine: Callable[..., Any]) -> None:
    (found,) = examine(infiniband(with_port(3, **DOWN)))
    assert (found.status, found.summary) == (Status.CRIT, "mlx5_3: no link (DOWN, Polling)")
    assert found.evidence[1].value == "7 of 8 active"


@pytest.mark.parametrize("state", ["INIT", "ARMED"])
def test_no_subnet_manager(with_port: Port, examine: Callable[..., Any], state: str) -> None:
    (found,) = examine(infiniband(with_port(3, state=state, rate_gbps=None)))
    assert (found.status, found.summary) == (
        Status.CRIT,
        "mlx5_3: it has a link and waits for a subnet manager ({})".format(state),
    )


def test_within_minutes_of_the_boot_it_is_noted(with_port: Port, examine: Callable[..., Any]) -> None:
    seen = infiniband(with_port(3, **DOWN))
    assert seen.kernel
    (found,) = examine(seen._replace(kernel=seen.kernel._replace(uptime_s=60.0)))
    assert (found.status, found.summary) == (
        Status.INFO,
        "mlx5_3: no link (DOWN, Polling), within minutes of the boot",
    )


def test_a_port_that_is_switched_off(with_port: Port, examine: Callable[..., Any]) -> None:
    (found,) = examine(infiniband(with_port(3, state="DOWN", physical_state="Disabled")))
    assert (found.status, found.summary) == (Status.PASS, "7 RDMA ports are active")


def test_of_ports_that_nobody_uses_one_without_a_link_is_noted(dgx: Inventory, examine: Callable[..., Any]) -> None:
    ports = tuple(port._replace(**DOWN) for port in dgx.rdma or ())
    found = examine(infiniband(dgx._replace(rdma=ports)))
    assert {one.status for one in found} == {Status.INFO}


def test_declared_ports_are_for_nic_speed(with_port: Port, declared: Expected, examine: Callable[..., Any]) -> None:
    (found,) = examine(with_port(3, **DOWN), declared)
    assert found.status is Status.NA


def test_an_interface_that_is_down_is_nobodys(with_port: Port, examine: Callable[..., Any]) -> None:
    seen = with_port(3, **DOWN)
    nics = tuple(nic._replace(carrier=None) if nic.name == "ens4np0" else nic for nic in seen.nics or ())
    (found,) = examine(seen._replace(nics=nics))
    assert (found.status, found.summary) == (Status.PASS, "7 RDMA ports are active")
