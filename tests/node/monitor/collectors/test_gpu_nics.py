from typing import Any

from brctl.mock.machines import load
from brctl.node.monitor.collectors.gpu_nics import COLLECTOR


def test_each_gpu_with_the_nic_beside_it(look: Any) -> None:
    seen = look(COLLECTOR).at(1.0, load("dgx-h100"))
    assert len(seen) == 8
    assert seen["gpu_nic_info", ("0000:19:00.0", "ens1np0", "mlx5_0", "PIX")] == 1
    assert seen["gpu_nic_info", ("0000:db:00.0", "ens8np0", "mlx5_11", "PIX")] == 1


def test_a_machine_without_gpus_and_one_without_a_bus(look: Any, machine: Any) -> None:
    assert look(COLLECTOR).at(1.0, load("cpu-only")) == look(COLLECTOR).at(1.0, machine({})) == {}
