from typing import Any, Callable

from brctl.node.facts import Inventory, IommuDomain
from brctl.node.report import Status

THROUGH, TRANSLATED = IommuDomain("0000:53:00.0", "identity"), IommuDomain("0000:64:00.0", "DMA-FQ")


def test_bare_metal(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (none,) = examine(dgx._replace(iommu=()))
    (through,) = examine(dgx._replace(iommu=(THROUGH,)))
    assert [(one.status, one.summary) for one in (none, through)] == [
        (Status.PASS, "none in use"),
        (Status.PASS, "passes through"),
    ]
    (found,) = examine(dgx._replace(iommu=(THROUGH, TRANSLATED)))
    assert (found.status, found.summary) == (Status.WARN, "addresses of 1 of 2 GPUs and NICs are translated")
    assert "iommu=pt" in found.remedy
    (found,) = examine(dgx._replace(iommu=(TRANSLATED,), gpus=None, pci=()))
    assert (found.status, found.remedy) == (Status.INFO, None)


def test_a_virtual_machine(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx._replace(iommu=(TRANSLATED,), hypervisor="QEMU"))
    assert (found.status, found.summary) == (Status.NA, "a virtual machine (QEMU)")
