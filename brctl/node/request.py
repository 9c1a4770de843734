"""What an agent is asked to do. The admin side writes it from the config; a node never sees the config file itself."""

from typing import NamedTuple, Optional, Tuple

from .alert_facts import Rule
from .facts import Inventory


class ExpectedAccelerator(NamedTuple):
    """What `hardware.GROUP.accelerator` declares. None: not declared, so siblings are compared."""

    vendor: Optional[str] = None
    model: Optional[str] = None
    """NVML's product names or shell patterns, comma between them."""
    gpu_count: Optional[int] = None
    memory_bytes: Optional[int] = None
    driver: Optional[str] = None
    """Version range, all parts of which must hold: `>=550,<600`."""
    vbios: Optional[str] = None
    """Shell patterns, comma between them: `96.00.*`."""
    nvlinks: Optional[int] = None
    """Active links of each GPU."""


class ExpectedNics(NamedTuple):
    """What `hardware.GROUP.nics` declares, for the interfaces that `interfaces` names."""

    interfaces: Optional[str] = None
    """Shell patterns, comma between them: `ens*np*`. None: the physical ones with an RDMA device; where
    there is none, every physical one."""
    nic_count: Optional[int] = None
    speed_mbps: Optional[int] = None
    kind: Optional[str] = None
    """`roce`, `infiniband`, `efa` or `ethernet`."""
    firmware: Optional[str] = None
    """Shell patterns, comma between them: `28.*`."""


class ExpectedCpu(NamedTuple):
    sockets: Optional[int] = None
    numa_nodes: Optional[int] = None
    threads: Optional[int] = None


class Expected(NamedTuple):
    """What the config declares of one node: the `hardware` of its groups, and what `tune` sets that checks look at."""

    accelerator: Optional[ExpectedAccelerator] = None
    nics: Optional[ExpectedNics] = None
    cpu: Optional[ExpectedCpu] = None
    memory_bytes: Optional[int] = None
    mounts: Tuple[str, ...] = ()
    mtu: Optional[int] = None
    """`tune.network.mtu`, for the interfaces that `mtu_interfaces` names."""
    mtu_interfaces: Optional[str] = None


class Override(NamedTuple):
    """One threshold of one check, given in the config."""

    check: str
    threshold: str
    value: float


class Setenv(NamedTuple):
    """A variable that the config gives as it is."""

    name: str
    value: str


class RailOut(NamedTuple):
    """A rail that jobs are to leave alone, on all nodes at once."""

    rail: int
    """Its place, from 0, in the order of the rails."""
    rails: int
    """How many there are with it. A node that has another number gets no environment."""
    reason: str


class Communication(NamedTuple):
    """What `comm` of the config says of a node's jobs."""

    backend: str = "nccl"
    """`nccl` or `npo`"""
    framework: Optional[str] = None
    """`megatron-tp`, `fsdp` or `ddp`"""
    rails: Optional[int] = None
    dscp: Optional[int] = None
    rail_only: bool = False
    """Rails have no switch in common."""
    env: Tuple[Setenv, ...] = ()
    declared: bool = False
    """The config says something of it."""
    pid: Optional[int] = None
    """A process whose environment is asked for."""
    out: Optional[RailOut] = None


class PowerLimit(NamedTuple):
    """Of one model of GPU, or of all; either watts or percent of the default."""

    model: Optional[str] = None
    watts: Optional[float] = None
    percent: Optional[float] = None


class Clocks(NamedTuple):
    min_mhz: int
    max_mhz: int


class KernelParameter(NamedTuple):
    key: str
    """As the config writes it: `net.ipv4.conf.eth0/100.arp_ignore` is of the interface eth0.100."""
    value: str
    """As /proc/sys takes it: `4096 131072 67108864`."""


