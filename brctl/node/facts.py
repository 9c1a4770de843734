"""The typed values that probes read; those of accelerators are in gpu_facts. They need nothing else of brctl, so both
ends of a Report know them.

Rules: `None` means that this machine has no such thing or that the part does not support it; it is never written as 0.
A value that could not be read is no fact: its probe raises, and the reason becomes a Problem. Units stand in names.
Sequences are tuples, so that a value never changes after it was read.
"""

from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Tuple, Type, TypeVar

from .gpu_facts import (
    AcceleratorDriver,
    AcceleratorLibrary,
    Gpu,
    GpuErrors,
    GpuFabric,
    GpuFault,
    GpuHealth,
    GpuIdentity,
    GpuInstance,
    GpuLimits,
    GpuLink,
    GpuLinkErrors,
    GpuPcie,
    GpuProcess,
    GpuTelemetry,
)

if TYPE_CHECKING:
    from .host_facts import (
        AcsPort,
        Clock,
        CpuGovernor,
        Filesystem,
        IommuDomain,
        MemoryController,
        MemoryLock,
        NodeTime,
        Peermem,
        Task,
        Tasks,
    )
    from .log_facts import KernelLog, LogEvent
    from .net_facts import Counter, LinkSettings, PortCounters, Ring
else:

    def __getattr__(name: str) -> Any:
        """What only `diagnose` reads is defined when it is first asked for: it would take 3 ms of every command."""
        if name not in __all__:
            raise AttributeError(name)
        from . import host_facts, log_facts, net_facts

        return next(vars(room)[name] for room in (host_facts, log_facts, net_facts) if name in vars(room))


__all__ = [
    "AcceleratorDriver",
    "AcceleratorLibrary",
    "AcsPort",
    "Clock",
    "Counter",
    "Cpu",
    "CpuGovernor",
    "Filesystem",
    "Gid",
    "Gpu",
    "GpuErrors",
    "GpuFabric",
    "GpuFault",
    "GpuHealth",
    "GpuIdentity",
    "GpuInstance",
    "GpuLimits",
    "GpuLink",
    "GpuLinkErrors",
    "GpuPcie",
    "GpuProcess",
    "GpuTelemetry",
    "Inventory",
    "IommuDomain",
    "Kernel",
    "KernelLog",
    "LinkSettings",
    "LogEvent",
    "Memory",
    "MemoryController",
    "MemoryLock",
    "Mount",
    "Nic",
    "NodeTime",
    "NumaNode",
    "PciDevice",
    "Peermem",
    "PortCounters",
    "Problem",
    "RdmaPort",
    "Ring",
    "Sysctl",
    "Task",
    "Tasks",
]


N = TypeVar("N")


def blank(kind: Type[N]) -> N:
    """A NamedTuple of facts that has nothing in it."""
    fields: Any = getattr(kind, "_fields", ())
    return kind(*[None] * len(fields))


class Problem(NamedTuple):
    """Why a part of the machine could not be looked at."""

    part: str
    """What is missing: a field of Inventory (`nics`), or a GPU's (`gpus`)."""
    reason: str
    """`hung` (a call did not return), `permission`, or `error`; for `gpus` also why a vendor's library does not answer:
    `no-library`, `no-driver`, `version-mismatch`."""
    message: str
    """One line in the words of the source, with the call or path that failed."""
    subject: Optional[str] = None
    """Which of several: an interface, an RDMA device (`mlx5_0`, its second port `mlx5_0/2`), a PCI address, a kernel
    parameter. None: the part as a whole."""
    field: Optional[str] = None
    """The value that is missing. None: all that its row lacks, or the row."""


# ---------------------------------------------------------------------------------------------------------------------
# Host


class Kernel(NamedTuple):
    hostname: str
    release: str
    """As `uname -r` prints it."""
    architecture: str
    """As `uname -m` prints it."""
    distribution: Optional[str]
    """PRETTY_NAME of os-release(5)."""
    boot_id: Optional[str]
    uptime_s: float
    product: Optional[str]
    """System vendor and product of the DMI table: `NVIDIA DGXH100`."""
    own_pid_namespace: Optional[bool] = None
    """True in a container: PIDs that a driver tells are not those of /proc here."""


class Cpu(NamedTuple):
    model: Optional[str]
    sockets: int
    cores: int
    """Physical cores of all sockets that have a thread online."""
    threads: int
    """Logical CPUs online."""


class NumaNode(NamedTuple):
    id: int
    cpus: str
    """A kernel cpulist: `0-55,112-167`; empty for a node of memory alone."""
    memory_bytes: int
    distances: Tuple[int, ...]
    """To each NUMA node in the order of their ids; 10 is local (ACPI SLIT)."""


class Memory(NamedTuple):
    total_bytes: int
    """MemTotal: what the kernel manages, 1 to 2 % less than what is fitted."""
    available_bytes: int
    swap_total_bytes: int


