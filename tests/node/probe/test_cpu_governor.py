from typing import Any

from brctl.node.facts import CpuGovernor
from brctl.node.probe.cpu_governor import read

POLICY = "/sys/devices/system/cpu/cpufreq/policy{}/scaling_governor"


def test_by_governor(machine: Any) -> None:
    files = {POLICY.format(number): "performance\n" for number in (0, 10, 2)}
    files[POLICY.format(3)] = "powersave\n"
    files["/sys/devices/system/cpu/cpufreq/boost"] = "1\n"
    assert read(machine(files)) == (CpuGovernor("performance", (0, 2, 10)), CpuGovernor("powersave", (3,)))


def test_none(machine: Any) -> None:
    assert read(machine({})) is None
    assert read(machine({"/sys/devices/system/cpu/cpufreq/boost": "1\n"})) is None
