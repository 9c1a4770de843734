from typing import Any, Callable

from brctl.node.facts import Inventory, NumaNode
from brctl.node.report import HOST, Evidence, Finding, Status
from brctl.node.request import Expected, ExpectedCpu


def test_as_declared_nodes_of_memory_alone_left_out(
    dgx: Inventory, declared: Expected, examine: Callable[..., Any]
) -> None:
    memory = NumaNode(2, "", 96 * 2**30, (80, 80, 10))
    assert examine(dgx._replace(numa=(*(dgx.numa or ()), memory)), declared) == (
        Finding("numa-count", Status.PASS, HOST, "2 of 2 NUMA nodes", fold="numa-count pass host"),
    )


def test_fewer_and_more(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx._replace(numa=(dgx.numa or ())[:1]), declared)
    assert (found.status, found.summary) == (Status.CRIT, "1 of 2 NUMA nodes expected")
    assert found.evidence == (
        Evidence("NUMA nodes", "1", "/sys/devices/system/node/node*/cpulist"),
        Evidence("declared", "2", "hardware.cpu.numa_nodes"),
    )
    assert "interleaving" in found.remedy
    (found,) = examine(dgx, Expected(cpu=ExpectedCpu(numa_nodes=1)))
    assert (found.status, found.summary) == (Status.WARN, "2 NUMA nodes, 1 expected")


def test_a_kernel_without_numa_has_one(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx._replace(numa=None), declared)
    assert (found.status, found.summary) == (Status.CRIT, "1 of 2 NUMA nodes expected")


def test_nothing_declared(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx)
    assert (found.status, found.summary) == (Status.NA, "NUMA nodes: 2, no number declared")
