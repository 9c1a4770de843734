from typing import Any, Callable

import pytest

from brctl.node.facts import Cpu, Inventory
from brctl.node.report import HOST, Evidence, Finding, Status
from brctl.node.request import Expected, ExpectedCpu


def test_as_declared(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    assert examine(dgx, declared) == (
        Finding("cpu-count", Status.PASS, HOST, "2 sockets, 224 threads", fold="cpu-count pass host"),
    )


def test_a_lost_socket_is_one_finding(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx._replace(cpu=Cpu(None, 1, 56, 112)), declared)
    assert found._replace(remedy=None) == Finding(
        "cpu-count",
        Status.CRIT,
        HOST,
        "1 sockets, 112 threads; expected 2 sockets, 224 threads",
        (
            Evidence("sockets", "1", "/sys/devices/system/cpu/cpu*/topology"),
            Evidence("threads", "112", "/sys/devices/system/cpu/online"),
            Evidence("declared", "2", "hardware.cpu.sockets"),
            Evidence("declared", "224", "hardware.cpu.threads"),
        ),
        fold="cpu-count crit host",
    )
    assert "SMT" in found.remedy


@pytest.mark.parametrize(
    ("want", "status", "summary"),
    [
        (ExpectedCpu(threads=112), Status.WARN, "224 threads; expected 112 threads"),
        (ExpectedCpu(sockets=4), Status.CRIT, "2 sockets; expected 4 sockets"),
        (ExpectedCpu(sockets=1, threads=448), Status.CRIT, "2 sockets, 224 threads; expected 1 sockets, 448 threads"),
        (ExpectedCpu(numa_nodes=2), Status.NA, "2 sockets, 224 threads; none declared"),
        (None, Status.NA, "2 sockets, 224 threads; none declared"),
    ],
)
def test_more_fewer_and_nothing_declared(
    dgx: Inventory, examine: Callable[..., Any], want: Any, status: Status, summary: str
) -> None:
    (found,) = examine(dgx, Expected(cpu=want))
    assert (found.status, found.summary) == (status, summary)
