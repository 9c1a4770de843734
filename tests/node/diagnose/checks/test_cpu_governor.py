from typing import Any, Callable

from brctl.node.facts import CpuGovernor, Inventory
from brctl.node.report import Status

FAST, SLOW = CpuGovernor("performance", (0, 1, 2)), CpuGovernor("powersave", (3,))


def test_all_fast(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx._replace(cpu_governors=(FAST,)))
    assert (found.status, found.summary) == (Status.PASS, "performance on all 3 CPUs")


def test_some_slow(dgx: Inventory, examine: Callable[..., Any]) -> None:
    seen = dgx._replace(cpu_governors=(FAST, SLOW))
    (found,) = examine(seen)
    assert (found.status, found.summary) == (Status.WARN, "powersave on 1 of 4 CPUs")
    assert found.remedy == "`brctl tune apply --set cpu_governor=performance`"
    assert found.evidence[0].source == "/sys/devices/system/cpu/cpufreq/policy3/scaling_governor"
    (found,) = examine(seen._replace(gpus=None, pci=()))
    assert (found.status, found.remedy) == (Status.INFO, None)
