"""What all composed machines with GPUs have in common: a page of figures goes in, a machine comes out.

The settings are our own: those of a well-kept GPU node, with the reasons in the documentation of brctl's settings.
"""

import re
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

from compose_boards import Driver, Moment, Values
from compose_counters import counters, sensors, space
from compose_network import network_commands, network_files
from compose_parts import (
    MIB,
    Cpu,
    Files,
    Interface,
    Pci,
    acs,
    commands,
    cpu_files,
    interface_files,
    memory_files,
    pci_files,
    product_files,
    rdma_files,
    sysctl_files,
    system_files,
    with_rdma,
)
from compose_tune import distribution_files, kept_files, persistenced_files

_DAY_S = 86400.0

SYSCTLS = {
    "net.core.rmem_max": f"{64 * MIB}",
    "net.core.wmem_max": f"{64 * MIB}",
    "net.core.netdev_max_backlog": "250000",
    "net.core.default_qdisc": "fq_codel",
    "net.ipv4.tcp_rmem": f"4096\t131072\t{64 * MIB}",
    "net.ipv4.tcp_wmem": f"4096\t65536\t{64 * MIB}",
    "net.ipv4.tcp_congestion_control": "cubic",
    "net.ipv4.tcp_mtu_probing": "1",
    "net.ipv4.conf.all.arp_ignore": "1",
    "net.ipv4.conf.all.arp_announce": "2",
    "net.ipv4.conf.all.rp_filter": "2",
    "net.ipv4.neigh.default.gc_thresh3": "16384",
    "kernel.numa_balancing": "0",
    "kernel.pid_max": "4194304",
    "vm.zone_reclaim_mode": "0",
    "vm.swappiness": "10",
    "vm.overcommit_memory": "0",
    "vm.max_map_count": "1048576",
    "vm.min_free_kbytes": "1048576",
    "vm.nr_hugepages": "0",
}

_MOUNTS = """\
sysfs /sys sysfs rw,nosuid,nodev,noexec,relatime 0 0
proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0
tmpfs /dev/shm tmpfs rw,nosuid,nodev,inode64 0 0
cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime 0 0
"""

_FSTAB = """\
/dev/nvme0n1p2 / ext4 errors=remount-ro 0 1
"""

_DF = """\
Mounted on     Filesystem     Type            Used          Avail    Inodes   IUsed
/              /dev/nvme0n1p2 ext4    412316860416  1374389534720 122101760 1612034
/dev/shm       tmpfs          tmpfs        1048576  1099511627776 268435456      31
"""

_LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units     
Max open files            1048576              1048576              files     
Max locked memory         unlimited            unlimited            bytes     
"""  # noqa: W291  # the kernel pads the last column too


class Gpu(NamedTuple):
    pci: Pci
    moment: Moment
    own: Values
    """What else is this GPU's alone."""


class Node(NamedTuple):
    name: str
    sources: Sequence[str]
    release: str
    distribution: str
    vendor: str
    product: str
    cpu: Cpu
    node_kib: Sequence[int]
    """Memory of each NUMA node."""
    driver: Driver
    board: Values
    gpus: Sequence[Gpu]
    pci: Sequence[Pci]
    """Devices besides the GPUs and those of the interfaces."""
    interfaces: Sequence[Interface]
    mounts: str
    """Those of disks and servers."""
    hostname: str = "gpu001"
    distances: Sequence[int] = (10, 21)
    uptime_days: int = 21
    sysctls: dict[str, str] = SYSCTLS


