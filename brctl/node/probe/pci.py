"""PCI devices of interest, and where they sit."""

import re
from typing import Optional, Tuple

from ..facts import PciDevice
from ..host import Host, read_if_valid

_DEVICES = "/sys/bus/pci/devices"
_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")
_HOST_BRIDGE = re.compile(r"pci[0-9a-f]{4,}:[0-9a-f]{2}\Z")

_OF_INTEREST = ("02", "03", "0108", "0680", "0c06", "12")
"""Base classes, or class and subclass (PCI Code and ID Assignment): network, display, NVMe, other bridges (NVSwitch),
InfiniBand, processing accelerators. A server has some 250 devices more: root ports, uncore units, switches."""

_WIDTHS = (1, 2, 4, 8, 12, 16, 32)
"""Of PCI Express. A device that is off the bus reads as all ones, which the kernel prints as a width of 63."""


def read(host: Host) -> Optional[Tuple[PciDevice, ...]]:
    """Sorted by address; None where there is no PCI bus. Raises OSError."""
    addresses = host.listdir(_DEVICES)
    if addresses is None:
        return None
    devices = (_read_device(host, address) for address in addresses)
    return tuple(device for device in devices if device)


def parse_class(text: str) -> str:
    """`0x030200` is `0302`."""
    return text.strip()[2:6]


def parse_speed(text: str) -> Optional[float]:
    """GT/s of `32.0 GT/s PCIe` (without the last word before Linux 5.8); None for `Unknown`."""
    number, _, unit = text.strip().partition(" ")
    return float(number) if unit.startswith("GT/s") else None


def parse_width(text: str) -> Optional[int]:
    """Lanes; None for a link that is down or a device that does not answer."""
    width = int(text)
    return width if width in _WIDTHS else None


def parse_numa_node(text: str) -> Optional[int]:
    """None for -1: the firmware does not say."""
    node = int(text)
    return node if node >= 0 else None


def parse_ancestors(link: str) -> Tuple[str, ...]:
    """From the host bridge down to what is above the device; `link` is where its entry in /sys/bus/pci leads."""
    parts = link.split("/")[:-1]
    bridges = [place for place, part in enumerate(parts) if _HOST_BRIDGE.match(part)]
    return tuple(parts[bridges[0] :]) if bridges else ()


def function_above(link: str) -> Optional[str]:
    """The PCI function that `eth0` or `mlx5_0` belongs to; `link` is where its entry in /sys/class leads.

    One layer may lie between: virtio, auxiliary. On USB there are more, and the function is the controller's, not its.
    """
    parts = link.split("/")[:-2]
    for part in reversed(parts[-2:]):
        if _ADDRESS.match(part):
            return part
    return None


def read_numa_node(host: Host, address: str) -> Optional[int]:
    """Of the function at `address`. Raises OSError."""
    return parse_numa_node(host.read(_DEVICES + "/" + address + "/numa_node") or "-1")


def _read_device(host: Host, address: str) -> Optional[PciDevice]:
    folder = _DEVICES + "/" + address + "/"
    pci_class = parse_class(host.read(folder + "class") or "")
    if not pci_class.startswith(_OF_INTEREST):
        return None
    vendor, device = host.read(folder + "vendor"), host.read(folder + "device")
    driver = host.readlink(folder + "driver")
    if vendor is None or device is None:  # pulled out just now
        return None
    return PciDevice(
        address=address,
        vendor_id=vendor.strip()[2:],
        device_id=device.strip()[2:],
        pci_class=pci_class,
        driver=driver.rpartition("/")[2] if driver else None,
        numa_node=read_numa_node(host, address),
        # EINVAL: the device does not answer.
        link_speed_gts=parse_speed(read_if_valid(host, folder + "current_link_speed") or ""),
        link_width=parse_width(read_if_valid(host, folder + "current_link_width") or "0"),
        max_link_speed_gts=parse_speed(read_if_valid(host, folder + "max_link_speed") or ""),
        max_link_width=parse_width(read_if_valid(host, folder + "max_link_width") or "0"),
        ancestors=parse_ancestors(host.readlink(_DEVICES + "/" + address) or ""),
    )
