from typing import Any, Callable

from brctl.node.facts import Inventory
from brctl.node.report import HOST, Finding, Status

KILLED = "[{}.0] {}ut of memory: Killed process {} ({}) total-vm:1kB, anon-rss:1kB"


def test_nothing(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    clean = "no process killed for want of memory since the boot"
    assert examine(logged()) == (Finding("kernel-oom", Status.PASS, HOST, clean, fold="kernel-oom pass host"),)


def test_the_host_has_no_memory_left(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(logged(KILLED.format(5, "O", 7, "python3"), KILLED.format(6, "O", 8, "dockerd")))
    assert found.status is Status.WARN
    assert found.summary == "the host had no memory left: python3, dockerd killed (at 5.0 s)"
    assert found.remedy


def test_a_container_at_its_limit(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(logged(KILLED.format(5, "Memory cgroup o", 7, "python3")))
    assert (found.status, found.remedy) == (Status.INFO, None)
    assert found.summary == "a container's limit of memory was reached: python3 killed (at 5.0 s)"
