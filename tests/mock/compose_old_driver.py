"""old-driver: 4 x V100 under a driver of 2020, whose library lacks what NVML has gained since, and whose kernel of 2020
has its old ways too.

All of it is our own: the board from NVIDIA's V100 data sheet, the server in the manner of those years, the functions by
comparing nvidia-ml-py 11.450, which was made for that driver, with the present one.
"""

from compose_boards import V100, V100_DRIVER, V100_MOMENT
from compose_hgx import gpu_pci, infiniband_rail, management, mlx5_pci, screen
from compose_node import Node, gpus
from compose_parts import LOOPBACK, Card, Cpu

EDR = Card("16.28.2006", "MT_0000000008", "MT4119", "100 Gb/sec (4X EDR)")
RELEASE = "5.4.0-54-generic"

MOUNTS = """\
/dev/sda2 / ext4 rw,relatime 0 0
/dev/sda1 /boot/efi vfat rw,relatime,fmask=0077,dmask=0077 0 0
10.9.0.30:/home /home nfs rw,relatime,vers=3,rsize=1048576,wsize=1048576,hard 0 0
"""


def node() -> Node:
    switch = ("pci0000:17", "0000:17:00.0", "0000:18:00.0")
    slots = [(*switch, f"0000:19:{4 * number:02x}.0", f"0000:{0x1A + number:02x}:00.0") for number in range(4)]
    port = mlx5_pci(("pci0000:3a", "0000:3a:00.0", "0000:3b:00.0"), "0x1017", 0, 3)
    return Node(
        name="old-driver",
        sources=("NVIDIA Tesla V100 data sheet", "nvidia-ml-py 11.450: functions of a driver of that year"),
        release=RELEASE,
        distribution="Ubuntu 20.04.1 LTS",
        vendor="Dell Inc.",
        product="PowerEdge C4140",
        cpu=Cpu("Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz", 2, 20),
        node_kib=(196608000, 198180864),
        driver=V100_DRIVER,
        board=V100,
        gpus=gpus([gpu_pci(slot, "0x1db5", 0, 3) for slot in slots], [V100_MOMENT] * 4),
        pci=(screen("0x102b", "0x0536", "mgag200"),),
        interfaces=(
            LOOPBACK,
            *management(RELEASE, "tg3", ("0x14e4", "0x165f"), "FFV20.8.4 bc 5720-v1.39"),
            infiniband_rail(0, port, EDR, 100000),
        ),
        mounts=MOUNTS,
    )
