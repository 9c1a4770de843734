"""dgx-h100: 8 x H100 SXM with eight 400 Gb/s RoCE rails.

- PCI: addresses, bridges, NUMA nodes, links and drivers of an 8 x H100 server, from `lspci -vvv` in leptonai/gpud,
  pkg/pci/testdata. Vendor and device ids are those of pci.ids for the names shown there.
- Rails: rate, firmware, board id and type of the eight ConnectX-7 of an 8 x H100 node, from leptonai/gpud,
  components/accelerator/nvidia/infiniband/class/testdata/sys-class-infiniband-h100.0. There they are InfiniBand;
  here they are RoCE, with interfaces, addresses and GIDs of our own.
- GPUs: `nvidia-smi -q -x` of 8 x H100 80GB HBM3, from NVIDIA/k8s-test-infra, tests/e2e. UUIDs, serials and counters
  are our own. NVLinks: NVIDIA H100 whitepaper.
- Host: CPUs, cores and memory of NVIDIA's DGX H100 user guide; Ubuntu 22.04, as DGX OS 6.
- Interface names, addresses, mounts, uptime and the settings of a well-kept node are our own.
"""

import uuid
from typing import Any

from compose_parts import (
    LOOPBACK,
    MIB,
    Files,
    Interface,
    Pci,
    cpu_files,
    driver_info,
    ethtool,
    gids,
    interface_files,
    memory_files,
    pci_files,
    product_files,
    rdma_files,
    sysctl_files,
    system_files,
)

DRIVER = "580.105.08"

MODULES = ("15", "37", "48", "59", "97", "b7", "c7", "d7")
"""Bus of the root port over the PCIe switch of each GPU; the first four are on socket 0. Each switch has a drive at
its port 0, the GPU at 1, its rail at 2; two of them have a card for storage at 3."""
STORAGE_MODULES = ("15", "97")

RAIL = ("28.41.1000", "MT_0000000838", "MT4129", "400 Gb/sec (4X NDR)")
STORAGE = ("22.41.1000", "MT_0000000359", "MT4125", "100 Gb/sec (4X EDR)")
MLX5_VERSION = "24.10-1.1.4"

# Of each GPU, in the order of their addresses.
TEMPERATURES = (29, 30, 29, 32, 32, 29, 31, 29)
MEMORY_TEMPERATURES = (37, 39, 38, 39, 37, 37, 37, 38)
POWERS_AVERAGE = (68.57, 67.01, 67.45, 71.37, 66.66, 68.11, 69.80, 68.07)
POWERS_INSTANT = (68.92, 67.16, 67.74, 71.77, 66.34, 68.25, 70.01, 68.18)

GPU = {
    "name": "NVIDIA H100 80GB HBM3",
    "pci_device_id": "233010de",
    "pci_subsystem_id": "16c110de",
    "vbios_version": "96.00.99.00.01",
    "board_part_number": "692-2G520-0200-000",
    "gsp_firmware_version": DRIVER,
    "compute_capability": [9, 0],
    "display_active": False,
    "display_mode": False,
    "persistence_mode": True,
    "compute_mode": 0,
    "mig_enabled": False,
    "mig_pending": False,
    "max_mig_devices": 7,
    "ecc_enabled": True,
    "ecc_pending": True,
    "memory_total_bytes": 81559 * MIB,
    "memory_reserved_bytes": 480 * MIB,
    "memory_used_bytes": 0,
    "bar1_total_bytes": 131072 * MIB,
    "bar1_used_bytes": MIB,
    "gpu_utilization_percent": 0,
    "memory_utilization_percent": 0,
    "encoder_utilization_percent": 0,
    "decoder_utilization_percent": 0,
    "performance_state": 0,
    "clocks_event_reasons": ["gpu_idle"],
    "graphics_clock_mhz": 345,
    "sm_clock_mhz": 345,
    "memory_clock_mhz": 2619,
    "video_clock_mhz": 765,
    "max_graphics_clock_mhz": 1980,
    "max_sm_clock_mhz": 1980,
    "max_memory_clock_mhz": 2619,
    "max_video_clock_mhz": 1545,
    "power_limit_watts": 700.0,
    "enforced_power_limit_watts": 700.0,
    "default_power_limit_watts": 700.0,
    "min_power_limit_watts": 200.0,
    "max_power_limit_watts": 700.0,
    "pcie_generation": 5,
    "pcie_width": 16,
    "max_pcie_generation": 5,
    "max_pcie_width": 16,
    "pcie_replay_counter": 0,
    "pcie_tx_kbytes_per_s": 502,
    "pcie_rx_kbytes_per_s": 578,
    "nvlinks": 18,
    "nvlink_version": "4.0",
    "ecc_volatile_corrected": 0,
    "ecc_volatile_uncorrected": 0,
    "ecc_aggregate_corrected": 0,
    "ecc_aggregate_uncorrected": 0,
    "remapped_rows_correctable": 0,
    "remapped_rows_uncorrectable": 0,
    "remap_pending": False,
    "remap_failure": False,
    "recovery_action": "none",
    "processes": [],
}

