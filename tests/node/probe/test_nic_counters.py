from typing import Any

from brctl.node.facts import NicCounter
from brctl.node.probe.nic_counters import parse, read

TEXT = """\
NIC statistics:
     rx_packets: 1482306
     rx_discards_phy: 12
     tx_prio3_pause_duration: 600000
     tx_prio3_pause: 5
     rx_prio0_discards: 1
     tx_pause_storm_warning_events: 0
     rx_out_of_buffer: not a number
"""


def test_parse() -> None:
    assert parse(TEXT) == (
        NicCounter("rx_discards_phy", 12),
        NicCounter("tx_prio3_pause_duration", 600000),
        NicCounter("rx_prio0_discards", 1),
        NicCounter("tx_pause_storm_warning_events", 0),
    )


def test_dgx(dgx: Any) -> None:
    found = read(dgx)
    assert found
    assert {"ens1np0", "ens8np0"} <= {one.nic for one in found.facts}
    assert found.problems == ()


def test_none(machine: Any) -> None:
    assert read(machine({})) is None
    assert read(machine({"/sys/class/net/eth0/mtu": "1500\n"})) is None
    rdma = {"/sys/class/net/eth0/device/infiniband/mlx5_0/fw_ver": "1\n"}
    assert read(machine(rdma)) is None
    assert (
        read(machine(rdma, commands={"ethtool -S eth0": {"returncode": 94, "stderr": "no stats available\n"}})) is None
    )


def test_one_that_hangs(machine: Any) -> None:
    rdma = {"/sys/class/net/eth0/device/infiniband/mlx5_0/fw_ver": "1\n"}
    found = read(machine(rdma, commands={"ethtool -S eth0": {"hung": 3.0}}))
    assert found
    assert [(one.reason, one.subject) for one in found.problems] == [("hung", "eth0")]
