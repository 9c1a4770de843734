from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory, Problem
from brctl.node.report import HOST, Evidence, Finding, Status, Subject
from brctl.node.request import Expected, ExpectedNics, Override

RAIL3 = Subject("nic", "ens4np0", "ens4np0")
ONLY_PATTERN = Expected(nics=ExpectedNics("ens*np*"))


@pytest.mark.parametrize("declares", [True, False])
def test_all_as_fast(dgx: Inventory, declared: Expected, examine: Callable[..., Any], declares: bool) -> None:
    assert examine(dgx, declared if declares else None) == (
        Finding("nic-speed", Status.PASS, HOST, "8 of 8 NICs: 400 Gb/s", fold="nic-speed pass host"),
    )


def test_one_is_slower_than_declared(
    with_nic: Callable[..., Inventory], declared: Expected, examine: Callable[..., Any]
) -> None:
    (found,) = examine(with_nic(3, speed_mbps=200000), declared)
    assert found._replace(remedy=None) == Finding(
        "nic-speed",
        Status.CRIT,
        RAIL3,
        "ens4np0: 200 Gb/s, expected 400 Gb/s",
        (
            Evidence("ens4np0", "200 Gb/s", "/sys/class/net/ens4np0/speed"),
            Evidence("declared", "400 Gb/s", "hardware.nics.speed"),
        ),
        fold="nic-speed crit ens4np0",
    )
    assert "ethtool" in found.remedy


