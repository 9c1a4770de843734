"""cpu-only: a server with two sockets and no GPU, as its distribution leaves it. All of it is our own.

The CPU's figures are Intel's for the Xeon Gold 6430; the settings are the defaults of Linux 6.8 and Ubuntu 24.04.
"""

from typing import Any

from compose_counters import counters, space
from compose_network import network_commands, network_files
from compose_parts import (
    LOOPBACK,
    Cpu,
    Interface,
    Pci,
    commands,
    cpu_files,
    driver_info,
    interface_files,
    memory_files,
    pci_files,
    product_files,
    sysctl_files,
    system_files,
)
from compose_tune import distribution_files

RELEASE = "6.8.0-45-generic"
BOOT_ID = "6f1b5c1e-0d0b-4b6c-9a43-2f6f1f0a7c11"
FIRMWARE = "229.0.154.0/pkg 229.1.123.0"

CPU = Cpu("Intel(R) Xeon(R) Gold 6430", 2, 32, governor="schedutil")

SYSCTLS = {
    "net.core.rmem_max": "212992",
    "net.core.wmem_max": "212992",
    "net.core.netdev_max_backlog": "1000",
    "net.core.default_qdisc": "fq_codel",
    "net.ipv4.tcp_rmem": "4096\t131072\t6291456",
    "net.ipv4.tcp_wmem": "4096\t16384\t4194304",
    "net.ipv4.tcp_congestion_control": "cubic",
    "net.ipv4.tcp_mtu_probing": "0",
    "net.ipv4.conf.all.arp_ignore": "0",
    "net.ipv4.conf.all.arp_announce": "0",
    "net.ipv4.conf.all.rp_filter": "2",
    "net.ipv4.neigh.default.gc_thresh3": "1024",
    "kernel.arch": "x86_64",
    "kernel.numa_balancing": "1",
    "kernel.pid_max": "4194304",
    "vm.zone_reclaim_mode": "0",
    "vm.swappiness": "60",
    "vm.overcommit_memory": "0",
    "vm.max_map_count": "1048576",
    "vm.min_free_kbytes": "90112",
    "vm.nr_hugepages": "0",
}

MOUNTS = """\
sysfs /sys sysfs rw,nosuid,nodev,noexec,relatime 0 0
proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0
/dev/nvme0n1p2 / ext4 rw,relatime 0 0
tmpfs /dev/shm tmpfs rw,nosuid,nodev,inode64 0 0
/dev/nvme0n1p1 /boot/efi vfat rw,relatime,fmask=0022,dmask=0022 0 0
"""

SCREEN = Pci(("pci0000:00", "0000:00:1c.0", "0000:02:00.0", "0000:03:00.0"), "0x030000", "0x1a03", "0x2000", "ast", 0)
DRIVE = Pci(("pci0000:64", "0000:64:01.0", "0000:65:00.0"), "0x010802", "0x144d", "0xa80a", "nvme", 0, 4, 4, 4)
PORTS = tuple(
    Pci(("pci0000:16", "0000:16:02.0", f"0000:17:00.{port}"), "0x020000", "0x14e4", "0x16d7", "bnxt_en", 0, 4, 8, 8)
    for port in (0, 1)
)


def machine() -> dict[str, Any]:
    interfaces = [LOOPBACK, _port(0), _port(1)]
    return {
        "name": "cpu-only",
        "recorded": False,
        "sources": ["Intel Xeon Gold 6430 product page", "defaults of Linux 6.8 and Ubuntu 24.04"],
        "files": {
            **system_files("cpu001", RELEASE, "Ubuntu 24.04.1 LTS", BOOT_ID, 3 * 86400.0),
            **product_files("Supermicro", "SYS-221H-TNR"),
            **cpu_files(CPU),
            **memory_files(CPU, (263851008, 264179712)),
            "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
            **sysctl_files(SYSCTLS),
            **distribution_files(RELEASE, CPU),
            "/proc/self/mounts": MOUNTS,
            "/proc/self/ns/pid": {"link": "pid:[4026531836]"},
            **pci_files((SCREEN, DRIVE, *PORTS)),
            **{path: entry for interface in interfaces for path, entry in interface_files(interface).items()},
            **network_files(interfaces),
            **counters(interfaces, ["nvme0n1"], CPU.sockets * CPU.cores * CPU.threads),
        },
        "commands": {**commands(interfaces), **network_commands(interfaces)},
        "space": space(MOUNTS),
        "round_trip_s": 0.00011,
        "nvml": None,
    }


def _port(number: int) -> Interface:
    """The second one has no cable and is off."""
    name, mac, state = f"ens2f{number}np{number}", f"02:b0:7d:01:00:0{number}", "down" if number else "up"
    info = driver_info("bnxt_en", RELEASE, FIRMWARE, PORTS[number])
    return Interface(name, 2 + number, mac, 1500, state, 25000, PORTS[number], info)
