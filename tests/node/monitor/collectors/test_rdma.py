from typing import Any, Dict

import pytest

from brctl.node.monitor.collectors.rdma import COLLECTOR

PORT = "/sys/class/infiniband/mlx5_0/ports/1/"
AT = ("mlx5_0", "1")


def files(**counters: Any) -> Dict[str, Any]:
    found: Dict[str, Any] = {PORT + "state": "4: ACTIVE\n"}
    for name, value in counters.items():
        folder = "counters/" if name.startswith(("port_", "symbol", "link")) else "hw_counters/"
        found[PORT + folder + name] = value if isinstance(value, dict) else f"{value}\n"
    return found


def test_words_are_told_as_bytes(look: Any, machine: Any) -> None:
    seen = look(COLLECTOR).at(1.0, machine(files(port_xmit_data=100, port_rcv_data=7, np_cnp_sent=3)))
    assert seen["rdma_up", AT] == 1
    assert seen["rdma_transmit_bytes_total", AT] == 400
    assert seen["rdma_receive_bytes_total", AT] == 28
    assert seen["rdma_cnp_sent_total", AT] == 3
    assert seen["rdma_out_of_sequence_packets_total", AT] is None, "the port has no such file"


@pytest.mark.parametrize("bad", [{"errno": "EINVAL"}, {"errno": "EOPNOTSUPP"}, "N/A (no PMA)"])
def test_a_counter_that_cannot_be_told_costs_no_other(look: Any, machine: Any, bad: Any) -> None:
    seen = look(COLLECTOR).at(1.0, machine(files(port_xmit_data=bad, port_rcv_data=7)))
    assert seen["rdma_transmit_bytes_total", AT] is None
    assert seen["rdma_receive_bytes_total", AT] == 28


def test_loss_is_a_share_of_the_packets_sent(look: Any, machine: Any) -> None:
    watching = look(COLLECTOR)
    first = files(port_xmit_packets=0, packet_seq_err=5, local_ack_timeout_err=0, port_xmit_data=0)
    assert ("rdma_loss_ratio", AT) not in watching.at(1.0, machine(first))
    later = files(port_xmit_packets=10_000, packet_seq_err=7, local_ack_timeout_err=1, port_xmit_data=2000)
    seen = watching.at(3.0, machine(later))
    assert seen["rdma_loss_ratio", AT] == 3 / 10_000
    assert seen["rdma_transmit_bytes_per_second", AT] == 4000


def test_of_fewer_packets_no_loss_is_told(look: Any, machine: Any) -> None:
    watching = look(COLLECTOR)
    watching.at(1.0, machine(files(port_xmit_packets=0, packet_seq_err=0, local_ack_timeout_err=0)))
    seen = watching.at(2.0, machine(files(port_xmit_packets=999, packet_seq_err=1, local_ack_timeout_err=0)))
    assert ("rdma_loss_ratio", AT) not in seen


def test_a_port_without_hardware_counters_has_no_loss(look: Any, machine: Any) -> None:
    watching = look(COLLECTOR)
    watching.at(1.0, machine(files(port_xmit_packets=0)))
    assert ("rdma_loss_ratio", AT) not in watching.at(2.0, machine(files(port_xmit_packets=5000)))


def test_a_machine_without_rdma_and_a_device_without_counters(look: Any, machine: Any) -> None:
    assert look(COLLECTOR).at(1.0, machine({})) == {}
    seen = look(COLLECTOR).at(1.0, machine({PORT + "state": "1: DOWN\n"}))
    assert seen.pop(("rdma_up", AT)) == 0
    assert set(seen.values()) == {None}


def test_a_counter_that_fails_is_absent_and_costs_no_other(look: Any, machine: Any) -> None:
    seen = look(COLLECTOR).at(1.0, machine(files(port_xmit_data={"errno": "EIO"}, port_rcv_data=7)))
    assert ("rdma_transmit_bytes_total", AT) not in seen
    assert seen["rdma_receive_bytes_total", AT] == 28
