from typing import Any

from brctl.mock.machines import load
from brctl.node.monitor.collectors.network_links import COLLECTOR


def test_links_of_physical_interfaces(look: Any) -> None:
    seen = look(COLLECTOR).at(1.0, load("dgx-h100+nic1-down"))
    assert seen["network_up", ("ens1np0",)] == 1
    assert seen["network_speed_bytes_per_second", ("ens1np0",)] == 50e9
    assert seen["network_carrier_changes_total", ("ens1np0",)] == 3
    assert seen["network_up", ("ens2np0",)] == 0
    assert seen["network_speed_bytes_per_second", ("ens2np0",)] is None
    assert not [labels for _, labels in seen if labels[0] in ("bond0", "lo", "bond0.100")]