class Wanted(NamedTuple):
    """What `tune` of the config says of one node. None and empty: it is left as it is."""

    mtu: Optional[int] = None
    interfaces: Optional[str] = None
    """Shell patterns, comma between them. None: those that ExpectedNics names."""
    sysctls: Tuple[KernelParameter, ...] = ()
    numa_balancing: Optional[int] = None
    """A bit mask: 1 normal, 2 tiering."""
    power_limits: Tuple[PowerLimit, ...] = ()
    persistence_mode: Optional[bool] = None
    locked_clocks: Optional[Clocks] = None
    cpu_governor: Optional[str] = None
    transparent_hugepage: Optional[str] = None
    memlock: Optional[str] = None
    """Bytes, or `unlimited`."""


class Tuning(NamedTuple):
    """What `tune` is asked to do."""

    wanted: Wanted = Wanted()
    settings: Tuple[str, ...] = ()
    """Ids of those that are meant; the admin side has applied --only and --skip."""
    persist: bool = False
    atomic: bool = False
    allow_mgmt: bool = False
    force_busy: bool = False
    confirm_within_s: float = 120.0
    who: str = ""
    config_hash: Optional[str] = None
    transaction: Optional[str] = None
    """The one to roll back, confirm or show; None: the newest."""


TUNING = "/var/lib/brctl/tune/open"
"""A file that is there while a tuning transaction is open: what brctl left on the node is then still needed."""


class Cadence(NamedTuple):
    """Of one collector, where the config says otherwise than the collector itself."""

    collector: str
    every_s: float


class Sampling(NamedTuple):
    """What `sample`, `monitor` and `release` go by."""

    interval_s: float = 5.0
    """Of the ticks of `monitor`."""
    cadences: Tuple[Cadence, ...] = ()
    peers: Tuple[str, ...] = ()
    """Nodes to which the round trip is measured."""
    release_s: float = 0.0
    """For how long to let go of the GPUs; 0: take an earlier release back."""


LEASE_S = 20.0
"""Three ticks of the default interval and some; at longer intervals it is more."""


class Acting(NamedTuple):
    """What a node does by itself while it streams its samples: it throttles. Nothing where there are no rules."""

    rules: Tuple[Rule, ...] = ()
    """Those whose action is `throttle`."""
    who: str = ""
    lease_s: float = LEASE_S
    """So long after it last heard of the one who asked (frame.HERE) a node gives back what it took."""


class PairEnd(NamedTuple):
    """One end of a test between two nodes."""

    address: str
    """Of the rail, on this node."""
    port: int
    nonce: str
    """32 hexadecimal digits, the same at both ends."""
    limit_s: float
    peer: Optional[str] = None
    """The address of the one who echoes; None: this is the one."""
    mtu: int = 1500
    """Of the datagrams that must come through whole, bytes."""
    load_s: float = 0.0
    """For so long in each direction bandwidth is measured; 0: it is not."""
    rdma: Optional[str] = None
    """Device and port for RDMA's own tests, with `load_s`: `mlx5_0:1`. None: one end or the other has none."""
    gid_index: Optional[int] = None


class Request(NamedTuple):
    node: str
    """The name to report under."""
    action: str
    """`show` reads the inventory; `check` also runs the checks tagged `inventory`; `diagnose` looks twice and runs
    `checks`; `bundle` records what they read; `clean` removes what brctl left; `tune-plan`, `tune-apply`,
    `tune-rollback`, `tune-confirm` and `tune-history` are what the commands of `tune` do; `comm` renders the
    communication environment; `sample` gives one sample; `monitor` a stream of them (node/monitor/stream.py), until
    the same frame id has `stop`; `release` makes all samplers let go of the GPUs; `endpoints` says which interfaces
    carry jobs, `pair` is one end of a test between two nodes, and `collective` tests the GPUs of one node."""
    expected: Expected = Expected()
    overrides: Tuple[Override, ...] = ()
    tune: Tuning = Tuning()
    force: bool = False
    """For `clean`: also while a tuning transaction is open."""
    comm: Communication = Communication()
    checks: Tuple[str, ...] = ()
    """Their ids, for `diagnose`; none: all."""
    interval_s: float = 0.0
    """Between the two looks of `diagnose`."""
    baseline: Optional[Inventory] = None
    """What an earlier `diagnose` saw of this node."""
    sampling: Sampling = Sampling()
    pair: Optional[PairEnd] = None
    acting: Acting = Acting()
    """For `monitor`."""
