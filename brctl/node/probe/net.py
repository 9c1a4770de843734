"""Network interfaces."""

import contextlib
import re
from typing import Dict, List, Optional, Sequence

from ..deadline import CALL_LIMIT_S
from ..facts import Nic
from ..host import Host, read_if_valid
from .pci import function_above, read_numa_node, read_physical_function
from .rows import Reading, Row, collected, run_groups

_NET = "/sys/class/net"
_RDMA = "/sys/class/infiniband"
_LOOPBACK, _ETHERNET, _INFINIBAND = 772, 1, 32  # ARPHRD_* of linux/if_arp.h
_KINDS = ("bond", "bridge", "vlan", "vxlan")
_REPRESENTOR = re.compile(r"(?:c\d+)?pf\d+")
"""A port of the card itself is `p0`."""


def read(host: Host) -> Optional[Reading]:
    """Sorted by name; None where there is no /sys. Raises OSError.

    First what the kernel knows by itself; then each NIC is asked in a thread of its own, for a driver or a firmware may
    hang. Thousands of interfaces without hardware have one thread together.
    """
    names = host.listdir(_NET)
    if names is None:
        return None
    rdma = _rdma_devices(host)
    rows = [Row("nics", name) for name in names]
    for row in rows:
        row.run(lambda row: _start(row, host, rdma))
    groups: Dict[str, List[Row]] = {}
    for row in rows:
        if row.value:
            groups.setdefault(_thread_of(row.value, host), []).append(row)
    run_groups(tuple(groups.values()), lambda row: _ask(row, host))
    return collected(rows)


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


def parse_firmware(text: str) -> Optional[str]:
    """Of `ethtool -i`, without the board id that mlx5 adds in parentheses: RDMA shows both apart."""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key == "firmware-version":
            firmware = value.partition(" (")[0].strip()
            return None if firmware in ("", "N/A") else firmware
    return None


def is_partition(host: Host, name: str) -> bool:
    """Whether an IPoIB interface is another's, with a partition key of its own (`ib0.8001`).

    It shows the port's device and number as well. `parent` is there only where it was made through /sys.
    """
    folder = _NET + "/" + name + "/"
    return host.read(folder + "parent") is not None or host.read(folder + "iflink") != host.read(folder + "ifindex")


def _start(row: Row, host: Host, rdma: Dict[str, str]) -> None:
    name = row.subject or ""
    folder = _NET + "/" + name + "/"
    mtu, state = host.read(folder + "mtu"), host.read(folder + "operstate")
    if mtu is None or state is None:  # the file bonding_masters, or an interface that went away just now
        return
    entries = host.listdir(folder) or ()
    lower = tuple(entry[len("lower_") :] for entry in entries if entry.startswith("lower_"))
    kind = _kind(host, name, entries, lower)
    place = host.readlink(_NET + "/" + name) or "" if kind == "physical" else ""
    pci = function_above(place)
    driver = host.readlink(folder + "device/driver") if kind == "physical" else None
    master = host.readlink(folder + "master")
    row.value = Nic(
        name=name,
        kind=kind,
        mac=(host.read(folder + "address") or "").strip() or None,
        mtu=int(mtu),
        operstate=state.strip(),
        carrier=None,
        speed_mbps=None,
        driver=driver.rpartition("/")[2] if driver else None,
        firmware=None,
        pci=pci,
        numa_node=read_numa_node(host, pci) if pci else None,
        master=master.rpartition("/")[2] if master else None,
        lower=lower,
        rdma=rdma.get(_parent(place), rdma.get(pci or "")),
    )


def _thread_of(nic: Nic, host: Host) -> str:
    """Interfaces of an equal answer share a thread: those that hardware can't hang, and the virtual functions of one
    card, of which there may be a hundred."""
    if nic.pci:
        return read_physical_function(host, nic.pci) or nic.name
    return nic.name if nic.kind == "physical" or nic.lower else ""


def _ask(row: Row, host: Host) -> None:
    nic: Nic = row.value
    folder = _NET + "/" + nic.name + "/"
    row.fill(carrier=lambda: _carrier(host, folder), speed_mbps=lambda: _speed(host, folder))
    if nic.kind == "physical":
        row.fill(firmware=lambda: _firmware(host, nic))


def _carrier(host: Host, folder: str) -> Optional[bool]:
    text = read_if_valid(host, folder + "carrier")
    return None if text is None else text.strip() == "1"


def _speed(host: Host, folder: str) -> Optional[int]:
    text = read_if_valid(host, folder + "speed")
    return None if text is None else parse_speed(text)


def _firmware(host: Host, nic: Nic) -> Optional[str]:
    """By ethtool; where it is not installed, what /sys has."""
    answer = host.run(["ethtool", "-i", nic.name], CALL_LIMIT_S)
    if answer and answer.returncode == 0:
        return parse_firmware(answer.stdout)
    text = host.read("{}/{}/fw_ver".format(_RDMA, nic.rdma)) if nic.rdma else None
    return text.strip() if text else None


def _kind(host: Host, name: str, entries: Sequence[str], lower: Sequence[str]) -> str:
    folder = _NET + "/" + name + "/"
    device_type = parse_device_type(host.read(folder + "uevent") or "")
    if device_type in _KINDS:
        return device_type or ""
    hardware = int(host.read(folder + "type") or 0)
    if hardware == _LOOPBACK:
        return "loopback"
    if "device" in entries:
        return "virtual" if _is_part(host, name, hardware) else "physical"
    # A veth has no DEVTYPE; it is Ethernet with another interface, its peer, as the far end, and none under it.
    far_end = host.read(folder + "iflink")
    paired = far_end not in (None, "0\n", host.read(folder + "ifindex"))
    return "veth" if hardware == _ETHERNET and paired and not lower and device_type is None else "virtual"


def _is_part(host: Host, name: str, hardware: int) -> bool:
    """Whether it shows a device that is another interface's: a partition of InfiniBand, what represents a virtual
    machine's port on the host (`phys_port_name`, Documentation/networking/switchdev.rst), a sub-function."""
    if hardware == _INFINIBAND:
        return is_partition(host, name)
    port = read_if_valid(host, _NET + "/" + name + "/phys_port_name") or ""
    return bool(_REPRESENTOR.match(port)) or ".sf." in _parent(host.readlink(_NET + "/" + name) or "")


def _rdma_devices(host: Host) -> Dict[str, str]:
    """RDMA devices by the device that they are on, and by its PCI function."""
    devices: Dict[str, str] = {}
    functions: Dict[str, str] = {}
    with contextlib.suppress(OSError):  # the probe of RDMA tells of it
        for name in host.listdir(_RDMA) or ():
            link = host.readlink(_RDMA + "/" + name) or ""
            function = function_above(link)
            if function:
                devices[_parent(link)] = functions[function] = name
    return {**functions, **devices}


def _parent(link: str) -> str:
    """The device of `.../0000:1a:00.0/net/ens1np0`."""
    return link.rpartition("/")[0].rpartition("/")[0]
