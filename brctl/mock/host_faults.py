"""Faults that the kernel log tells, and those of a host's condition: what is there to find beside values of GPUs."""

from typing import Tuple

from .fault_kind import Kind, more

KERNEL_LOG = "/dev/kmsg"
_LOST = {"nvmlDeviceGetHandle*": "NVML_ERROR_GPU_IS_LOST", "*": "NVML_ERROR_GPU_IS_LOST"}
_XID = "NVRM: Xid (PCI:{bus}): "
_NOBODY = "pid='<unknown>', name=<unknown>, "
_GSP = "119, pid=20417, name=nvidia-smi, Timeout waiting for RPC from GPU GSP! Expected function 76 (GSP_RM_CONTROL)"
_GOVERNOR = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor"
_UE_COUNT = "/sys/devices/system/edac/mc/mc0/ue_count"
_CLOCK_SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
_WMEM_MAX = "/proc/sys/net/core/wmem_max"
_RMEM_MAX = "/proc/sys/net/core/rmem_max"
_MOUNTS = "/proc/self/mounts"
_DF = "df --local --block-size=1 --output=target,source,fstype,used,avail,itotal,iused"

HOST_KINDS: Tuple[Kind, ...] = (
    Kind(
        "surprise-down",
        "gpu",
        "the PCIe port above it lost it: a fatal AER error there, then Xid 79",
        errors=_LOST,
        log=(
            "pcieport {port}: AER: Uncorrected (Fatal) error received: {port}",
            "pcieport {port}: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)",
            "pcieport {port}:    [ 5] SDES                   (First)",
            _XID + "79, " + _NOBODY + "GPU has fallen off the bus.",
        ),
    ),
    Kind("gsp-timeout", "gpu", "its GSP does not answer the driver: Xid 119, twice", log=(_XID + _GSP, _XID + _GSP)),
    Kind(
        "memory-error",
        "gpu",
        "an uncorrectable memory error, contained: ECC, a row to be remapped, Xids 48, 63, 94 and 154",
        needs="remap_pending",
        values={
            "remap_pending": True,
            "recovery_action": "drain-and-reset",
            **more("remapped_rows_uncorrectable", 1),
            **more("ecc_volatile_uncorrected", 1),
            **more("ecc_aggregate_uncorrected", 1),
        },
        log=(
            _XID + "48, " + _NOBODY + "DBE (double bit error) ECC error",
            _XID + "63, " + _NOBODY + "Row Remapper: New row marked for remapping, reset gpu to activate.",
            _XID + "94, pid=31007, name=python3, Contained: SM (0x1). RST: No, D-RST: No",
            _XID + "154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)",
        ),
    ),
    Kind(
        "xid-13",
        "gpu",
        "an application failed on it: Xid 13, and no fault of the node",
        log=(_XID + "13, pid=8802, name=python3, Graphics SM Warp Exception on (GPC 1, TPC 4, SM 0)",),
    ),
    Kind(
        "firmware-hang",
        "nic",
        "its firmware does not answer a command",
        log=("mlx5_core {pci}: wait_func:1118:(pid 4711): CREATE_CQ(0x400) timeout. Will cause a leak of a resource",),
    ),
    Kind(
        "hung-task",
        "host",
        "a process hangs in NVIDIA's driver",
        log=("INFO: task nvidia-smi:4411 blocked for more than 120 seconds.",),
    ),
    Kind(
        "oom",
        "host",
        "the kernel killed a process for want of memory",
        log=("Out of memory: Killed process 4711 (python3) total-vm:1kB, anon-rss:1kB, file-rss:0kB",),
    ),
    Kind(
        "log-rotated",
        "host",
        "the beginning of the kernel log is overwritten",
        needs=KERNEL_LOG,
        files={KERNEL_LOG: "6,90000,500000000000,-;IPv6: ADDRCONF(NETDEV_CHANGE): eno1: link becomes ready\n"},
    ),
    Kind(
        "slow-governor",
        "host",
        "the governor of one CPU is powersave",
        needs=_GOVERNOR,
        files={_GOVERNOR: "powersave\n"},
    ),
    Kind("edac-ue", "host", "an uncorrected error of its memory", needs=_UE_COUNT, files={_UE_COUNT: "1\n"}),
    Kind("hpet", "host", "the kernel counts time with hpet", needs=_CLOCK_SOURCE, files={_CLOCK_SOURCE: "hpet\n"}),
    Kind(
        "small-buffers",
        "host",
        "sockets may ask for buffers of 208 KiB at most",
        needs=_RMEM_MAX,
        files={_RMEM_MAX: "212992\n", _WMEM_MAX: "212992\n"},
    ),
    Kind(
        "read-only-root",
        "host",
        "its root file system is read-only",
        needs=_MOUNTS,
        files={_MOUNTS: "/dev/nvme0n1p2 / ext4 ro,relatime,errors=remount-ro 0 0\n"},
    ),
    Kind(
        "unsynchronized",
        "host",
        "nobody sets its clock",
        outputs={"timedatectl show --property=NTPSynchronized --value": "no\n"},
    ),
    Kind(
        "disk-full",
        "host",
        "its root file system is full",
        outputs={
            _DF: "Mounted on Filesystem Type Used Avail Inodes IUsed\n/ /dev/nvme0n1p2 ext4 1786706395136 1048576 9 1\n"
        },
    ),
)
