"""Whether this is a virtual machine."""

import re
from typing import Optional

from ..host import Host

_DMI = "/sys/class/dmi/id/"
_NAMES = (
    ("VMware", "VMware"),
    ("QEMU", "QEMU"),
    ("KVM", "KVM"),
    ("Xen", "Xen"),
    ("Virtual Machine", "Hyper-V"),
    ("Google Compute Engine", "Google Compute Engine"),
    ("OpenStack", "OpenStack"),
    ("VirtualBox", "VirtualBox"),
    ("Alibaba Cloud ECS", "Alibaba Cloud"),
)
"""What stands in the DMI table of a guest, and what it is called. Amazon's bare metal has its words too."""
_FLAG = re.compile(r"^flags\s*:.*\bhypervisor\b", re.MULTILINE)


def read(host: Host) -> Optional[str]:
    """The name of the hypervisor; None on bare metal. Raises OSError."""
    table = " ".join((host.read(_DMI + name) or "").strip() for name in ("sys_vendor", "product_name"))
    for words, name in _NAMES:
        if words in table:
            return name
    return "a hypervisor" if _FLAG.search(host.read("/proc/cpuinfo") or "") else None
