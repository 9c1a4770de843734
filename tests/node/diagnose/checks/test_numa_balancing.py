from typing import Any, Callable, Optional

import pytest

from brctl.node.facts import Inventory, Sysctl
from brctl.node.report import Status

KEY = "kernel.numa_balancing"


@pytest.mark.parametrize(
    ("value", "status", "summary"),
    [
        ("0", Status.PASS, "off"),
        ("1", Status.WARN, KEY + " is 1: pages are moved between NUMA nodes"),
        ("2", Status.WARN, KEY + " is 2: pages are moved between tiers of memory"),
        ("3", Status.WARN, KEY + " is 3: pages are moved between NUMA nodes and tiers of memory"),
        ("8", Status.WARN, KEY + " is 8: pages are moved in ways that brctl does not know"),
        (None, Status.NA, "this kernel has no NUMA balancing"),
    ],
)
def test_the_mask(
    dgx: Inventory, examine: Callable[..., Any], value: Optional[str], status: Status, summary: str
) -> None:
    (found,) = examine(dgx._replace(sysctls=(Sysctl(KEY, value),) if value else ()))
    assert (found.status, found.summary) == (status, summary)
    assert (found.remedy or "").startswith("`brctl tune apply --set numa_balancing=false`" if found.remedy else "")
    assert bool(found.remedy) is (status is Status.WARN)


def test_where_it_is_no_matter(dgx: Inventory, examine: Callable[..., Any]) -> None:
    on = dgx._replace(sysctls=(Sysctl(KEY, "1"),))
    (one_node,) = examine(on._replace(numa=(dgx.numa or ())[:1]))
    (no_gpu,) = examine(on._replace(gpus=None, pci=()))
    assert [one_node.status, no_gpu.status] == [Status.INFO, Status.INFO]