def identifier(what: str, machine: str) -> str:
    """A UUID that stays the same."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{what}.{machine}.brctl"))


def gpus(pci: Sequence[Pci], moments: Sequence[Moment]) -> list[Gpu]:
    return [Gpu(device, moment, {}) for device, moment in zip(pci, moments, strict=True)]


def machine(node: Node) -> dict[str, Any]:
    boot_id = identifier("boot", node.name)
    devices = {one.pci.address: one.pci for one in (*node.interfaces, *node.gpus) if one.pci}
    devices.update((device.address, device) for device in node.pci)
    return {
        "name": node.name,
        "recorded": False,
        "sources": list(node.sources),
        "files": {
            **system_files(node.hostname, node.release, node.distribution, boot_id, node.uptime_days * _DAY_S),
            **product_files(node.vendor, node.product),
            **cpu_files(node.cpu),
            **memory_files(node.cpu, node.node_kib, node.distances),
            "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
            "/etc/security/limits.d/50-memlock.conf": "* soft memlock unlimited\n* hard memlock unlimited\n",
            "/proc/self/limits": _LIMITS,
            **sysctl_files(node.sysctls),
            **distribution_files(node.release, node.cpu),
            **kept_files(node.sysctls),
            **(persistenced_files(bool(node.board.get("persistence_mode"))) if node.gpus else {}),
            "/proc/self/mounts": _MOUNTS + node.mounts,
            "/etc/fstab": _FSTAB,
            "/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
            "/sys/devices/system/edac/mc/mc0/ce_count": "0\n",
            "/sys/devices/system/edac/mc/mc0/ue_count": "0\n",
            **({"/sys/module/nvidia_peermem/refcnt": "0\n"} if with_rdma(node.interfaces) else {}),
            "/proc/self/ns/pid": {"link": "pid:[4026531836]"},
            **pci_files(devices[address] for address in sorted(devices)),
            **{path: entry for interface in node.interfaces for path, entry in interface_files(interface).items()},
            **_bonding_files(node),
            **rdma_files(node.interfaces),
            **network_files(node.interfaces),
            **counters(node.interfaces, _disks(node.mounts), node.cpu.sockets * node.cpu.cores * node.cpu.threads),
            **(sensors() if node.cpu.governor else {}),  # a virtual machine sees none
            **_driver_files(node),
            "/dev/kmsg": _kernel_log(node),
        },
        # Kernels before 6.1 have no /proc/sys/kernel/arch.
        "commands": {
            "uname -m": {"stdout": "x86_64\n"},
            "timedatectl show --property=NTPSynchronized --value": {"stdout": "yes\n"},
            "df --local --block-size=1 --output=target,source,fstype,used,avail,itotal,iused": {"stdout": _DF},
            "lspci -D -vv -d *:*:0604": {"stdout": acs(devices.values())},
            **commands(node.interfaces),
            **network_commands(node.interfaces),
        },
        "space": space(node.mounts),
        "round_trip_s": 0.00011,
        "nvml": _nvml(node),
    }


def _disks(mounts: str) -> list[str]:
    """The block devices that the mounts are on: `md0`, `nvme4n1`."""
    sources = (line.split()[0] for line in mounts.splitlines() if line.startswith("/dev/"))
    return list(dict.fromkeys(re.sub(r"(?<=n1)p\d+$|(?<=^/dev/vda)\d+$", "", one)[len("/dev/") :] for one in sources))


def _nvml(node: Node) -> dict[str, Any]:
    driver = node.driver
    firmware = {} if driver.branch < _FIRST_WITH_GSP else {"gsp_firmware_version": driver.version}
    nvml = {
        "driver_version": driver.version,
        "nvml_version": driver.nvml,
        "cuda_version": driver.cuda,
        "missing_functions": list(driver.missing),
        "defaults": {**node.board, **firmware},
        "gpus": [_gpu(node, index, gpu) for index, gpu in enumerate(node.gpus)],
    }
    return {key: value for key, value in nvml.items() if value}


_FIRST_WITH_GSP = 510


def _gpu(node: Node, index: int, gpu: Gpu) -> Values:
    moment, average = gpu.moment, gpu.moment.power_average or gpu.moment.power_instant
    values = {
        "uuid": f"GPU-{identifier(f'gpu{index}', node.name)}",
        "pci_bus_id": gpu.pci.address,
        "serial": f"13200000000{index + 1:02}" if "board_part_number" in node.board else None,
        "minor_number": index,
        "temperature_celsius": moment.temperature,
        "memory_temperature_celsius": moment.memory_temperature,
        "temperature_margin_celsius": moment.margin,
        "power_average_watts": moment.power_average,
        "power_instant_watts": moment.power_instant,
        "energy_joules": average and round(average * node.uptime_days * _DAY_S),
    }
    return {**{key: value for key, value in values.items() if value is not None}, **gpu.own}


def _bonding_files(node: Node) -> Files:
    bonds = [one.name for one in node.interfaces if one.device_type == "bond"]
    return {"/sys/class/net/bonding_masters": " ".join(bonds) + "\n"} if bonds else {}


def _driver_files(node: Node) -> Files:
    """What the NVIDIA kernel module shows; it goes on doing so for a GPU that is lost."""
    kind = "Open Kernel Module for x86_64" if node.driver.branch >= _FIRST_WITH_GSP else "x86_64 Kernel Module"
    files: Files = {
        "/proc/driver/nvidia/version": f"NVRM version: NVIDIA UNIX {kind}  {node.driver.version}  Release Build\n"
        "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n"
    }
    firmware = node.driver.version if node.driver.branch >= _FIRST_WITH_GSP else "N/A"
    for index, gpu in enumerate(node.gpus):
        files[f"/proc/driver/nvidia/gpus/{gpu.pci.address}/information"] = (
            f"Model: \t\t {node.board['name']}\nIRQ:   \t\t {18 + index}\n"
            f"GPU UUID: \t GPU-{identifier(f'gpu{index}', node.name)}\n"
            f"Video BIOS: \t {node.board['vbios_version']}\nBus Type: \t PCIe\nDMA Size: \t 52 bits\n"
            f"DMA Mask: \t 0xfffffffffffff\nBus Location: \t {gpu.pci.address}\nDevice Minor: \t {index}\n"
            f"GPU Firmware: \t {firmware}\nGPU Excluded:\t No\n"
        )
    return files


def _kernel_log(node: Node) -> str:
    """What a healthy start leaves of interest in /dev/kmsg, a record a line: level, number, microseconds, flags."""
    links = [one for one in node.interfaces if one.pci and one.state == "up"]
    cards = [(one.pci, one.card) for one in links if one.pci]
    lines = [
        f"Linux version {node.release} (buildd@lcy02) #73-Ubuntu SMP",
        f"DMI: {node.vendor} {node.product}",
        "nvidia: loading out-of-tree module taints kernel.",
        *(f"nvidia {gpu.pci.address}: enabling device (0000 -> 0002)" for gpu in node.gpus),
        f"NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  {node.driver.version}  Release Build",
        *(f"mlx5_core {pci.address}: firmware version: {card.firmware}" for pci, card in cards if card),
        *(f"IPv6: ADDRCONF(NETDEV_CHANGE): {one.name}: link becomes ready" for one in links),
    ]
    return "".join(f"6,{1000 + number},{4000000 + 31337 * number},-;{line}\n" for number, line in enumerate(lines))
