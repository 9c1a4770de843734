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

from compose_boards import H100, H100_DRIVER, H100_MOMENTS
from compose_hgx import (
    MLX5_VERSION,
    NDR,
    Baseboard,
    drive_pci,
    management,
    mlx5_pci,
    nvswitches,
    roce_rail,
    screen,
)
from compose_node import Node, gpus
from compose_parts import LOOPBACK, Card, Cpu, Interface, driver_info, gids

RELEASE = "5.15.0-1063-nvidia"
BOARD = Baseboard("0x2330", ("15", "37", "48", "59", "97", "b7", "c7", "d7"))
STORAGE = Card("22.41.1000", "MT_0000000359", "MT4125", "100 Gb/sec (4X EDR)")
STORAGE_MODULES = (0, 4)

MOUNTS = """\
udev /dev devtmpfs rw,nosuid,relatime,size=1056694784k,nr_inodes=264173696,mode=755,inode64 0 0
/dev/md0 / ext4 rw,relatime,stripe=256 0 0
/dev/nvme4n1p1 /boot/efi vfat rw,relatime,fmask=0077,dmask=0077,codepage=437,iocharset=iso8859-1 0 0
/dev/md1 /raid ext4 rw,relatime,stripe=1024 0 0
10.9.100.10:/data /data nfs4 rw,noatime,vers=4.2,rsize=1048576,wsize=1048576,hard,proto=rdma,port=20049 0 0
"""


def node() -> Node:
    bond = {"mac": "02:b0:7d:00:02:00", "mtu": 9000}
    return Node(
        name="dgx-h100",
        sources=(
            "leptonai/gpud: lspci and InfiniBand of 8 x H100 nodes",
            "NVIDIA/k8s-test-infra: nvidia-smi of 8 x H100 80GB HBM3",
            "NVIDIA DGX H100 user guide",
        ),
        release=RELEASE,
        distribution="Ubuntu 22.04.5 LTS",
        vendor="NVIDIA",
        product="DGXH100",
        cpu=Cpu("Intel(R) Xeon(R) Platinum 8480C", 2, 56),
        # 2 TiB are fitted; the kernel keeps 1.6 % of them for its own tables.
        node_kib=(1056567296, 1056806912),
        driver=H100_DRIVER,
        board=H100,
        gpus=gpus(BOARD.gpus(), H100_MOMENTS),
        pci=(
            screen("0x102b", "0x0536", "mgag200"),
            *BOARD.drives()[2:],
            *(drive_pci(BOARD.place(number, 0), 0, "0x1344", "0x51c3") for number in (0, 1)),
            *nvswitches("0x22a3", 4),
        ),
        interfaces=(
            LOOPBACK,
            *management(RELEASE, "tg3", ("0x14e4", "0x165f"), "FFV22.71.3 bc 5720-v1.39"),
            *(roce_rail(number, pci, NDR, 400000) for number, pci in enumerate(BOARD.rails())),
            *(_storage(module, function) for module in STORAGE_MODULES for function in (0, 1)),
            Interface("bond0", 20, speed=200000, device_type="bond", lower=("enp27s0f0np0", "enp157s0f0np0"), **bond),
            Interface("bond0.100", 21, speed=200000, device_type="vlan", lower=("bond0",), **bond),
        ),
        mounts=MOUNTS,
    )


def _storage(module: int, function: int) -> Interface:
    """The first ports make the bond, which has their addresses and GIDs; the second ones have no cable and are off."""
    pci = mlx5_pci(BOARD.place(module, 3, function), "0x101d", BOARD.numa_node(module), 4)
    number = 2 * STORAGE_MODULES.index(module) + function
    name = f"enp{int(pci.address[5:7], 16)}s0f{function}np{function}"
    info = driver_info("mlx5_core", MLX5_VERSION, f"{STORAGE.firmware} ({STORAGE.board})", pci)
    if function:
        mac = f"02:b0:7d:00:02:0{number}"
        return Interface(name, 12 + number, mac, 1500, "down", 0, pci, info, card=STORAGE)
    mac = "02:b0:7d:00:02:00"
    table = gids("bond0", mac, ("bond0", "10.9.0.1"), ("bond0.100", "10.9.100.1"))
    return Interface(name, 12 + number, mac, 9000, "up", 100000, pci, info, master="bond0", card=STORAGE, gids=table)
