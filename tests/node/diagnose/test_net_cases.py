"""Networks that people reported, as public bug reports show them, with the verdict that is right; and a recorded node
that is well."""

from pathlib import Path
from typing import Any, Dict, Tuple

import pytest

from brctl.node.diagnose import Earlier, engine
from brctl.node.facts import Counter, Gid, Inventory, PortCounters
from brctl.node.host.machine import Machine
from brctl.node.host.members import of_ids
from brctl.node.probe import port_counters, rdma
from brctl.node.report import Finding, Status
from brctl.node.request import Expected

BAD = (Status.WARN, Status.CRIT, Status.UNKNOWN)
NETWORK = tuple(check for check in engine.registry() if check.group == "network")


def told(seen: Inventory, before: Any = None) -> "Dict[Tuple[str, str], Finding]":
    """What calls for somebody and follows from nothing else, by check and part."""
    earlier = [Earlier(before, "the first sample")] if before else []
    found = engine.run(seen, Expected(), (), NETWORK, earlier)
    return {(one.check, one.subject.name): one for one in found if one.status in BAD and not one.cause}


def as_infiniband(seen: Inventory) -> Inventory:
    ports = tuple(port._replace(link_layer="InfiniBand", netdev=None) for port in seen.rdma or ())
    return seen._replace(rdma=ports, nics=(), pci=())


def port_down(seen: Inventory, number: int, **state: Any) -> Inventory:
    ports = list(seen.rdma or ())
    ports[number] = ports[number]._replace(**state)
    return seen._replace(rdma=tuple(ports))


POLLING = {"state": "DOWN", "physical_state": "Polling", "rate_gbps": None}


def test_polling_is_one_critical_finding_and_no_slow_link(dgx: Inventory) -> None:
    """leptonai/gpud 482 and 1209: the rate of 10 is what the kernel shows of a port that is down."""
    found = told(port_down(as_infiniband(dgx), 3, **POLLING))
    assert list(found) == [("rdma-state", "mlx5_3")]
    assert found["rdma-state", "mlx5_3"].status is Status.CRIT


def test_polling_just_after_the_boot_calls_for_nobody(dgx: Inventory) -> None:
    assert dgx.kernel
    seen = port_down(as_infiniband(dgx), 3, **POLLING)
    assert told(seen._replace(kernel=dgx.kernel._replace(uptime_s=60.0))) == {}


def counts(rows: "Dict[str, Dict[str, int]]", at_s: float) -> Tuple[PortCounters, ...]:
    return tuple(
        PortCounters(port, port, at_s, tuple(Counter(*each) for each in values.items()))
        for port, values in rows.items()
    )


def test_roce_without_a_lossless_class(dgx: Inventory) -> None:
    """bytedance/byteps 179: all of it on priority 0, time-outs, notifications without marks. The priority is to blame,
    and not the MTU; the time-outs follow from it."""
    none = {
        "ens1np0": {"rx_prio0_bytes": 0, "rx_prio3_bytes": 0},
        "mlx5_0": dict.fromkeys(
            ("counters/port_rcv_data", "counters/port_rcv_packets", "hw_counters/local_ack_timeout_err",
             "hw_counters/np_cnp_sent", "hw_counters/np_ecn_marked_roce_packets"), 0,
        ),
    }  # fmt: skip
    some = {
        "ens1np0": {"rx_prio0_bytes": 40 * 10**9, "rx_prio3_bytes": 0},
        "mlx5_0": {
            "counters/port_rcv_data": 10**10,
            "counters/port_rcv_packets": 10**7,
            "hw_counters/local_ack_timeout_err": 2705,
            "hw_counters/np_cnp_sent": 1333,
            "hw_counters/np_ecn_marked_roce_packets": 0,
        },
    }
    before, now = (dgx._replace(port_counters=counts(rows, at)) for rows, at in ((none, 0.0), (some, 60.0)))
    found = told(now, before)
    assert list(found) == [("nic-lossless", "ens1np0")]
    (finding,) = found.values()
    assert finding.status is Status.WARN
    assert "RoCE traffic is not on the PFC priority" in finding.summary
    assert finding.remedy
    assert "DSCP" in finding.remedy
    assert "trust" in finding.remedy
    assert "MTU" not in finding.remedy


