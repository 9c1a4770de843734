from typing import Any

from brctl.node.monitor.collectors.pause import COLLECTOR

NIC = {"/sys/class/net/ens1/device": {"link": "/sys/devices/x"}, "/sys/class/net/bond0/mtu": "9000\n"}


def counted(received_us: int, sent_us: int) -> Any:
    lines = f"NIC statistics:\n     rx_prio3_pause_duration: {received_us}\n     tx_prio3_pause_duration: {sent_us}\n"
    return {"ethtool -S ens1": {"stdout": lines + "     rx_prio0_pause_duration: 0\n     rx_prio3_pause: 9\n"}}


def test_the_share_of_the_time_in_which_it_was_silent(look: Any, machine: Any) -> None:
    watching, at = look(COLLECTOR), ("ens1", "3")
    seen = watching.at(10.0, machine(NIC, commands=counted(1_000_000, 500)))
    assert seen == {
        ("network_pause_received_seconds_total", at): 1.0,
        ("network_pause_sent_seconds_total", at): 0.0005,
    }
    seen = watching.at(12.0, machine(NIC, commands=counted(2_200_000, 500)))
    assert round(seen["network_pause_received_ratio", at], 6) == 0.6
    assert seen["network_pause_sent_ratio", at] == 0


def test_a_driver_without_statistics(look: Any, machine: Any) -> None:
    assert look(COLLECTOR).at(1.0, machine(NIC)) == {}
    refused = {"ethtool -S ens1": {"stdout": "", "returncode": 94}}
    assert look(COLLECTOR).at(1.0, machine(NIC, commands=refused)) == {}