UPTIME_S = 21 * 86400.0

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

MOUNTS = """\
sysfs /sys sysfs rw,nosuid,nodev,noexec,relatime 0 0
proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0
udev /dev devtmpfs rw,nosuid,relatime,size=1056694784k,nr_inodes=264173696,mode=755,inode64 0 0
/dev/md0 / ext4 rw,relatime,stripe=256 0 0
tmpfs /dev/shm tmpfs rw,nosuid,nodev,inode64 0 0
cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime 0 0
/dev/nvme4n1p1 /boot/efi vfat rw,relatime,fmask=0077,dmask=0077,codepage=437,iocharset=iso8859-1 0 0
/dev/md1 /raid ext4 rw,relatime,stripe=1024 0 0
10.9.100.10:/data /data nfs4 rw,noatime,vers=4.2,rsize=1048576,wsize=1048576,hard,proto=rdma,port=20049 0 0
"""


def machine() -> dict[str, Any]:
    pci, interfaces = _pci(), _interfaces()
    return {
        "name": "dgx-h100",
        "recorded": False,
        "sources": [
            "leptonai/gpud: lspci and InfiniBand of 8 x H100 nodes",
            "NVIDIA/k8s-test-infra: nvidia-smi of 8 x H100 80GB HBM3",
            "NVIDIA DGX H100 user guide",
        ],
        "files": {
            **system_files("gpu001", "5.15.0-1063-nvidia", "Ubuntu 22.04.5 LTS", _id("boot"), UPTIME_S),
            **product_files("NVIDIA", "DGXH100"),
            **cpu_files("Intel(R) Xeon(R) Platinum 8480C", 2, 56, "performance"),
            # 2 TiB are fitted; the kernel keeps 1.6 % of them for its own tables.
            **memory_files((1056567296, 1056806912), 56),
            "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
            **sysctl_files(SYSCTLS),
            "/proc/self/mounts": MOUNTS,
            **pci_files(pci),
            "/sys/class/net/bonding_masters": "bond0\n",
            **{path: entry for interface in interfaces for path, entry in interface_files(interface).items()},
            **_rdma({interface.name: interface for interface in interfaces}),
            **_driver_files(),
        },
        # This kernel is too old for /proc/sys/kernel/arch.
        "commands": {"uname -m": {"stdout": "x86_64\n"}, **ethtool(interfaces)},
        "nvml": {
            "driver_version": DRIVER,
            "nvml_version": f"13.{DRIVER}",
            "cuda_version": 13000,
            "defaults": GPU,
            "gpus": [_gpu(index) for index in range(len(MODULES))],
        },
    }


