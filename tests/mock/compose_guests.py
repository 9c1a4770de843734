"""Virtual machines: h100-mig, vgpu-guest and sixteen-gpus. Their PCI bus is flat and has no PCIe links to show, their
frequencies are the host's business, and their network is virtio's or the cloud's.

- h100-mig: `nvidia-smi -q` of one H100 with four MIG devices, idle, from utkuozdemir/nvidia_gpu_exporter,
  internal/captures, with that machine's kernel, distribution and CPUs in number.
- sixteen-gpus: shape, CPUs and memory of Google's a2-megagpu-16g machine type; each GPU is the A100-SXM4-40GB of
  NVIDIA/k8s-test-infra, tests/e2e.
- vgpu-guest: composed from NVIDIA's vGPU documentation.
"""

from typing import Any

from compose_boards import (
    A100,
    A100_DRIVER,
    A100_MOMENT,
    H100_MIG,
    H100_MIG_DEVICES,
    H100_MIG_DRIVER,
    H100_MIG_MOMENT,
    L40S_VGPU,
    L40S_VGPU_DRIVER,
    L40S_VGPU_MOMENT,
)
from compose_node import SYSCTLS, Gpu, Node, gpus, identifier
from compose_parts import LOOPBACK, MIB, Cpu, Interface, Pci, driver_info

DISK = "/dev/vda1 / ext4 rw,relatime 0 0\n"


def _pci(slot: int, pci_class: str, vendor: str, device: str, driver: str, numa_node: int = -1) -> Pci:
    return Pci(("pci0000:00", f"0000:00:{slot:02x}.0"), pci_class, vendor, device, driver, numa_node)


def _network(name: str, pci: Pci, speed: int, mtu: int = 1500) -> tuple[Interface, Interface]:
    info = driver_info(pci.driver, "1.0.0", "", pci)
    return LOOPBACK, Interface(name, 2, "02:b0:7d:00:03:00", mtu, "up", speed, pci, info)


def h100_mig() -> Node:
    name = "h100-mig"
    device = _pci(9, "0x030200", "0x10de", "0x2330", "nvidia")
    return Node(
        name=name,
        sources=("utkuozdemir/nvidia_gpu_exporter: nvidia-smi of one H100 in MIG mode",),
        release="5.15.0-185-generic",
        distribution="Ubuntu 22.04.5 LTS",
        vendor="QEMU",
        product="Standard PC (i440FX + PIIX, 1996)",
        cpu=Cpu("Intel Xeon Processor (SapphireRapids)", 1, 20, 1, governor=""),
        node_kib=(247463936,),
        driver=H100_MIG_DRIVER,
        board=H100_MIG,
        gpus=(Gpu(device, H100_MIG_MOMENT, {"mig_devices": [_mig_device(name, *one) for one in H100_MIG_DEVICES]}),),
        pci=(_pci(2, "0x030000", "0x1013", "0x00b8", "cirrus"),),
        interfaces=_network("ens3", _pci(3, "0x020000", "0x1af4", "0x1000", "virtio_net"), 0),
        mounts=DISK,
    )


def _mig_device(
    machine: str, instance: int, profile: str, memory: int, used: int, bar1: int, processors: int
) -> dict[str, Any]:
    return {
        "uuid": f"MIG-{identifier(f'mig{instance}', machine)}",
        "gpu_instance_id": instance,
        "compute_instance_id": 0,
        "profile": profile,
        "memory_total_bytes": memory * MIB,
        "memory_used_bytes": used * MIB,
        "memory_reserved_bytes": 0,
        "bar1_total_bytes": bar1 * MIB,
        "bar1_used_bytes": 0,
        "multiprocessors": processors,
        "gpm_gpu_percent": 0,
        "gpm_memory_percent": 0,
    }


def vgpu_guest() -> Node:
    return Node(
        name="vgpu-guest",
        sources=("NVIDIA vGPU documentation",),
        release="6.8.0-60-generic",
        distribution="Ubuntu 24.04.2 LTS",
        vendor="VMware, Inc.",
        product="VMware20,1",
        cpu=Cpu("Intel(R) Xeon(R) Gold 6448Y", 1, 16, 1, governor=""),
        node_kib=(131841024,),
        driver=L40S_VGPU_DRIVER,
        board=L40S_VGPU,
        gpus=(Gpu(_pci(5, "0x030000", "0x10de", "0x26b9", "nvidia"), L40S_VGPU_MOMENT, {}),),
        pci=(_pci(15, "0x030000", "0x15ad", "0x0405", "vmwgfx"),),
        interfaces=_network("ens192", _pci(11, "0x020000", "0x15ad", "0x07b0", "vmxnet3"), 10000),
        mounts=DISK,
        hostname="vm001",
        uptime_days=5,
    )


def sixteen_gpus() -> Node:
    boards = [_pci(4 + number, "0x030200", "0x10de", "0x20b0", "nvidia", number // 8) for number in range(16)]
    return Node(
        name="sixteen-gpus",
        sources=("Google Compute Engine machine types", "NVIDIA/k8s-test-infra: nvidia-smi of one A100-SXM4-40GB"),
        release="6.8.0-1032-gcp",
        distribution="Ubuntu 24.04.2 LTS",
        vendor="Google",
        product="Google Compute Engine",
        cpu=Cpu("Intel(R) Xeon(R) CPU @ 2.20GHz", 2, 24, governor=""),
        node_kib=(701562880, 701824000),
        driver=A100_DRIVER,
        board={**A100, "virtualization_mode": "pass-through"},
        gpus=gpus(boards, [A100_MOMENT] * 16),
        pci=(),
        interfaces=_network("ens22", _pci(22, "0x020000", "0x1ae0", "0x0042", "gve"), 100000, 8896),
        mounts=DISK,
        sysctls=SYSCTLS,
    )
