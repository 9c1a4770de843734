"""hgx-h200: 8 x H200 SXM with eight 400 Gb/s InfiniBand rails.

- GPUs: `nvidia-smi -q` of one H200, from utkuozdemir/nvidia_gpu_exporter, internal/captures; eight of it.
- Rails: as in dgx-h100, and InfiniBand, as they were recorded.
- Host: a Supermicro server of that kind, with Intel's figures for the Xeon Platinum 8558; the way its PCI devices are
  connected is that of the recorded 8 x H100 server, with other addresses.
"""

from compose_boards import H200, H200_DRIVER, H200_MOMENT
from compose_hgx import NDR, Baseboard, infiniband_rail, management, nvswitches, screen
from compose_node import Node, gpus
from compose_parts import LOOPBACK, Cpu

RELEASE = "6.8.0-60-generic"
BOARD = Baseboard("0x2335", ("16", "27", "38", "56", "97", "a8", "b9", "d6"))

MOUNTS = """\
/dev/nvme8n1p2 / ext4 rw,relatime 0 0
/dev/nvme8n1p1 /boot/efi vfat rw,relatime,fmask=0022,dmask=0022 0 0
/dev/md0 /scratch xfs rw,noatime,attr2,inode64 0 0
10.9.0.20@o2ib:/lustre /lustre lustre rw,flock,lazystatfs 0 0
"""


def node() -> Node:
    rails = [infiniband_rail(number, pci, NDR, 400000) for number, pci in enumerate(BOARD.rails())]
    return Node(
        name="hgx-h200",
        sources=(
            "utkuozdemir/nvidia_gpu_exporter: nvidia-smi of one H200",
            "leptonai/gpud: InfiniBand of an 8 x H100 node",
            "Intel Xeon Platinum 8558 product page",
        ),
        release=RELEASE,
        distribution="Ubuntu 24.04.2 LTS",
        vendor="Supermicro",
        product="SYS-821GE-TNHR",
        cpu=Cpu("INTEL(R) XEON(R) PLATINUM 8558", 2, 48),
        node_kib=(1056488448, 1056757760),
        driver=H200_DRIVER,
        board=H200,
        gpus=gpus(BOARD.gpus(), [H200_MOMENT] * 8),
        pci=(screen("0x1a03", "0x2000", "ast"), *BOARD.drives(), *nvswitches("0x22a3", 4)),
        interfaces=(
            LOOPBACK,
            *management(RELEASE, "ixgbe", ("0x8086", "0x1563"), "0x80001d4b, 1.3429.0"),
            *rails,
        ),
        mounts=MOUNTS,
    )
