"""Parts of a machine in the form in which the kernel shows them, for the composed machines."""

from collections.abc import Iterable, Sequence
from os.path import dirname, relpath
from typing import NamedTuple

Entry = str | dict[str, str]
Files = dict[str, Entry]

EINVAL: Entry = {"errno": "EINVAL"}
KIB = 1024
MIB = 1024 * KIB
NO_GID = "0000:0000:0000:0000:0000:0000:0000:0000"

_SPEEDS = {2: "5.0 GT/s PCIe", 4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe"}


class Pci(NamedTuple):
    path: tuple[str, ...]
    """From the host bridge down to the device itself."""
    pci_class: str
    vendor: str
    device: str
    driver: str
    numa_node: int
    generation: int = 0
    """0: no PCI Express."""
    width: int = 0
    max_width: int = 0

    @property
    def address(self) -> str:
        return self.path[-1]

    @property
    def folder(self) -> str:
        return "/sys/devices/" + "/".join(self.path)


class Interface(NamedTuple):
    name: str
    index: int
    mac: str
    mtu: int = 1500
    state: str = "up"
    """`down` is administratively down."""
    speed: int = 0
    """Mb/s; 0: the kernel has none, and answers EINVAL."""
    pci: Pci | None = None
    driver_info: str = ""
    device_type: str = ""
    arp_type: int = 1
    lower: tuple[str, ...] = ()
    master: str = ""


class Gid(NamedTuple):
    gid: str
    type: str
    netdev: str


LOOPBACK = Interface("lo", 1, "00:00:00:00:00:00", 65536, "unknown", arp_type=772)


def link(place: str, target: str) -> Entry:
    """A relative one, as the kernel makes them in /sys."""
    return {"link": relpath(target, dirname(place))}


def cpu_files(model: str, sockets: int, cores: int, governor: str) -> Files:
    """Two threads a core, numbered as x86 firmware does: first a thread of every core, then the second ones."""
    total = sockets * cores
    cpus = "/sys/devices/system/cpu"
    # /proc/cpuinfo is cut after the first CPU: the others' blocks are like it.
    files: Files = {
        "/proc/cpuinfo": f"processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel name\t: {model}\n\n",
        f"{cpus}/online": f"0-{2 * total - 1}\n",
    }
    for cpu in range(2 * total):
        core = cpu % total
        files[f"{cpus}/cpu{cpu}/topology/core_siblings_list"] = _socket_cpus(core // cores, sockets, cores)
        files[f"{cpus}/cpu{cpu}/topology/thread_siblings_list"] = f"{core},{core + total}\n"
        files[f"{cpus}/cpufreq/policy{cpu}/scaling_governor"] = governor + "\n"
    return files


def memory_files(node_kib: Sequence[int], cores: int) -> Files:
    """One NUMA node a socket; nearly all of the memory is free."""
    total = sum(node_kib)
    files: Files = {
        "/proc/meminfo": f"MemTotal:       {total} kB\nMemFree:        {total // 100 * 94} kB\n"
        f"MemAvailable:   {total // 100 * 96} kB\nSwapTotal:             0 kB\nSwapFree:              0 kB\n",
        "/sys/devices/system/node/online": f"0-{len(node_kib) - 1}\n",
    }
    for node, kib in enumerate(node_kib):
        folder = f"/sys/devices/system/node/node{node}"
        distances = ("10" if other == node else "21" for other in range(len(node_kib)))
        files[f"{folder}/cpulist"] = _socket_cpus(node, len(node_kib), cores)
        files[f"{folder}/meminfo"] = f"Node {node} MemTotal:       {kib} kB\n"
        files[f"{folder}/distance"] = " ".join(distances) + "\n"
    return files


def system_files(hostname: str, release: str, distribution: str, boot_id: str, uptime_s: float) -> Files:
    return {
        "/proc/sys/kernel/hostname": hostname + "\n",
        "/proc/sys/kernel/osrelease": release + "\n",
        "/proc/sys/kernel/random/boot_id": boot_id + "\n",
        "/proc/uptime": f"{uptime_s:.2f} {uptime_s * 100:.2f}\n",
        "/etc/os-release": f'NAME="Ubuntu"\nID=ubuntu\nPRETTY_NAME="{distribution}"\n',
    }


def product_files(vendor: str, product: str) -> Files:
    return {"/sys/class/dmi/id/sys_vendor": vendor + "\n", "/sys/class/dmi/id/product_name": product + "\n"}


def sysctl_files(values: dict[str, str]) -> Files:
    return {"/proc/sys/" + key.replace(".", "/"): value + "\n" for key, value in values.items()}


def pci_files(devices: Iterable[Pci]) -> Files:
    """Of the devices alone: the bridges above them are only in the paths."""
    files: Files = {}
    for device in devices:
        place, driver = f"/sys/bus/pci/devices/{device.address}", f"{device.folder}/driver"
        files[place] = link(place, device.folder)
        files[driver] = link(driver, f"/sys/bus/pci/drivers/{device.driver}")
        values = {"class": device.pci_class, "vendor": device.vendor, "device": device.device}
        values["numa_node"] = str(device.numa_node)
        if device.generation:
            values["current_link_speed"] = values["max_link_speed"] = _SPEEDS[device.generation]
            values["current_link_width"] = str(device.width)
            values["max_link_width"] = str(device.max_width)
        files |= {f"{device.folder}/{name}": value + "\n" for name, value in values.items()}
    return files


def interface_files(interface: Interface) -> Files:
    parent = interface.pci.folder if interface.pci else "/sys/devices/virtual"
    folder, place = f"{parent}/net/{interface.name}", f"/sys/class/net/{interface.name}"
    device_type = f"DEVTYPE={interface.device_type}\n" if interface.device_type else ""
    has_speed = interface.speed and interface.state != "down"
    files: Files = {
        place: link(place, folder),
        f"{folder}/uevent": f"{device_type}INTERFACE={interface.name}\nIFINDEX={interface.index}\n",
        f"{folder}/type": f"{interface.arp_type}\n",
        f"{folder}/ifindex": f"{interface.index}\n",
        f"{folder}/iflink": f"{interface.index}\n",
        f"{folder}/address": interface.mac + "\n",
        f"{folder}/mtu": f"{interface.mtu}\n",
        f"{folder}/operstate": interface.state + "\n",
        f"{folder}/carrier": EINVAL if interface.state == "down" else "1\n",
        f"{folder}/speed": f"{interface.speed}\n" if has_speed else EINVAL,
    }
    if interface.pci:
        files[f"{folder}/device"] = link(f"{folder}/device", interface.pci.folder)
    if interface.master:
        files[f"{folder}/master"] = link(f"{folder}/master", f"/sys/devices/virtual/net/{interface.master}")
    for lower in interface.lower:
        files[f"{folder}/lower_{lower}"] = link(f"{folder}/lower_{lower}", f"/sys/class/net/{lower}")
    return files


def driver_info(driver: str, version: str, firmware: str, pci: Pci) -> str:
    """As `ethtool -i` prints it."""
    return (
        f"driver: {driver}\nversion: {version}\nfirmware-version: {firmware}\nexpansion-rom-version: \n"
        f"bus-info: {pci.address}\nsupports-statistics: yes\nsupports-test: yes\nsupports-eeprom-access: no\n"
    )


def ethtool(interfaces: Iterable[Interface]) -> dict[str, dict[str, str]]:
    return {
        f"ethtool -i {interface.name}": {"stdout": interface.driver_info} for interface in interfaces if interface.pci
    }


def rdma_files(
    name: str, interface: Interface, gids: Sequence[Gid], firmware: str, board: str, hca: str, rate: str
) -> Files:
    """A RoCE device of one port. One with no GIDs has no link: the kernel then shows a placeholder for its rate."""
    assert interface.pci
    folder, place = f"{interface.pci.folder}/infiniband/{name}", f"/sys/class/infiniband/{name}"
    port = f"{folder}/ports/1"
    files: Files = {
        place: link(place, folder),
        f"{folder}/device": link(f"{folder}/device", interface.pci.folder),
        f"{folder}/fw_ver": firmware + "\n",
        f"{folder}/board_id": board + "\n",
        f"{folder}/hca_type": hca + "\n",
        f"{port}/link_layer": "Ethernet\n",
        f"{port}/state": "4: ACTIVE\n" if gids else "1: DOWN\n",
        f"{port}/phys_state": "5: LinkUp\n" if gids else "3: Disabled\n",
        f"{port}/rate": rate + "\n" if gids else "40 Gb/sec (4X QDR)\n",
    }
    for index, gid in enumerate(gids):
        files[f"{port}/gids/{index}"] = gid.gid + "\n"
        files[f"{port}/gid_attrs/types/{index}"] = gid.type + "\n"
        files[f"{port}/gid_attrs/ndevs/{index}"] = gid.netdev + "\n"
    # The table has 255 places; of those that are not in use, one shows what they are like.
    files[f"{port}/gids/{len(gids)}"] = NO_GID + "\n"
    files[f"{port}/gid_attrs/types/{len(gids)}"] = files[f"{port}/gid_attrs/ndevs/{len(gids)}"] = EINVAL
    return files


def gids(netdev: str, mac: str, *addresses: tuple[str, str]) -> list[Gid]:
    """The link-local ones, then those of `addresses` (interface, IPv4); each once for RoCE v1 and once for v2."""
    found = [(netdev, _link_local(mac)), *((name, _mapped(address)) for name, address in addresses)]
    return [Gid(gid, kind, name) for name, gid in found for kind in ("IB/RoCE v1", "RoCE v2")]


def _link_local(mac: str) -> str:
    """With the modified EUI-64 of the MAC (RFC 4291)."""
    octets = [int(octet, 16) for octet in mac.split(":")]
    octets[0] ^= 2
    return _gid([0xFE, 0x80, *[0] * 6, *octets[:3], 0xFF, 0xFE, *octets[3:]])


def _mapped(address: str) -> str:
    return _gid([*[0] * 10, 0xFF, 0xFF, *map(int, address.split("."))])


def _gid(octets: Sequence[int]) -> str:
    return ":".join(f"{high:02x}{low:02x}" for high, low in zip(octets[::2], octets[1::2], strict=True))


def _socket_cpus(socket: int, sockets: int, cores: int) -> str:
    first, second = socket * cores, (sockets + socket) * cores
    return f"{first}-{first + cores - 1},{second}-{second + cores - 1}\n"
