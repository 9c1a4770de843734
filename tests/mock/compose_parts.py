"""Parts of a machine in the form in which the kernel shows them, for the composed machines."""

from collections.abc import Iterable, Sequence
from os.path import dirname, relpath
from typing import NamedTuple

Entry = str | dict[str, str | list[str]]
Files = dict[str, Entry]

EINVAL: Entry = {"errno": "EINVAL"}
KIB = 1024
MIB = 1024 * KIB
NO_GID = "0000:0000:0000:0000:0000:0000:0000:0000"

_SPEEDS = {2: "5.0 GT/s PCIe", 3: "8.0 GT/s PCIe", 4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe"}
_LOOPBACK, _INFINIBAND = 772, 32  # ARPHRD_* of linux/if_arp.h


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


class Card(NamedTuple):
    """A type of RDMA card."""

    firmware: str
    board: str
    hca: str
    rate: str
    """Of a port with a link, as the kernel writes it."""


class Gid(NamedTuple):
    gid: str
    type: str
    netdev: str
    """Empty on InfiniBand."""


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
    card: Card | None = None
    """Of its RDMA device; None: it has none."""
    gids: tuple[Gid, ...] = ()

    @property
    def is_infiniband(self) -> bool:
        return self.arp_type == _INFINIBAND


class Cpu(NamedTuple):
    model: str
    sockets: int
    cores: int
    """Of each socket."""
    threads: int = 2
    """Of each core."""
    vendor: str = "GenuineIntel"
    governor: str = "performance"
    """Empty: frequencies are nothing of this machine's, as in a virtual one."""


LOOPBACK = Interface("lo", 1, "00:00:00:00:00:00", 65536, "unknown", arp_type=_LOOPBACK)


def link(place: str, target: str) -> Entry:
    """A relative one, as the kernel makes them in /sys."""
    return {"link": relpath(target, dirname(place))}


def cpu_files(cpu: Cpu) -> Files:
    """Numbered as x86 firmware does: first a thread of every core, then the second ones."""
    total = cpu.sockets * cpu.cores
    cpus = "/sys/devices/system/cpu"
    # /proc/cpuinfo is cut after the first CPU: the others' blocks are like it.
    files: Files = {
        "/proc/cpuinfo": f"processor\t: 0\nvendor_id\t: {cpu.vendor}\nmodel name\t: {cpu.model}\n\n",
        f"{cpus}/online": f"0-{cpu.threads * total - 1}\n",
    }
    for number in range(cpu.threads * total):
        core = number % total
        topology = f"{cpus}/cpu{number}/topology"
        files[f"{topology}/core_siblings_list"] = _cpulist(core // cpu.cores, cpu.sockets, cpu.cores, cpu.threads)
        files[f"{topology}/thread_siblings_list"] = ",".join(str(core + total * n) for n in range(cpu.threads)) + "\n"
        if cpu.governor:
            files[f"{cpus}/cpufreq/policy{number}/scaling_governor"] = cpu.governor + "\n"
    return files


def memory_files(cpu: Cpu, node_kib: Sequence[int], distances: Sequence[int] = (10, 21)) -> Files:
    """Of NUMA nodes that share the cores equally; nearly all of the memory is free. `distances`: to the node itself,
    to those of the same socket where there are several, and to all others."""
    total, nodes = sum(node_kib), len(node_kib)
    of_a_socket = nodes // cpu.sockets
    files: Files = {
        "/proc/meminfo": f"MemTotal:       {total} kB\nMemFree:        {total // 100 * 94} kB\n"
        f"MemAvailable:   {total // 100 * 96} kB\nSwapTotal:             0 kB\nSwapFree:              0 kB\n",
        "/sys/devices/system/node/online": f"0-{nodes - 1}\n" if nodes > 1 else "0\n",
    }
    for node, kib in enumerate(node_kib):
        folder = f"/sys/devices/system/node/node{node}"
        near = [distances[1 if other // of_a_socket == node // of_a_socket else -1] for other in range(nodes)]
        near[node] = distances[0]
        files[f"{folder}/cpulist"] = _cpulist(node, nodes, cpu.sockets * cpu.cores // nodes, cpu.threads)
        files[f"{folder}/meminfo"] = f"Node {node} MemTotal:       {kib} kB\n"
        files[f"{folder}/distance"] = " ".join(map(str, near)) + "\n"
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


def commands(interfaces: Sequence[Interface]) -> dict[str, dict[str, str]]:
    """`ethtool` of each interface that is on the PCI bus, `ibv_devinfo` of each InfiniBand port."""
    found = {f"ethtool -i {one.name}": {"stdout": one.driver_info} for one in interfaces if one.pci}
    for one in interfaces:
        found |= {command: {"stdout": text} for command, text in settings(one).items()} if one.gids else {}
    for number, one in enumerate(with_rdma(interfaces)):
        device = f"mlx5_{number}"
        if one.is_infiniband:
            found[f"ibv_devinfo -d {device} -i 1"] = {"stdout": _DEVINFO.format(device)}
        elif one.gids:
            found[f"ethtool -S {one.name}"] = {"stdout": _STATISTICS}
    return found


def acs(devices: Iterable[Pci]) -> str:
    """What `lspci -D -vv` shows of the ports above these devices: ACS checks who speaks, and redirects nothing."""
    ports = sorted({device.path[-2] for device in devices if len(device.path) > 2})
    form = (
        "{} PCI bridge: PLX Technology, Inc. Device c030 (rev b0)\n\tCapabilities: [f24 v1] Access Control Services\n"
    )
    control = "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-\n"
    return "\n".join(form.format(port) + control for port in ports)


def settings(one: Interface) -> dict[str, str]:
    """How a well-kept node's rail is set, as the tools print it: what mlx5 has by default, and RoCE on priority 3. Of
    other interfaces nothing is shown, as where the tools are not installed."""
    found = {
        f"ethtool -g {one.name}": _RING.format(one.name),
        f"ethtool -k {one.name}": _FEATURES.format(one.name),
        f"tc -j qdisc show dev {one.name} root": '[{"kind":"mq","handle":"0:","root":true,"options":{}}]\n',
    }
    return found if one.is_infiniband else {**found, f"mlnx_qos -i {one.name}": QOS}


_RING = """\
Ring parameters for {}:
Pre-set maximums:
RX:\t\t8192
Current hardware settings:
RX:\t\t1024
"""

_FEATURES = """\
Features for {}:
rx-checksumming: on
tx-checksumming: on
tcp-segmentation-offload: on
generic-receive-offload: on
"""

QOS = """\
DCBX mode: OS controlled
Priority trust state: dscp
PFC configuration:
\tpriority    0   1   2   3   4   5   6   7
\tenabled     0   0   0   1   0   0   0   0
"""

_DEVINFO = """\
hca_id:\t{}
\tphys_port_cnt:\t\t\t1
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tmax_mtu:\t\t4096 (5)
\t\t\tactive_mtu:\t\t4096 (5)
\t\t\tlink_layer:\t\tInfiniBand
"""

_STATISTICS = """\
NIC statistics:
     rx_packets: 1482306
     rx_bytes: 1186204811
     tx_packets: 1398811
     tx_bytes: 1012480032
     rx_out_of_buffer: 0
     rx_crc_errors_phy: 0
     link_down_events_phy: 0
     rx_discards_phy: 0
     tx_discards_phy: 0
     rx_pause_ctrl_phy: 0
     tx_pause_ctrl_phy: 0
     tx_pause_storm_warning_events: 0
     tx_pause_storm_error_events: 0
     rx_prio0_bytes: 48211
     tx_prio0_bytes: 40017
     rx_prio0_discards: 0
     rx_prio0_pause: 0
     tx_prio0_pause: 0
     rx_prio3_bytes: 84211905310276
     rx_prio3_packets: 20514782101
     rx_prio3_discards: 0
     tx_prio3_bytes: 84190310577132
     tx_prio3_packets: 20509512466
     rx_prio3_pause: 0
     rx_prio3_pause_duration: 0
     rx_prio3_pause_transition: 0
     tx_prio3_pause: 0
     tx_prio3_pause_duration: 0
     tx_prio3_pause_transition: 0
"""
"""A few of some 1500 that mlx5 has; RDMA is on priority 3."""


def rdma_files(interfaces: Iterable[Interface]) -> Files:
    """RDMA devices of one port each, numbered as the kernel finds them, by address."""
    files: Files = {}
    for number, interface in enumerate(with_rdma(interfaces)):
        files |= _rdma_files(f"mlx5_{number}", interface)
    return files


def with_rdma(interfaces: Iterable[Interface]) -> list[Interface]:
    return sorted((one for one in interfaces if one.card), key=lambda one: one.pci.address if one.pci else "")


def _rdma_files(name: str, interface: Interface) -> Files:
    """Without GIDs it has no link: the kernel then shows a placeholder for the rate."""
    card, found = interface.card, interface.gids
    assert card and interface.pci  # noqa: PT018
    folder, place = f"{interface.pci.folder}/infiniband/{name}", f"/sys/class/infiniband/{name}"
    port = f"{folder}/ports/1"
    files: Files = {
        place: link(place, folder),
        f"{folder}/device": link(f"{folder}/device", interface.pci.folder),
        f"{folder}/fw_ver": card.firmware + "\n",
        f"{folder}/board_id": card.board + "\n",
        f"{folder}/hca_type": card.hca + "\n",
        f"{port}/link_layer": "InfiniBand\n" if interface.is_infiniband else "Ethernet\n",
        f"{port}/state": "4: ACTIVE\n" if found else "1: DOWN\n",
        f"{port}/phys_state": "5: LinkUp\n" if found else "3: Disabled\n",
        f"{port}/rate": card.rate + "\n" if found else "40 Gb/sec (4X QDR)\n",
    }
    for index, gid in enumerate(found):
        files[f"{port}/gids/{index}"] = gid.gid + "\n"
        files[f"{port}/gid_attrs/types/{index}"] = gid.type + "\n"
        files[f"{port}/gid_attrs/ndevs/{index}"] = gid.netdev + "\n" if gid.netdev else EINVAL
    # The table has 255 places; of those that are not in use, one shows what they are like.
    files[f"{port}/gids/{len(found)}"] = NO_GID + "\n"
    files[f"{port}/gid_attrs/types/{len(found)}"] = files[f"{port}/gid_attrs/ndevs/{len(found)}"] = EINVAL
    return files


def gids(netdev: str, mac: str, *addresses: tuple[str, str]) -> tuple[Gid, ...]:
    """The link-local ones, then those of `addresses` (interface, IPv4); each once for RoCE v1 and once for v2."""
    found = [(netdev, _link_local(mac)), *((name, _mapped(address)) for name, address in addresses)]
    return tuple(Gid(gid, kind, name) for name, gid in found for kind in ("IB/RoCE v1", "RoCE v2"))


def port_gid(guid: str) -> tuple[Gid, ...]:
    """Of an InfiniBand port, from its GUID: `b8ce:f603:0012:3456`."""
    return (Gid(f"fe80:0000:0000:0000:{guid}", "IB/RoCE v1", ""),)


def _link_local(mac: str) -> str:
    """With the modified EUI-64 of the MAC (RFC 4291)."""
    octets = [int(octet, 16) for octet in mac.split(":")]
    octets[0] ^= 2
    return _gid([0xFE, 0x80, *[0] * 6, *octets[:3], 0xFF, 0xFE, *octets[3:]])


def _mapped(address: str) -> str:
    return _gid([*[0] * 10, 0xFF, 0xFF, *map(int, address.split("."))])


def _gid(octets: Sequence[int]) -> str:
    return ":".join(f"{high:02x}{low:02x}" for high, low in zip(octets[::2], octets[1::2], strict=True))


def _cpulist(group: int, groups: int, cores: int, threads: int) -> str:
    """Of one of several equal groups of cores."""
    firsts = (group * cores + thread * groups * cores for thread in range(threads))
    return ",".join(f"{first}-{first + cores - 1}" for first in firsts) + "\n"
