"""dgx-a100: 8 x A100 SXM 40GB with eight 200 Gb/s InfiniBand rails, and four NUMA nodes a socket.

- GPUs: `nvidia-smi -q -x` of one A100-SXM4-40GB, from NVIDIA/k8s-test-infra, tests/e2e; eight of it. NVLinks:
  `nvidia-smi nvlink` of 8 x A100 in leptonai/gpud, components/accelerator/nvidia/fabric-manager/testdata.
- Host: CPUs, memory, NUMA nodes, and the addresses of GPUs, NVSwitches and NICs of NVIDIA's DGX A100 user guide, where
  GPUs and NICs are two PCIe switches apart; the addresses of the switches are our own.
"""

from compose_boards import A100, A100_DRIVER, A100_MOMENT
from compose_hgx import HDR, drive_pci, gpu_pci, infiniband_rail, management, mlx5_pci, screen
from compose_node import Node, gpus
from compose_parts import LOOPBACK, Cpu, Pci

RELEASE = "5.4.0-174-generic"

QUARTERS = (
    # root bus, NUMA node, GPUs, NICs, drive
    ("00", 3, ("07", "0f"), ("0c", "12"), "03"),
    ("40", 1, ("47", "4e"), ("4b", "54"), "43"),
    ("80", 7, ("87", "90"), ("8d", "94"), "83"),
    ("b0", 5, ("b7", "bd"), ("ba", "cc"), "b3"),
)
SWITCHES = ("c4", "c5", "c6", "c7", "c8", "c9")

MOUNTS = """\
/dev/md0 / ext4 rw,relatime,stripe=256 0 0
/dev/nvme4n1p1 /boot/efi vfat rw,relatime,fmask=0077,dmask=0077,codepage=437,iocharset=iso8859-1 0 0
/dev/md1 /raid ext4 rw,relatime,stripe=512 0 0
"""


def node() -> Node:
    rails = [_place(root, 1 + number, nic) for root, _, _, nics, _ in QUARTERS for number, nic in enumerate(nics)]
    boards = [_place(root, 3 + number, gpu) for root, _, both, _, _ in QUARTERS for number, gpu in enumerate(both)]
    numa_nodes = [numa_node for _, numa_node, *_ in QUARTERS for _ in (0, 1)]
    nics = [mlx5_pci(place, "0x101b", numa_node, 4) for place, numa_node in zip(rails, numa_nodes, strict=True)]
    cards = [gpu_pci(place, "0x20b0", numa_node, 4) for place, numa_node in zip(boards, numa_nodes, strict=True)]
    return Node(
        name="dgx-a100",
        sources=(
            "NVIDIA/k8s-test-infra: nvidia-smi of one A100-SXM4-40GB",
            "leptonai/gpud: NVLinks of 8 x A100-SXM4-80GB",
            "NVIDIA DGX A100 user guide",
        ),
        release=RELEASE,
        distribution="Ubuntu 20.04.6 LTS",
        vendor="NVIDIA",
        product="DGXA100 920-23687-2530-000",
        cpu=Cpu("AMD EPYC 7742 64-Core Processor", 2, 64, vendor="AuthenticAMD"),
        # 1 TiB is fitted.
        node_kib=(131831808, *[132110336] * 3, 132098560, *[132110336] * 3),
        distances=(10, 12, 32),
        driver=A100_DRIVER,
        board=A100,
        gpus=gpus(cards, [A100_MOMENT] * 8),
        pci=(
            screen("0x1a03", "0x2000", "ast", "60", ("61", "62")),
            *(
                drive_pci((*_switch(root, 5), f"0000:{drive}:00.0"), numa_node, "0x144d", "0xa824")
                for root, numa_node, _, _, drive in QUARTERS
            ),
            *(_nvswitch(bus, number) for number, bus in enumerate(SWITCHES)),
        ),
        interfaces=(
            LOOPBACK,
            *management(RELEASE, "igb", ("0x8086", "0x1533"), "3.25, 0x80000681", "e0", "e2"),
            *(infiniband_rail(number, pci, HDR, 200000) for number, pci in enumerate(nics)),
        ),
        mounts=MOUNTS,
    )


def _switch(root: str, port: int) -> tuple[str, ...]:
    """From the host bridge to a port of the quarter's switch."""
    bus = int(root, 16)
    return (f"pci0000:{root}", f"0000:{root}:01.1", f"0000:{bus + 1:02x}:00.0", f"0000:{bus + 2:02x}:{port:02x}.0")


def _place(root: str, port: int, bus: str) -> tuple[str, ...]:
    """Under a switch of its own, at a port of the quarter's."""
    number = int(bus, 16)
    return (*_switch(root, port), f"0000:{number - 2:02x}:00.0", f"0000:{number - 1:02x}:00.0", f"0000:{bus}:00.0")


def _nvswitch(bus: str, number: int) -> Pci:
    where = (*_switch("b0", 14), "0000:be:00.0", f"0000:bf:0{number}.0", f"0000:{bus}:00.0")
    return Pci(where, "0x068000", "0x10de", "0x1af1", "nvidia-nvswitch", 5, 4, 2, 2)
