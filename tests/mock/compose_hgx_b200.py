"""hgx-b200: 8 x B200 SXM with eight 400 Gb/s RoCE rails.

- GPUs: `nvidia-smi -q -x` of 8 x B200, from NVIDIA/k8s-test-infra, tests/e2e; persistence mode, which is off there, is
  on here. NVLinks: NVIDIA's HGX B200 data sheet.
- Host: a Supermicro server of that kind, with CPUs and memory as in NVIDIA's DGX B200 user guide; the way its PCI
  devices are connected is that of the recorded 8 x H100 server, with other addresses. NVLink switches of this
  generation are no PCI devices of their own.
"""

from compose_boards import B200, B200_DRIVER, B200_MOMENTS
from compose_hgx import NDR, Baseboard, management, roce_rail, screen
from compose_node import Node, gpus
from compose_parts import LOOPBACK, Cpu

RELEASE = "6.8.0-60-generic"
BOARD = Baseboard("0x2901", ("17", "2a", "3d", "5b", "98", "ab", "be", "d7"))

MOUNTS = """\
/dev/nvme8n1p2 / ext4 rw,relatime 0 0
/dev/nvme8n1p1 /boot/efi vfat rw,relatime,fmask=0022,dmask=0022 0 0
/dev/md0 /raid xfs rw,noatime,attr2,inode64 0 0
"""


def node() -> Node:
    return Node(
        name="hgx-b200",
        sources=("NVIDIA/k8s-test-infra: nvidia-smi of 8 x B200", "NVIDIA DGX B200 user guide"),
        release=RELEASE,
        distribution="Ubuntu 24.04.2 LTS",
        vendor="Supermicro",
        product="SYS-A21GE-NBRT",
        cpu=Cpu("INTEL(R) XEON(R) PLATINUM 8570", 2, 56),
        node_kib=(1056475136, 1056756736),
        driver=B200_DRIVER,
        board=B200,
        gpus=gpus(BOARD.gpus(), B200_MOMENTS),
        pci=(screen("0x1a03", "0x2000", "ast"), *BOARD.drives()),
        interfaces=(
            LOOPBACK,
            *management(RELEASE, "ixgbe", ("0x8086", "0x1563"), "0x80001d4b, 1.3429.0"),
            *(roce_rail(number, pci, NDR, 400000) for number, pci in enumerate(BOARD.rails())),
        ),
        mounts=MOUNTS,
    )