def _id(what: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{what}.dgx-h100.brctl"))


def _at_switch(module: str, port: int, function: int = 0) -> tuple[str, ...]:
    """The way from the host bridge to what stands at a port of a GPU's PCIe switch."""
    bus = int(module, 16)
    switch = (f"0000:{bus:02x}:01.0", f"0000:{bus + 1:02x}:00.0", f"0000:{bus + 2:02x}:0{port}.0")
    return (f"pci0000:{module}", *switch, f"0000:{bus + 3 + port:02x}:00.{function}")


def _numa_node(module: str) -> int:
    return MODULES.index(module) // 4


def _gpu_pci(module: str) -> Pci:
    return Pci(_at_switch(module, 1), "0x030200", "0x10de", "0x2330", "nvidia", _numa_node(module), 5, 16, 16)


def _rail_pci(module: str) -> Pci:
    return Pci(_at_switch(module, 2), "0x020000", "0x15b3", "0x1021", "mlx5_core", _numa_node(module), 5, 16, 16)


def _storage_pci(module: str, function: int) -> Pci:
    where = _at_switch(module, 3, function)
    return Pci(where, "0x020000", "0x15b3", "0x101d", "mlx5_core", _numa_node(module), 4, 16, 16)


def _drive_pci(module: str) -> Pci:
    vendor, device = ("0x1344", "0x51c3") if module in ("15", "37") else ("0x8086", "0x0b60")
    return Pci(_at_switch(module, 0), "0x010802", vendor, device, "nvme", _numa_node(module), 4, 4, 4)


def _nvswitch_pci(port: int) -> Pci:
    """Two lanes are all that an NVSwitch has on PCI Express: they only manage it."""
    where = ("pci0000:80", "0000:80:01.0", "0000:81:00.0", f"0000:82:0{port}.0", f"0000:{0x83 + port:02x}:00.0")
    return Pci(where, "0x068000", "0x10de", "0x22a3", "nvidia-nvswitch", 1, 4, 2, 2)


def _management_pci(function: int) -> Pci:
    where = ("pci0000:00", "0000:00:0c.0", f"0000:01:00.{function}")
    return Pci(where, "0x020000", "0x14e4", "0x165f", "tg3", 0, 2, 1, 2)


def _pci() -> list[Pci]:
    screen = ("pci0000:00", "0000:00:0e.0", "0000:02:00.0", "0000:03:00.0")
    return [
        *(_management_pci(function) for function in (0, 1)),
        Pci(screen, "0x030000", "0x102b", "0x0536", "mgag200", 0),
        *(make(module) for module in MODULES for make in (_drive_pci, _gpu_pci, _rail_pci)),
        *(_storage_pci(module, function) for module in STORAGE_MODULES for function in (0, 1)),
        *(_nvswitch_pci(port) for port in range(4)),
    ]


def _interfaces() -> list[Interface]:
    bond = {"mac": "02:b0:7d:00:02:00", "mtu": 9000}
    return [
        LOOPBACK,
        *(_management(function) for function in (0, 1)),
        *(_rail(number) for number in range(len(MODULES))),
        *(_storage(module, function) for module in STORAGE_MODULES for function in (0, 1)),
        Interface("bond0", 20, speed=200000, device_type="bond", lower=("enp27s0f0np0", "enp157s0f0np0"), **bond),
        Interface("bond0.100", 21, speed=200000, device_type="vlan", lower=("bond0",), **bond),
    ]


def _management(function: int) -> Interface:
    """The second port has no cable and is off."""
    pci, state = _management_pci(function), "down" if function else "up"
    info = driver_info("tg3", "5.15.0-1063-nvidia", "FFV22.71.3 bc 5720-v1.39", pci)
    return Interface(f"eno{function + 1}", 2 + function, f"02:b0:7d:00:00:0{function}", 1500, state, 1000, pci, info)


def _rail(number: int) -> Interface:
    pci, mac = _rail_pci(MODULES[number]), f"02:b0:7d:00:01:0{number}"
    info = driver_info("mlx5_core", MLX5_VERSION, f"{RAIL[0]} ({RAIL[1]})", pci)
    return Interface(f"ens{number + 1}np0", 4 + number, mac, 9000, "up", 400000, pci, info)


def _storage(module: str, function: int) -> Interface:
    """The first ports make the bond, and have its address; the second ones have no cable and are off."""
    pci, number = _storage_pci(module, function), 2 * STORAGE_MODULES.index(module) + function
    name = f"enp{int(pci.address[5:7], 16)}s0f{function}np{function}"
    info = driver_info("mlx5_core", MLX5_VERSION, f"{STORAGE[0]} ({STORAGE[1]})", pci)
    if function:
        return Interface(name, 12 + number, f"02:b0:7d:00:02:0{number}", 1500, "down", 0, pci, info)
    return Interface(name, 12 + number, "02:b0:7d:00:02:00", 9000, "up", 100000, pci, info, master="bond0")


def _rdma(interfaces: dict[str, Interface]) -> Files:
    """Numbered as the kernel finds them, by address."""
    found = sorted((nic for nic in interfaces.values() if nic.driver_info.startswith("driver: mlx5")), key=_address)
    files: Files = {}
    for number, nic in enumerate(found):
        if nic.name.startswith("ens"):
            rail = int(nic.name[3])
            table = gids(nic.name, nic.mac, (nic.name, f"10.0.{rail}.1"))
        elif nic.master:  # its GIDs are the bond's, as the bond has the addresses
            table = gids("bond0", nic.mac, ("bond0", "10.9.0.1"), ("bond0.100", "10.9.100.1"))
        else:
            table = []
        files |= rdma_files(f"mlx5_{number}", nic, table, *(RAIL if nic.name.startswith("ens") else STORAGE))
    return files


def _address(interface: Interface) -> str:
    return interface.pci.address if interface.pci else ""


def _gpu(index: int) -> dict[str, Any]:
    return {
        "uuid": f"GPU-{_id(f'gpu{index}')}",
        "pci_bus_id": _gpu_pci(MODULES[index]).address,
        "serial": f"13200000000{index + 1:02}",
        "minor_number": index,
        "temperature_celsius": TEMPERATURES[index],
        "memory_temperature_celsius": MEMORY_TEMPERATURES[index],
        "power_average_watts": POWERS_AVERAGE[index],
        "power_instant_watts": POWERS_INSTANT[index],
        "energy_joules": round(POWERS_AVERAGE[index] * UPTIME_S),
    }


def _driver_files() -> Files:
    """What the NVIDIA kernel module shows; it goes on doing so for a GPU that is lost."""
    files: Files = {
        "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  "
        f"{DRIVER}  Release Build\nGCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n"
    }
    for index, module in enumerate(MODULES):
        address = _gpu_pci(module).address
        files[f"/proc/driver/nvidia/gpus/{address}/information"] = (
            f"Model: \t\t {GPU['name']}\nIRQ:   \t\t {18 + index}\nGPU UUID: \t GPU-{_id(f'gpu{index}')}\n"
            f"Video BIOS: \t {GPU['vbios_version']}\nBus Type: \t PCIe\nDMA Size: \t 52 bits\n"
            f"DMA Mask: \t 0xfffffffffffff\nBus Location: \t {address}\nDevice Minor: \t {index}\n"
            f"GPU Firmware: \t {DRIVER}\nGPU Excluded:\t No\n"
        )
    return files
