from typing import Any, Optional

import pytest

from brctl.node.probe.hypervisor import read


@pytest.mark.parametrize(
    ("vendor", "product", "flags", "name"),
    [
        ("NVIDIA", "DGXH100", "fpu vme", None),
        ("VMware, Inc.", "VMware20,1", "", "VMware"),
        ("Microsoft Corporation", "Virtual Machine", "", "Hyper-V"),
        ("Microsoft Corporation", "Surface", "", None),
        ("Amazon EC2", "p5.48xlarge", "fpu hypervisor lahf", "a hypervisor"),
        ("Amazon EC2", "p5.metal", "fpu lahf", None),
        ("QEMU", "Standard PC", "", "QEMU"),
    ],
)
def test_names(machine: Any, vendor: str, product: str, flags: str, name: Optional[str]) -> None:
    files = {
        "/sys/class/dmi/id/sys_vendor": vendor + "\n",
        "/sys/class/dmi/id/product_name": product + "\n",
        "/proc/cpuinfo": "processor\t: 0\nflags\t\t: {}\n".format(flags),
    }
    assert read(machine(files)) == name


def test_nothing_to_tell_by(machine: Any) -> None:
    assert read(machine({})) is None