GIDS = (
    Gid(0, "fe80:0000:0000:0000:00b0:7dff:fe00:0100", "IB/RoCE v1", None),
    Gid(1, "fe80:0000:0000:0000:00b0:7dff:fe00:0100", "RoCE v2", None),
    Gid(2, "0000:0000:0000:0000:0000:ffff:0a00:0101", "IB/RoCE v1", None),
    Gid(3, "0000:0000:0000:0000:0000:ffff:0a00:0101", "RoCE v2", None),
)


def test_the_wrong_gid(dgx: Inventory) -> None:
    """NVIDIA/nccl 426 and 769, uccl 803: error 12, vendor error 129. The node is well, and says which index is right;
    an environment that names another is warned of."""
    seen = dgx._replace(rdma=tuple(port._replace(gids=GIDS) for port in dgx.rdma or ()))
    (found,) = engine.run(seen, Expected(), (), of_ids(engine.registry(), ["rdma-gid"]))
    assert (found.status, found.summary) == (Status.PASS, "8 RoCE ports: GID 3 is RoCE v2, routed")
    assert told(seen) == {}


def test_one_node_with_a_small_mtu(dgx: Inventory) -> None:
    """NVIDIA/nccl 2135 and 1524: 1500 on one interface, and so an RDMA MTU of 1024 there: one finding."""
    nics = tuple(nic._replace(mtu=1500) if nic.name == "ens3np0" else nic for nic in dgx.nics or ())
    ports = tuple(port._replace(rdma_mtu=1024) if port.netdev == "ens3np0" else port for port in dgx.rdma or ())
    found = told(dgx._replace(nics=nics, rdma=ports))
    assert list(found) == [("nic-mtu", "ens3np0")]


def test_a_bond_with_a_port_of_another_mtu(dgx: Inventory) -> None:
    """kubeovn/kube-ovn 4254: the bond has 9000, a port of it 1500; the port is named."""
    nics = list(dgx.nics or ())
    for place, mtu in ((7, 9000), (8, 1500)):
        nics[place] = nics[place]._replace(master="bond0", mtu=mtu)
    bond = nics[0]._replace(name="bond0", kind="bond", mtu=9000, lower=("ens7np0", "ens8np0"), pci=None)
    found = told(dgx._replace(nics=(bond, *nics)))
    assert ("nic-mtu", "ens8np0") in found
    assert {check for check, _ in found} == {"nic-mtu"}


# ---------------------------------------------------------------------------------------------------------------------
# A recorded node of 8 x H100 with InfiniBand


@pytest.fixture
def h100(recordings: Path) -> Machine:
    root = recordings / "h100-node"
    files = {"/" + str(path.relative_to(root)): path.read_text() for path in root.rglob("sys/**/*") if path.is_file()}
    files["/sys/class/net/lo/mtu"] = "65536\n"
    return Machine({"name": "h", "recorded": True, "sources": [], "files": files, "commands": {}}, "h", lambda: None)


def test_a_recorded_node_gives_no_false_alarm(h100: Machine) -> None:
    """Its counters have come to 14 errors and 255 link losses in a life that nobody knows."""
    ports, counted = rdma.read(h100), port_counters.read(h100)
    assert ports
    assert counted
    first = Inventory(nics=(), rdma=ports.facts, port_counters=counted.facts)
    again = counted.facts and tuple(row._replace(read_at_s=row.read_at_s + 5) for row in counted.facts)
    assert len(counted.facts) == 9
    assert told(first._replace(port_counters=again), first) == {}


@pytest.mark.real
def test_this_machine_is_looked_at_without_a_check_that_breaks() -> None:
    from brctl.node.host.local import Local
    from brctl.node.probe import again, inventory

    before = inventory(Local(), health=True)
    found = engine.run(again(Local(), before), Expected(), (), NETWORK, [Earlier(before, "the first sample")])
    assert [one.summary for one in found if "itself failed" in one.summary] == []
    assert {one.check for one in found} == {check.id for check in NETWORK}
