"""Network interfaces."""

from typing import Dict, NamedTuple, Optional, Sequence, Tuple

from ..deadline import CALL_LIMIT_S
from ..facts import Nic
from ..host import Host, read_if_valid
from .pci import function_above, read_numa_node

_NET = "/sys/class/net"
_RDMA = "/sys/class/infiniband"
_LOOPBACK, _ETHERNET, _INFINIBAND = 772, 1, 32  # ARPHRD_* of linux/if_arp.h
_KINDS = ("bond", "bridge", "vlan", "vxlan")


class DriverInfo(NamedTuple):
    """What `ethtool -i` says; None for a field that the driver leaves empty."""

    driver: Optional[str]
    firmware: Optional[str]


def read(host: Host) -> Optional[Tuple[Nic, ...]]:
    """Sorted by name; None where there is no /sys. Raises OSError, ValueError, HungError."""
    names = host.listdir(_NET)
    if names is None:
        return None
    rdma = _rdma_by_function(host)
    nics = (_read_nic(host, name, rdma) for name in names)
    return tuple(nic for nic in nics if nic)


def parse_device_type(uevent: str) -> Optional[str]:
    """DEVTYPE of an interface's uevent: `bond`, `vlan`, ...; None for plain Ethernet."""
    for line in uevent.splitlines():
        if line.startswith("DEVTYPE="):
            return line[len("DEVTYPE=") :]
    return None


def parse_speed(text: str) -> Optional[int]:
    """Mb/s; None for the kernel's `unknown`, which is -1, or 2^32 - 1 where a driver printed it unsigned."""
    speed = int(text)
    return speed if 0 < speed < 0xFFFFFFFF else None


def parse_driver_info(text: str) -> DriverInfo:
    """`ethtool -i`. The firmware is without the board id that mlx5 adds in parentheses: RDMA shows both apart."""
    values = {}
    for line in text.splitlines():
        key, _, value = line.partition(": ")
        values[key] = value.strip()
    firmware = values.get("firmware-version", "").partition(" (")[0]
    return DriverInfo(values.get("driver") or None, None if firmware in ("", "N/A") else firmware)


def _read_nic(host: Host, name: str, rdma: Dict[str, str]) -> Optional[Nic]:
    folder = _NET + "/" + name + "/"
    mtu, state = host.read(folder + "mtu"), host.read(folder + "operstate")
    if mtu is None or state is None:  # the file bonding_masters, or an interface that went away just now
        return None
    entries = host.listdir(folder) or ()
    lower = tuple(entry[len("lower_") :] for entry in entries if entry.startswith("lower_"))
    kind = _kind(host, folder, entries, lower)
    pci = function_above(host.readlink(_NET + "/" + name) or "") if kind == "physical" else None
    driver = _driver_info(host, name, rdma.get(pci or "")) if kind == "physical" else DriverInfo(None, None)
    carrier = read_if_valid(host, folder + "carrier")
    speed = read_if_valid(host, folder + "speed")
    master = host.readlink(folder + "master")
    return Nic(
        name=name,
        kind=kind,
        mac=(host.read(folder + "address") or "").strip() or None,
        mtu=int(mtu),
        operstate=state.strip(),
        carrier=None if carrier is None else carrier.strip() == "1",
        speed_mbps=None if speed is None else parse_speed(speed),
        driver=driver.driver,
        firmware=driver.firmware,
        pci=pci,
        numa_node=read_numa_node(host, pci) if pci else None,
        master=master.rpartition("/")[2] if master else None,
        lower=lower,
        rdma=rdma.get(pci or ""),
    )


def _kind(host: Host, folder: str, entries: Sequence[str], lower: Sequence[str]) -> str:
    device_type = parse_device_type(host.read(folder + "uevent") or "")
    if device_type in _KINDS:
        return device_type or ""
    hardware = int(host.read(folder + "type") or 0)
    if hardware == _LOOPBACK:
        return "loopback"
    if "device" in entries:
        # A partition key's interface (`ib0.8001`) shows the port's device too, and a `parent`.
        return "virtual" if hardware == _INFINIBAND and "parent" in entries else "physical"
    # A veth has no DEVTYPE; it is Ethernet with another interface, its peer, as the far end, and none under it.
    far_end = host.read(folder + "iflink")
    paired = far_end not in (None, "0\n", host.read(folder + "ifindex"))
    return "veth" if hardware == _ETHERNET and paired and not lower and device_type is None else "virtual"


def _driver_info(host: Host, name: str, rdma: Optional[str]) -> DriverInfo:
    """By ethtool; where it is not installed, what /sys has."""
    answer = host.run(["ethtool", "-i", name], CALL_LIMIT_S)
    if answer and answer.returncode == 0:
        return parse_driver_info(answer.stdout)
    driver = host.readlink(_NET + "/" + name + "/device/driver")
    firmware = host.read("{}/{}/fw_ver".format(_RDMA, rdma)) if rdma else None
    return DriverInfo(driver.rpartition("/")[2] if driver else None, firmware.strip() if firmware else None)


def _rdma_by_function(host: Host) -> Dict[str, str]:
    """RDMA devices by the PCI function that they are on."""
    devices: Dict[str, str] = {}
    for name in host.listdir(_RDMA) or ():
        function = function_above(host.readlink(_RDMA + "/" + name) or "")
        if function:
            devices[function] = name
    return devices
