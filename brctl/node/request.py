"""What an agent is asked to do. The admin side writes it from the config; a node never sees the config file itself."""

from typing import NamedTuple, Optional, Tuple


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


class Request(NamedTuple):
    node: str
    """The name to report under."""
    action: str
    """`show` reads the inventory; `check` also runs the checks tagged `inventory`; `bundle` records what they read;
    `clean` removes what brctl left; `sample` gives one sample; `monitor` a stream of them (node/monitor/stream.py),
    until the same frame id has `stop`; `release` makes all samplers let go of the GPUs."""
    expected: Expected = Expected()
    overrides: Tuple[Override, ...] = ()
    sampling: Sampling = Sampling()
