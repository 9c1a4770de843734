from typing import Any

import pytest

from brctl.node.facts import NumaNode
from brctl.node.host.local import Local
from brctl.node.probe.cpu import parse_cpulist
from brctl.node.probe.numa import parse_distance, parse_memory, read

NODES = "/sys/devices/system/node"


def test_parse_memory() -> None:
    text = "Node 1 MemTotal:       131072 kB\nNode 1 MemFree:         1000 kB\n"
    assert parse_memory(text) == 131072 * 1024
    with pytest.raises(ValueError, match="no MemTotal"):
        parse_memory("Node 1 MemFree: 1000 kB\n")


def test_parse_distance() -> None:
    assert parse_distance("10 21\n") == (10, 21)


def test_dgx(dgx: Any) -> None:
    assert read(dgx) == (
        NumaNode(0, "0-55,112-167", 1056567296 * 1024, (10, 21)),
        NumaNode(1, "56-111,168-223", 1056806912 * 1024, (21, 10)),
    )


def test_a_node_of_memory_alone(machine: Any) -> None:
    files = {
        NODES + "/online": "0,2\n",
        NODES + "/node0/cpulist": "0-3\n",
        NODES + "/node0/meminfo": "Node 0 MemTotal: 4 kB\n",
        NODES + "/node0/distance": "10 20\n",
        NODES + "/node2/cpulist": "\n",
        NODES + "/node2/meminfo": "Node 2 MemTotal: 8 kB\n",
        NODES + "/node2/distance": "20 10\n",
    }
    assert read(machine(files)) == (NumaNode(0, "0-3", 4096, (10, 20)), NumaNode(2, "", 8192, (20, 10)))
    del files[NODES + "/node2/distance"]  # off line between the one read and the other
    assert read(machine(files)) == (NumaNode(0, "0-3", 4096, (10, 20)),)


def test_kernel_without_numa(machine: Any) -> None:
    assert read(machine({})) is None


@pytest.mark.real
def test_against_lscpu() -> None:
    answer = Local().run(["lscpu", "-p=CPU,NODE"])
    if answer is None:
        pytest.skip("lscpu is not installed")
    pairs = [line.split(",") for line in answer.stdout.splitlines() if not line.startswith("#")]
    nodes = read(Local()) or ()
    if not nodes:
        pytest.skip("this kernel has no NUMA")
    assert {(str(cpu), str(node.id)) for node in nodes for cpu in parse_cpulist(node.cpus)} == set(map(tuple, pairs))
    assert all(len(node.distances) == len(nodes) for node in nodes)
