"""The typed values of a host's condition, which only `diagnose` judges, by the rules of facts.py."""

from typing import NamedTuple, Optional, Tuple


class CpuGovernor(NamedTuple):
    """CPU frequency policies of one governor."""

    governor: str
    """`performance`, `schedutil`, `powersave`, ..."""
    policies: Tuple[int, ...]
    """Their numbers; mostly those of the CPUs."""


class MemoryLock(NamedTuple):
    """How much memory a process may lock (RLIMIT_MEMLOCK). What it starts inherits that."""

    process: str
    """The service that starts jobs (`slurmd.service`), or `brctl` for how we were started ourselves."""
    soft_bytes: Optional[int]
    """None: no limit."""
    hard_bytes: Optional[int]


class Peermem(NamedTuple):
    """By what a NIC may reach a GPU's memory."""

    modules: Tuple[str, ...]
    """Those that are loaded, of `nvidia_peermem` and `nv_peer_mem`."""
    open_driver: bool
    """NVIDIA's driver is the one with open kernel modules, which can share memory as a DMA-BUF."""


class IommuDomain(NamedTuple):
    address: str
    """Of a GPU or NIC."""
    type: str
    """`identity`: addresses pass through; `DMA`, `DMA-FQ`: they are translated; `blocked`; `unmanaged`: a virtual
    machine's."""


class AcsPort(NamedTuple):
    """A PCIe bridge with Access Control Services."""

    address: str
    enabled: Tuple[str, ...]
    """What is on, in lspci's words: `SrcValid`, `ReqRedir`, ..."""


class Clock(NamedTuple):
    synchronized: Optional[bool]
    """By the kernel's own word, which whoever sets the clock (chrony, ntpd, PTP) tells it."""
    source: Optional[str]
    """The command that says so."""
    clocksource: Optional[str]
    """`tsc`, `hpet`, `kvm-clock`, ..."""


class MemoryController(NamedTuple):
    """Errors of the host's memory since the boot (EDAC)."""

    name: str
    """`mc0`"""
    corrected: int
    uncorrected: int
    read_at_s: Optional[float] = None
    """CLOCK_MONOTONIC; None in what an earlier brctl saved."""


class Filesystem(NamedTuple):
    """A local file system. Bytes that root keeps for itself are neither used nor available."""

    target: str
    source: str
    fstype: str
    used_bytes: int
    available_bytes: int
    inodes: int
    """0 where it has no fixed number."""
    inodes_used: int


class Task(NamedTuple):
    """A process that waits in the kernel and cannot be interrupted (state D)."""

    pid: int
    name: str
    start_ticks: int
    """Since the boot; with the PID it is this process and no later one."""


class Tasks(NamedTuple):
    processes: int
    zombies: int
    """Ended, and not yet waited for by the process that started them."""
    blocked: Tuple[Task, ...]


class NodeTime(NamedTuple):
    """What the CPUs of one NUMA node have done since the boot, in clock ticks of all of them together."""

    numa_node: int
    busy_ticks: int
    total_ticks: int
