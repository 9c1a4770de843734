from typing import Any

from brctl.node.monitor.collectors.tcp import COLLECTOR


def snmp(sent: int, again: int) -> Any:
    return {"/proc/net/snmp": "Ip: Forwarding\nIp: 1\nTcp: CurrEstab OutSegs RetransSegs InErrs OutRsts\n"
            f"Tcp: 12 {sent} {again} 3 4\n"}  # fmt: skip


def test_segments_and_what_part_was_sent_again(look: Any, machine: Any) -> None:
    watching = look(COLLECTOR)
    assert watching.at(1.0, machine(snmp(1000, 10))) == {
        ("tcp_sent_segments_total", ()): 1000,
        ("tcp_retransmitted_segments_total", ()): 10,
        ("tcp_receive_errors_total", ()): 3,
        ("tcp_resets_sent_total", ()): 4,
        ("tcp_connections", ()): 12,
    }
    assert watching.at(2.0, machine(snmp(3000, 30)))["tcp_retransmit_ratio", ()] == 0.01
    assert ("tcp_retransmit_ratio", ()) not in watching.at(3.0, machine(snmp(3999, 40))), "fewer than 1000"


def test_a_machine_that_does_not_tell(look: Any, machine: Any) -> None:
    assert set(look(COLLECTOR).at(1.0, machine({})).values()) == {None}
