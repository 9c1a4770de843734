from typing import Any

import pytest

from brctl.node.facts import MemoryLock
from brctl.node.probe.memlock import parse, read

LIMITS = (
    "Limit  Soft Limit  Hard Limit  Units\nMax open files  1  4  files\nMax locked memory   {}   unlimited  bytes\n"
)
SLURMD = "/sys/fs/cgroup/{}system.slice/slurmd.service/cgroup.procs"


@pytest.mark.parametrize("version", ["", "systemd/"])
def test_what_starts_jobs(machine: Any, version: str) -> None:
    files = {
        "/proc/self/limits": LIMITS.format("unlimited"),
        SLURMD.format(version): "77\n78\n",
        "/proc/77/limits": LIMITS.format("65536"),
    }
    assert read(machine(files)) == (MemoryLock("slurmd.service", 65536, None), MemoryLock("brctl", None, None))


def test_none(machine: Any) -> None:
    assert read(machine({})) is None
    with pytest.raises(ValueError, match="the limits of x have no `Max locked memory`"):
        parse("Limit\n", "x")


def test_a_service_that_ended_just_now(machine: Any) -> None:
    files = {"/proc/self/limits": LIMITS.format("unlimited"), SLURMD.format(""): "77\n"}
    assert read(machine(files)) == (MemoryLock("brctl", None, None),)
