"""The typed values of network ports that only `diagnose` judges, by the rules of facts.py."""

from typing import NamedTuple, Optional, Tuple


class Counter(NamedTuple):
    name: str
    """As its source has it: `rx_prio3_pause_duration`, `hw_counters/out_of_sequence`."""
    value: int


class PortCounters(NamedTuple):
    """Counters of one port as one source tells them. They count since the driver was loaded, or since who knows."""

    port: str
    """An interface, or an RDMA device (`mlx5_0`, its second port `mlx5_0/2`)."""
    source: str
    """`ethtool -S ens1np0`, `/sys/class/infiniband/mlx5_0/ports/1`"""
    read_at_s: float
    """By the monotonic clock of the machine."""
    counters: Tuple[Counter, ...]


class Ring(NamedTuple):
    """Descriptors of a NIC's receive queues."""

    size: int
    maximum: int


class LinkSettings(NamedTuple):
    """How a physical interface is set. None: it, or the tool that tells, has no such setting."""

    interface: str
    ring: Optional[Ring] = None
    features_off: Optional[Tuple[str, ...]] = None
    """Of the offloads that are judged, those that are off and need not be."""
    qdisc: Optional[str] = None
    """The kind of its root queueing discipline: `mq`, `fq_codel`, `tbf`."""
    lossless: Optional[Tuple[int, ...]] = None
    """Priorities with priority flow control."""
    trust: Optional[str] = None
    """What a packet's priority is taken from: `dscp` or `pcp`."""