class PciDevice(NamedTuple):
    """A display, 3D, network, InfiniBand, NVMe or bridge-class device of interest."""

    address: str
    """`0000:1b:00.0`, in lower case."""
    vendor_id: str
    """`10de`"""
    device_id: str
    pci_class: str
    """Base class and subclass: `0302`."""
    driver: Optional[str]
    numa_node: Optional[int]
    link_speed_gts: Optional[float]
    link_width: Optional[int]
    max_link_speed_gts: Optional[float]
    max_link_width: Optional[int]
    ancestors: Tuple[str, ...]
    """From the host bridge (`pci0000:15`) down to the port that the device sits in."""
    physical_function: Optional[str] = None
    """Of a virtual function (SR-IOV), the address of the device that it is a part of. A virtual machine sees none."""


class Nic(NamedTuple):
    """A network interface of the kernel, physical or not."""

    name: str
    kind: str
    """`physical`, `bond`, `bridge`, `vlan`, `vxlan`, `veth`, `loopback`, or `virtual`: any other that is no port of its
    own, such as an InfiniBand partition's, or what stands on the host for a virtual machine's port."""
    mac: Optional[str]
    mtu: int
    operstate: str
    """RFC 2863 state as the kernel writes it: `up`, `down`, `unknown`, ..."""
    carrier: Optional[bool]
    """None while the interface is administratively down: the kernel does not know then."""
    speed_mbps: Optional[int]
    """None where there is no link or no notion of a rate."""
    driver: Optional[str]
    firmware: Optional[str]
    pci: Optional[str]
    numa_node: Optional[int]
    master: Optional[str]
    """The bond or bridge that this interface is a port of."""
    lower: Tuple[str, ...]
    """Interfaces under this one: a bond's or bridge's ports, a VLAN's parent."""
    rdma: Optional[str]
    """The RDMA device on the same PCI function: `mlx5_0`."""


class Gid(NamedTuple):
    gid_index: int
    gid: str
    type: Optional[str]
    """`IB/RoCE v1` or `RoCE v2`."""
    netdev: Optional[str]


class RdmaPort(NamedTuple):
    device: str
    """`mlx5_0`"""
    port: int
    state: Optional[str]
    """`ACTIVE`, `DOWN`, `INIT`, ...; this and the next are None only where they could not be read."""
    physical_state: Optional[str]
    """`LinkUp`, `Polling`, `Disabled`, ..."""
    rate_gbps: Optional[float]
    """None while the port is not active: the kernel then shows a placeholder of 10 or 2.5."""
    link_layer: str
    """`InfiniBand`, `Ethernet` (RoCE), or `Unspecified` (EFA)."""
    rdma_mtu: Optional[int]
    """Bytes, a power of two up to 4096; on RoCE it follows from the interface's MTU."""
    firmware: Optional[str]
    board_id: Optional[str]
    hca_type: Optional[str]
    pci: Optional[str]
    netdev: Optional[str]
    gids: Tuple[Gid, ...]


class Mount(NamedTuple):
    target: str
    source: str
    fstype: str
    read_only: bool


class Sysctl(NamedTuple):
    key: str
    value: str
    """As the kernel prints it, runs of blanks made one."""


class Inventory(NamedTuple):
    """What a machine is. A part that is None and has no Problem does not exist here."""

    kernel: Optional[Kernel] = None
    cpu: Optional[Cpu] = None
    numa: Optional[Tuple[NumaNode, ...]] = None
    memory: Optional[Memory] = None
    pci: Optional[Tuple[PciDevice, ...]] = None
    nics: Optional[Tuple[Nic, ...]] = None
    rdma: Optional[Tuple[RdmaPort, ...]] = None
    mounts: Optional[Tuple[Mount, ...]] = None
    sysctls: Optional[Tuple[Sysctl, ...]] = None
    accelerator_driver: Optional[AcceleratorDriver] = None
    gpus: Optional[Tuple[Gpu, ...]] = None
    problems: Tuple[Problem, ...] = ()
    accelerator_libraries: Optional[Tuple[AcceleratorLibrary, ...]] = None
    """One for each vendor that brctl knows."""
    kernel_log: Optional["KernelLog"] = None
    """This and what follows is read for `diagnose` alone."""
    hypervisor: Optional[str] = None
    """Its name, in a virtual machine."""
    transparent_hugepage: Optional[str] = None
    """`always`, `madvise` or `never`."""
    cpu_governors: Optional[Tuple["CpuGovernor", ...]] = None
    memlocks: Optional[Tuple["MemoryLock", ...]] = None
    peermem: Optional["Peermem"] = None
    iommu: Optional[Tuple["IommuDomain", ...]] = None
    """Empty where no IOMMU is in use."""
    acs: Optional[Tuple["AcsPort", ...]] = None
    clock: Optional["Clock"] = None
    memory_controllers: Optional[Tuple["MemoryController", ...]] = None
    filesystems: Optional[Tuple["Filesystem", ...]] = None
    fstab: Optional[Tuple[str, ...]] = None
    """Mount points that are meant to be writable."""
    tasks: Optional["Tasks"] = None
    cpu_times: Optional[Tuple["NodeTime", ...]] = None
    port_counters: Optional[Tuple["PortCounters", ...]] = None
    link_settings: Optional[Tuple["LinkSettings", ...]] = None
