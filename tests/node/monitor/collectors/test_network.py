from typing import Any

from brctl.node.monitor.collectors.network import COLLECTOR, parse

HEAD = "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop\n"


def dev(received: int, sent: int) -> Any:
    rows = "    lo: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0\nveth1: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
    return {"/proc/net/dev": f"{HEAD}{rows} ens1:{received} 7 1 2 0 0 0 0 {sent} 8 3 4 0 0 0 0\n"}


def test_counters_of_interfaces(look: Any, machine: Any) -> None:
    assert look(COLLECTOR).at(1.0, machine(dev(100, 200))) == {
        ("network_receive_bytes_total", ("ens1",)): 100,
        ("network_receive_packets_total", ("ens1",)): 7,
        ("network_receive_errors_total", ("ens1",)): 1,
        ("network_receive_drops_total", ("ens1",)): 2,
        ("network_transmit_bytes_total", ("ens1",)): 200,
        ("network_transmit_packets_total", ("ens1",)): 8,
        ("network_transmit_errors_total", ("ens1",)): 3,
        ("network_transmit_drops_total", ("ens1",)): 4,
    }


def test_rates_a_reset_and_a_wrap(look: Any, machine: Any) -> None:
    watching = look(COLLECTOR)
    watching.at(1.0, machine(dev(100, 200)))
    seen = watching.at(3.0, machine(dev(500, 2**64 - 100)))
    assert seen["network_receive_bytes_per_second", ("ens1",)] == 200
    seen = watching.at(4.0, machine(dev(50, 28)))
    assert ("network_receive_bytes_per_second", ("ens1",)) not in seen
    assert seen["network_transmit_bytes_per_second", ("ens1",)] == 128


def test_only_the_loopback_is_called_lo() -> None:
    row = ":1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
    assert list(parse(HEAD + "    lo" + row + "  lom1" + row + "lxcbr0" + row)) == ["lom1"]


def test_a_machine_without_any(look: Any, machine: Any) -> None:
    assert look(COLLECTOR).at(1.0, machine({})) == {}
