from typing import Any

from brctl.node.facts import Peermem
from brctl.node.probe.peermem import read

VERSION = "/proc/driver/nvidia/version"


def test_peermem(machine: Any) -> None:
    assert read(machine({})) is None
    assert read(machine({VERSION: "NVRM version: NVIDIA UNIX x86_64 Kernel Module  450.80.02\n"})) == Peermem((), False)
    files = {
        VERSION: "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.105.08\n",
        "/sys/module/nvidia_peermem/refcnt": "0\n",
    }
    assert read(machine(files)) == Peermem(("nvidia_peermem",), True)
