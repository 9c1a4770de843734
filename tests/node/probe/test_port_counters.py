import errno
from typing import Any

import pytest

from brctl.node.facts import Counter
from brctl.node.probe import port_counters
from brctl.node.probe.port_counters import chosen, of_priority, parse_counter, pause, read, read_counter


def test_names_of_every_driver() -> None:
    assert pause("rx_prio3_pause_duration") == ("rx", "3")
    assert pause("pfc_pri5_tx_duration_us") == ("tx", "5")
    assert pause("rx_prio3_pause") is None
    assert of_priority("tx_prio0_bytes") == 0
    assert of_priority("rx_bytes_pri3") == 3
    assert of_priority("rx_prio3_packets") is None
    assert parse_counter("42\n") == 42
    assert parse_counter("N/A (no PMA)\n") is None


def test_of_1500_statistics_those_that_are_judged() -> None:
    given = {"rx0_packets": 3, "rx_crc_errors_phy": 4, "rx_prio3_bytes": 5, "tx_prio3_pause_duration": 6}
    assert chosen(given) == (
        Counter("rx_crc_errors_phy", 4),
        Counter("rx_prio3_bytes", 5),
        Counter("tx_prio3_pause_duration", 6),
    )


def test_a_node(dgx: Any) -> None:
    reading = read(dgx)
    assert reading is not None
    assert reading.problems == ()
    by_source = {row.source: row for row in reading.facts}
    assert by_source["/sys/class/net/ens1np0"].counters == (Counter("carrier_changes", 3),)
    assert by_source["ethtool -S ens1np0"].port == "ens1np0"
    rdma = {one.name: one.value for one in by_source["/sys/class/infiniband/mlx5_0/ports/1"].counters}
    assert rdma["hw_counters/np_cnp_sent"] == 0
    assert rdma["counters/port_xmit_data"] > 10**12
    assert "lo" not in {row.port for row in reading.facts}


def test_a_second_port_and_what_it_does_not_tell(machine: Any) -> None:
    folder = "/sys/class/infiniband/mlx5_0/ports/2/"
    files = {
        folder + "counters/symbol_error": "7\n",
        folder + "counters/port_rcv_errors": "N/A (no PMA)\n",
        folder + "hw_counters/out_of_sequence": {"errno": "EINVAL"},
        "/sys/class/net/lo/mtu": "65536\n",
    }
    reading = read(machine(files))
    assert reading is not None
    (row,) = reading.facts
    assert (row.port, row.counters) == ("mlx5_0/2", (Counter("counters/symbol_error", 7),))


def test_what_may_not_be_read_is_told(machine: Any) -> None:
    path = "/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error"
    host = machine({path: {"errno": "EACCES"}, "/sys/class/net/lo/mtu": "65536\n"})
    with pytest.raises(PermissionError):
        read_counter(host, path)
    reading = read(host)
    assert reading is not None
    (problem,) = reading.problems
    assert (problem.part, problem.reason, problem.subject) == ("port_counters", "permission", "mlx5_0")
    assert errno.EACCES


def test_without_sys(machine: Any) -> None:
    assert port_counters.read(machine({})) is None


def test_a_counter_that_fails_is_no_counter_that_is_absent(machine: Any) -> None:
    path = "/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error"
    host = machine({path: {"errno": "EIO"}, "/sys/class/net/lo/mtu": "65536\n"})
    with pytest.raises(OSError, match="Input/output error"):
        read_counter(host, path)
    reading = read(host)
    assert reading is not None
    (problem,) = reading.problems
    assert (problem.reason, problem.subject) == ("error", "mlx5_0")
    assert "Input/output error" in problem.message
