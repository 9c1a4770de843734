"""Whether the addresses that GPUs and NICs use are translated."""

from typing import Dict, List, Optional, Tuple

from ..facts import IommuDomain
from ..host import Host

_DEVICES = "/sys/bus/pci/devices"
_GROUPS = "/sys/kernel/iommu_groups"
_OF_INTEREST = ("0x02", "0x03")
"""Classes: network, display."""


def read(host: Host) -> Optional[Tuple[IommuDomain, ...]]:
    """Of GPUs and NICs; none where no IOMMU is in use, None where there is no PCI. Raises OSError."""
    addresses = host.listdir(_DEVICES)
    if addresses is None:
        return None
    types: Dict[str, Optional[str]] = {}
    found: List[IommuDomain] = []
    for address in addresses:
        link = host.readlink("{}/{}/iommu_group".format(_DEVICES, address))
        if link is None or not (host.read("{}/{}/class".format(_DEVICES, address)) or "").startswith(_OF_INTEREST):
            continue
        group = link.rpartition("/")[2]
        if group not in types:
            types[group] = host.read("{}/{}/type".format(_GROUPS, group))  # since Linux 5.11
        if types[group]:
            found.append(IommuDomain(address, (types[group] or "").strip()))
    return tuple(found)
