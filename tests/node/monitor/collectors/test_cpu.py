from typing import Any

from brctl.node.monitor.collectors.cpu import COLLECTOR

NODES = {
    "/sys/devices/system/node/online": "0-1\n",
    "/sys/devices/system/node/node0/cpulist": "0\n",
    "/sys/devices/system/node/node1/cpulist": "1\n",
    "/proc/loadavg": "1.50 1.00 0.50 1/99 7\n",
}


def stat(one: int, other: int, idle: int) -> Any:
    text = f"cpu  {one + other} 0 0 {2 * idle} 0 0 0 0 9 9\ncpu0 {one} 0 0 {idle} 0 0 0 0\n"
    text += f"cpu1 {other} 0 0 {idle} 0 0 0 0\nctxt 4\n"
    return {**NODES, "/proc/stat": text}


def test_seconds_by_mode_and_the_share_by_node(look: Any, machine: Any) -> None:
    watching = look(COLLECTOR)
    seen = watching.at(1.0, machine(stat(100, 0, 100)))
    assert seen["cpu_seconds_total", ("user",)] == 1
    assert seen["cpu_seconds_total", ("idle",)] == 2
    assert seen["load_average", ()] == 1.5
    assert ("cpu_utilization_ratio", ()) not in seen
    seen = watching.at(2.0, machine(stat(200, 0, 200)))
    assert seen["cpu_utilization_ratio", ()] == 100 / 300
    assert seen["numa_cpu_utilization_ratio", ("0",)] == 0.5
    assert seen["numa_cpu_utilization_ratio", ("1",)] == 0


def test_a_machine_that_does_not_tell(look: Any, machine: Any) -> None:
    assert look(COLLECTOR).at(1.0, machine({})) == {("load_average", ()): None}
