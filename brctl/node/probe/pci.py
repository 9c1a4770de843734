"""PCI devices of interest, and where they sit."""

import re
from typing import Optional, Tuple

from ..facts import PciDevice
from ..host import Host, read_if_valid
from ..units import finite
from .rows import Reading, Row, collected, run_groups

_DEVICES = "/sys/bus/pci/devices"
_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")
_HOST_BRIDGE = re.compile(r"pci[0-9a-f]{4,}:[0-9a-f]{2}\Z")

_OF_INTEREST = ("02", "03", "0108", "0680", "0c06", "12")
"""Base classes, or class and subclass (PCI Code and ID Assignment): network, display, NVMe, other bridges (NVSwitch),
InfiniBand, processing accelerators. A server has some 250 devices more: root ports, uncore units, switches."""

_WIDTHS = (1, 2, 4, 8, 12, 16, 32)
"""Of PCI Express. A device that is off the bus reads as all ones, which the kernel prints as a width of 63."""


def read(host: Host) -> Optional[Reading]:
    """Sorted by address; None where there is no PCI bus. Raises OSError.

    First what the kernel knows by itself; then each device is asked for its link in a thread of its own.
    """
    addresses = host.listdir(_DEVICES)
    if addresses is None:
        return None
    rows = [Row("pci", address) for address in addresses]
    for row in rows:
        row.run(lambda row: _start(row, host))
    # The link is the physical function's (SR-IOV specification, "VF Link Status").
    asked = [[row] for row in rows if row.value and row.value.physical_function is None]
    run_groups(asked, lambda row: _ask(row, host))
    return collected(rows)


def parse_class(text: str) -> str:
    """`0x030200` is `0302`."""
    return text.strip()[2:6]


def parse_speed(text: str) -> Optional[float]:
    """GT/s of `32.0 GT/s PCIe` (without the last word before Linux 5.8); None for `Unknown`."""
    number, _, unit = text.strip().partition(" ")
    return finite(number) if unit.startswith("GT/s") else None


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


def read_physical_function(host: Host, address: str) -> Optional[str]:
    """What the function at `address` is a virtual one of; None where it is none. Raises OSError."""
    link = host.readlink(_DEVICES + "/" + address + "/physfn")
    return link.rpartition("/")[2] if link else None


def _start(row: Row, host: Host) -> None:
    address = row.subject or ""
    folder = _DEVICES + "/" + address + "/"
    pci_class = parse_class(host.read(folder + "class") or "")
    if not pci_class.startswith(_OF_INTEREST):
        return
    vendor, device = host.read(folder + "vendor"), host.read(folder + "device")
    driver = host.readlink(folder + "driver")
    if vendor is None or device is None:  # pulled out just now
        return
    row.value = PciDevice(
        address=address,
        vendor_id=vendor.strip()[2:],
        device_id=device.strip()[2:],
        pci_class=pci_class,
        driver=driver.rpartition("/")[2] if driver else None,
        numa_node=read_numa_node(host, address),
        link_speed_gts=None,
        link_width=None,
        max_link_speed_gts=None,
        max_link_width=None,
        ancestors=parse_ancestors(host.readlink(_DEVICES + "/" + address) or ""),
        physical_function=read_physical_function(host, address),
    )


def _ask(row: Row, host: Host) -> None:
    folder = _DEVICES + "/" + row.value.address + "/"

    def text(name: str) -> str:
        return read_if_valid(host, folder + name) or ""  # EINVAL: the device does not answer

    row.fill(
        link_speed_gts=lambda: parse_speed(text("current_link_speed")),
        link_width=lambda: parse_width(text("current_link_width") or "0"),
        max_link_speed_gts=lambda: parse_speed(text("max_link_speed")),
        max_link_width=lambda: parse_width(text("max_link_width") or "0"),
    )