def test_one_is_slower_than_its_siblings(with_nic: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(with_nic(3, speed_mbps=100))
    assert (found.status, found.summary) == (Status.WARN, "ens4np0: 100 Mb/s, 7 siblings: 400 Gb/s")


def test_faster_than_declared(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx, Expected(nics=ExpectedNics("ens*np*", speed_mbps=200000)))
    assert (found.status, found.summary) == (Status.WARN, "8 of 8 NICs: 400 Gb/s, expected 200 Gb/s")


@pytest.mark.parametrize(
    ("carrier", "fault", "remedy"),
    [(False, "no link", "see `ethtool -m`"), (None, "administratively down", "`ip link set up`")],
)
def test_a_named_nic_without_a_link_is_that_one_finding(
    with_nic: Callable[..., Inventory],
    declared: Expected,
    examine: Callable[..., Any],
    carrier: Any,
    fault: str,
    remedy: str,
) -> None:
    seen = with_nic(3, carrier=carrier, speed_mbps=None, operstate="down")
    (found,) = examine(seen, declared)
    assert (found.status, found.subject) == (Status.CRIT, RAIL3)
    assert found.summary == "ens4np0: {}, expected 400 Gb/s".format(fault)
    assert found.evidence == (Evidence("link", fault, "/sys/class/net/ens4np0/carrier"),)
    assert found.remedy.startswith(remedy)
    (found,) = examine(seen, ONLY_PATTERN)
    assert (found.status, found.summary) == (Status.CRIT, "ens4np0: " + fault)


def test_a_nic_that_nobody_named_may_be_down(with_nic: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(with_nic(3, carrier=False, speed_mbps=None))
    assert (found.status, found.summary) == (Status.PASS, "7 of 8 NICs: 400 Gb/s; no link: ens4np0")


def test_a_link_may_take_its_time_after_boot(
    with_nic: Callable[..., Inventory], declared: Expected, examine: Callable[..., Any]
) -> None:
    seen = with_nic(3, carrier=False, speed_mbps=None)
    assert seen.kernel
    seen = seen._replace(kernel=seen.kernel._replace(uptime_s=100.0))
    (found,) = examine(seen, declared)
    assert found.status is Status.INFO
    (found,) = examine(seen, declared, Override("nic-speed", "boot_grace", 60))
    assert found.status is Status.CRIT
    (found,) = examine(seen._replace(nics=with_nic(3, carrier=None).nics), declared)
    assert found.status is Status.CRIT


def test_infiniband_is_judged_by_its_port(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    """Its interface may be down: RDMA needs none. The placeholder rate of a port that is down is no slow link."""
    nics = tuple(nic._replace(carrier=None, speed_mbps=None) if nic.rdma else nic for nic in dgx.nics or ())
    ports = [port._replace(link_layer="InfiniBand") for port in dgx.rdma or ()]
    (found,) = examine(dgx._replace(nics=nics, rdma=tuple(ports)), declared)
    assert (found.status, found.summary) == (Status.PASS, "8 of 8 NICs: 400 Gb/s")
    ports[3] = ports[3]._replace(state="DOWN", physical_state="Polling", rate_gbps=None)
    ports[5] = ports[5]._replace(rate_gbps=200.0)
    down, slow = examine(dgx._replace(nics=nics, rdma=tuple(ports)), declared)
    assert (down.status, down.summary) == (Status.CRIT, "ens4np0: no link (DOWN, Polling), expected 400 Gb/s")
    assert down.evidence[0].source == "/sys/class/infiniband/mlx5_3/ports/1/state"
    assert (slow.status, slow.summary) == (Status.CRIT, "ens6np0: 200 Gb/s, expected 400 Gb/s")
    assert slow.evidence[0].source == "/sys/class/infiniband/mlx5_5/ports/1/rate"


def test_a_port_without_an_interface_is_named_by_its_device(dgx: Inventory, examine: Callable[..., Any]) -> None:
    bare = tuple(port._replace(link_layer="InfiniBand", netdev=None, port=2) for port in dgx.rdma or ())
    bare = (bare[0]._replace(state="INIT", rate_gbps=None), *bare[1:])
    (found,) = examine(dgx._replace(nics=(), rdma=bare), Expected(nics=ExpectedNics("mlx5_*", speed_mbps=400000)))
    assert found.subject == Subject("rdma", "mlx5_0/2", "mlx5_0/2")
    assert found.summary == "mlx5_0/2: no link (INIT, LinkUp), expected 400 Gb/s"


def test_a_laptop_and_a_virtual_machine_are_clean(dgx: Inventory, examine: Callable[..., Any]) -> None:
    eno1, lo = (dgx.nics or ())[0], (dgx.nics or ())[-1]
    laptop = (lo, eno1._replace(name="wlan0", carrier=None, speed_mbps=None), eno1._replace(carrier=False))
    machine = (lo, eno1._replace(name="eth0", speed_mbps=None, driver="virtio_net"))
    for nics in (laptop, machine):
        (found,) = examine(dgx._replace(nics=nics, rdma=None))
        assert (found.status, found.summary) == (Status.NA, "no NICs to judge")


def test_cards_of_other_types_are_not_compared(dgx: Inventory, examine: Callable[..., Any]) -> None:
    """Storage ports on another board are slower by design."""
    rdma = tuple(port._replace(board_id="MT_0000000884") if port.device > "mlx5_5" else port for port in dgx.rdma or ())
    nics = tuple(nic._replace(speed_mbps=200000) if (nic.rdma or "") > "mlx5_5" else nic for nic in dgx.nics or ())
    (found,) = examine(dgx._replace(nics=nics, rdma=rdma))
    assert (found.status, found.summary) == (Status.PASS, "6 of 8 NICs: 400 Gb/s, 2 of 8 NICs: 200 Gb/s")


def test_a_link_without_a_speed(
    with_nic: Callable[..., Inventory], declared: Expected, examine: Callable[..., Any]
) -> None:
    (found,) = examine(with_nic(3, speed_mbps=None), declared)
    assert (found.status, found.summary) == (Status.PASS, "7 of 8 NICs: 400 Gb/s; no speed: ens4np0")


def test_ports_of_a_bond_are_no_siblings_of_rails(dgx: Inventory, examine: Callable[..., Any]) -> None:
    """Two ports of the rails' type of card, at a storage switch of half the speed."""
    nics = [
        nic._replace(master="bond0", speed_mbps=200000) if nic.name in ("ens7np0", "ens8np0") else nic
        for nic in dgx.nics or ()
    ]
    (found,) = examine(dgx._replace(nics=tuple(nics)))
    assert (found.status, found.summary) == (Status.PASS, "6 of 8 NICs: 400 Gb/s, 2 of 8 NICs: 200 Gb/s")


@pytest.mark.parametrize("declares", [True, False])
@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"speed_mbps": None}, "speed_mbps"),
        ({"speed_mbps": None, "carrier": None}, None),
    ],
)
def test_one_that_could_not_be_read(
    with_nic: Callable[..., Inventory],
    declared: Expected,
    examine: Callable[..., Any],
    fields: Any,
    field: Any,
    declares: bool,
) -> None:
    problem = Problem("nics", "hung", "read /sys/class/net/ens4np0/speed did not return within 3 s", "ens4np0", field)
    seen = with_nic(3, **fields)._replace(problems=(problem,))
    (found,) = examine(seen, declared if declares else None)
    assert (found.status, found.reason, found.subject) == (Status.UNKNOWN, "hung", RAIL3)
    assert found.summary == problem.message
    nics = tuple(nic._replace(speed_mbps=200000) if nic.name == "ens2np0" else nic for nic in seen.nics or ())
    found = examine(seen._replace(nics=nics), declared if declares else None)
    assert [(one.status, one.subject.name) for one in found] == [
        (Status.UNKNOWN, "ens4np0"),
        (Status.CRIT if declares else Status.WARN, "ens2np0"),
    ]


def test_a_carrier_that_could_not_be_read_is_there_where_a_speed_is(
    with_nic: Callable[..., Inventory], declared: Expected, examine: Callable[..., Any]
) -> None:
    problem = Problem("nics", "error", "/sys/class/net/ens4np0/carrier: Input/output error", "ens4np0", "carrier")
    (found,) = examine(with_nic(3, carrier=None)._replace(problems=(problem,)), declared)
    assert (found.status, found.summary) == (Status.PASS, "8 of 8 NICs: 400 Gb/s")


def test_infiniband_that_could_not_be_read(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    ports = [port._replace(link_layer="InfiniBand") for port in dgx.rdma or ()]
    ports[3] = ports[3]._replace(state=None, rate_gbps=None)
    problem = Problem("rdma", "error", "mlx5_3/ports/1/state: Input/output error", "mlx5_3", "state")
    (found,) = examine(dgx._replace(rdma=tuple(ports), problems=(problem,)), declared)
    assert (found.status, found.subject, found.summary) == (Status.UNKNOWN, RAIL3, problem.message)
