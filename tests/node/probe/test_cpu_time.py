from typing import Any

from brctl.node.facts import NodeTime
from brctl.node.probe.cpu_time import read

STAT = "cpu  1 2 3\ncpu0 10 1 2 80 5 1 1 0 7 7\ncpu1 0 0 0 100 0 0 0 0 0 0\ncpu2 50 0 0 50 0 0 0 0\nintr 5\n"
NODES = "/sys/devices/system/node/"


def test_by_numa_node(machine: Any) -> None:
    files = {
        "/proc/stat": STAT,
        NODES + "online": "0-2\n",
        NODES + "node0/cpulist": "0-1\n",
        NODES + "node1/cpulist": "2-3\n",
        NODES + "node2/cpulist": "\n",
    }
    assert read(machine(files)) == (NodeTime(0, 15, 200), NodeTime(1, 50, 100))


def test_none(machine: Any) -> None:
    assert read(machine({})) is None
    assert read(machine({"/proc/stat": STAT})) is None
