"""l40s-pcie: 4 x L40S, boards without NVLink in PCIe slots, and two ports of 100 Gb/s RoCE.

- GPUs: `nvidia-smi -q -x` of one L40S, from NVIDIA/k8s-test-infra, tests/e2e; four of it, with the 8 lanes that it had.
- Host: a Dell server of that kind, with Intel's figures for the Xeon Gold 6448Y; PCI addresses are our own.
"""

from compose_boards import L40S, L40S_DRIVER, L40S_MOMENT
from compose_hgx import drive_pci, gpu_pci, management, mlx5_pci, roce_rail, screen
from compose_node import Node, gpus
from compose_parts import LOOPBACK, Card, Cpu

RELEASE = "6.8.0-71-generic"
CARD = Card("22.41.1000", "MT_0000000359", "MT4125", "100 Gb/sec (4X EDR)")

MOUNTS = """\
/dev/nvme0n1p2 / ext4 rw,relatime 0 0
/dev/nvme0n1p1 /boot/efi vfat rw,relatime,fmask=0022,dmask=0022 0 0
"""


def _slot(root: str, bus: str) -> tuple[str, ...]:
    """Straight under a root port."""
    return (f"pci0000:{root}", f"0000:{root}:01.0", f"0000:{bus}:00.0")


def node() -> Node:
    slots = (("30", "31", 0), ("48", "49", 0), ("b0", "b1", 1), ("c8", "c9", 1))
    nics = (("15", "16", 0), ("97", "98", 1))
    ports = [mlx5_pci(_slot(root, bus), "0x101d", numa_node, 4) for root, bus, numa_node in nics]
    return Node(
        name="l40s-pcie",
        sources=("NVIDIA/k8s-test-infra: nvidia-smi of one L40S", "Intel Xeon Gold 6448Y product page"),
        release=RELEASE,
        distribution="Ubuntu 24.04.3 LTS",
        vendor="Dell Inc.",
        product="PowerEdge R760xa",
        cpu=Cpu("Intel(R) Xeon(R) Gold 6448Y", 2, 32),
        node_kib=(263851008, 264179712),
        driver=L40S_DRIVER,
        board=L40S,
        gpus=gpus([gpu_pci(_slot(*slot), "0x26b9", node, 4, 8) for *slot, node in slots], [L40S_MOMENT] * 4),
        pci=(screen("0x102b", "0x0536", "mgag200"), drive_pci(_slot("64", "65"), 0, "0x144d", "0xa80a")),
        interfaces=(
            LOOPBACK,
            *management(RELEASE, "tg3", ("0x14e4", "0x165f"), "FFV22.71.3 bc 5720-v1.39"),
            *(roce_rail(number, pci, CARD, 100000) for number, pci in enumerate(ports)),
        ),
        mounts=MOUNTS,
    )
