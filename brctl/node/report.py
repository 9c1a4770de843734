"""What a run returns."""

from enum import Enum
from typing import NamedTuple, Optional, Tuple

from .alert_facts import ActionRecord
from .facts import Inventory

SCHEMA_VERSION = 1
"""Of the JSON output. Within a version fields are added, never removed or changed."""


class Status(Enum):
    """Of a Finding, from harmless to harmful; n/a and unknown are no verdicts."""

    NA = "n/a"
    PASS = "pass"  # noqa: S105
    INFO = "info"
    UNKNOWN = "unknown"
    WARN = "warn"
    CRIT = "crit"


WORST_FIRST = tuple(reversed(Status))


class Subject(NamedTuple):
    """What a finding is about."""

    kind: str
    """`host`, `gpu`, `nic`, `rdma` or `mount`"""
    id: str
    """The same over reboots: a GPU's UUID (else its PCI address), an interface's name; empty for the host."""
    name: str
    """For people: `GPU 3`, `ens1np0`, `host`."""


HOST = Subject("host", "", "host")


class Evidence(NamedTuple):
    """One value that a finding rests on."""

    what: str
    value: str
    source: str
    """Where it was read: an NVML call, a path, a command, or the config key that declares it."""


class Cause(NamedTuple):
    """Names a Finding of the same Report."""

    check: str
    subject: Subject


class Finding(NamedTuple):
    check: str
    status: Status
    subject: Subject
    summary: str
    """One line: what is, against what should be."""
    evidence: Tuple[Evidence, ...] = ()
    remedy: Optional[str] = None
    """What to do next, for warn and crit."""
    reason: Optional[str] = None
    """For unknown: `hung`, `permission` or `error`."""
    fold: str = ""
    """Equal on two nodes where the same thing is wrong with the same part."""
    cause: Optional[Cause] = None
    """The finding that this one is a mere consequence of; it is then an `info`, whatever it would be by itself."""


class EnvironmentVariable(NamedTuple):
    """One variable of the communication environment of jobs."""

    name: str
    value: Optional[str]
    """None: it is better left unset, and `reason` says why."""
    reason: str
    """Why it has this value, or none."""
    source: str
    """What it follows from: a path, a config key, a document."""


class Environment(NamedTuple):
    """The communication environment that a node's jobs should have."""

    variables: Tuple[EnvironmentVariable, ...] = ()
    hcas: Tuple[str, ...] = ()
    """RDMA devices that carry collectives, in the order of the rails."""
    refused: Optional[str] = None
    """Why there is none."""
    configured: Optional[str] = None
    """/etc/nccl.conf as it is; None: there is no such file."""
    process: Optional[str] = None
    """Of the process that was asked for: what concerns communication, a variable on each line, and nothing else."""
    out: Optional[str] = None
    """The device of a rail that is left out, and why."""


class Outcome(Enum):
    """Of a Change: what plan found, or what became of it."""

    OK = "ok"
    """It was as wanted already."""
    PENDING = "pending"
    CHANGED = "changed"
    RESTORED = "restored"
    NA = "n/a"
    """This machine has no such part, and nothing was wanted of it that matters: `0` of a switch that is not there."""
    CAPPED = "capped out of band"
    """Written and read back, but something else (a BMC) holds it lower."""
    PENDING_REBOOT = "pending reboot"
    NOT_ATTEMPTED = "not attempted"
    """What it depends on failed, or the run ended before its turn."""
    CONFLICT = "conflict"
    """Rollback: somebody else changed it since; it was left alone."""
    REFUSED = "refused"
    """Impossible here, or the machine said no; `reason` says why, in words."""


class Change(NamedTuple):
    """One value of one part of a machine, as it is, will be and should be."""

    setting: str
    """The id of the Setting: `nic-mtu`."""
    subject: Subject
    key: str
    """Which value of the part, for people: `mtu`, `net.core.rmem_max`, `power limit`."""
    outcome: Outcome
    wanted: Optional[str] = None
    live: Optional[str] = None
    """As it is now, read back after a write. None: it is not there, or cannot be read."""
    before: Optional[str] = None
    """As it was before a write."""
    boot: Optional[str] = None
    """What the next boot will give, as far as files tell; None: they say nothing of it."""
    boot_source: Optional[str] = None
    """What decides that: `/etc/sysctl.d/99-zz-brctl.conf:3`."""
    reason: Optional[str] = None
    """Why it is refused, not attempted, capped or in conflict."""
    effects: Tuple[str, ...] = ()
    """What else happens when it is written: a bridge that follows, a link that bounces."""
    source: Optional[str] = None
    """Who recommends the wanted value."""
    fold: str = ""
    """Equal on two nodes where the same thing is done to the same part."""


class Transaction(NamedTuple):
    """What one `tune apply` did, as the node's journal has it."""

    id: str
    state: str
    """`open`, `unconfirmed`, `confirming`, `done`, `failed` (some of it) or `rolled back`."""
    time: float
    """Seconds since the epoch."""
    who: str
    """`root@admin1`, or `alice (sudo) from 10.0.0.7`."""
    boot_id: str
    config_hash: Optional[str] = None
    """The first characters of the SHA-256 of what was wanted."""
    changes: Tuple[Change, ...] = ()


class Endpoint(NamedTuple):
    """An interface that carries jobs, as other nodes reach it."""

    interface: str
    address: Optional[str]
    """None: it has none, and cannot be tested."""
    mtu: int
    up: bool
    rdma: Optional[str] = None
    """Its RDMA device and port, where that is active: `mlx5_0:1`."""
    gid_index: Optional[int] = None
    """Of its GID of RoCE v2 that is routed."""


class PairSeen(NamedTuple):
    """What one end of a test between two nodes saw. The one who echoes sees but that somebody came."""

    connected: bool
    rtt_s: Optional[float] = None
    """The median; this and the next are None where not all came back in time."""
    rtt_p99_s: Optional[float] = None
    small_answered: Optional[bool] = None
    """UDP datagrams of 64 bytes."""
    large_answered: Optional[bool] = None
    """UDP datagrams as large as the MTU, there and back, never fragmented."""
    datagrams_sent: int = 0
    datagrams_returned: int = 0
    sent_bits_per_s: Optional[float] = None
    received_bits_per_s: Optional[float] = None
    fault: Optional[str] = None
    """What the kernel said when a test broke off."""
    tool_fault: Optional[str] = None
    """Why bandwidth was not measured: that says nothing of the path."""
    rdma_latency: Optional[str] = None
    """What ib_write_lat printed."""
    rdma_bandwidth: Optional[str] = None
    """What ib_write_bw printed."""


class NodeError(NamedTuple):
    """A node that gave no Report, or a broken one."""

    kind: str
    """Unreachable: `refused`, `dns`, `no-route`, `no-banner`, `timeout`, `mtu` (a path MTU black hole), `overloaded`,
    `host-key-changed`, `host-key-unknown`, `permission`, `unreachable` (none of these). Reached: `timeout`, `mtu`,
    `no-python`, `python-too-old`, `agent-died`, `agent-error`, `invalid-request`, `invalid-report`, `too-much-output`,
    `busy` (another brctl holds the lock, or a transaction is open), `tune-error`, `pair-error`, `release-error`.
    Ctrl-C: `interrupted`, `not-asked`. Of a change in batches: `not-attempted`, `not-drained`, `not-resumed`."""
    message: str
    hint: Optional[str] = None


class State(str, Enum):  # text too: a tick may have a thousand, and JSON takes them as they are
    """Of a Sample. A value that is not measured is absent: never 0, never an old one."""

    MEASURED = "measured"
    STALE = "stale"
    """It was measured before and could not be measured now: the part is lost, or refuses."""
    UNSUPPORTED = "unsupported"
    """The part, or its driver, has no such value; it is not asked for again."""
    TIMEOUT = "timeout"
    """The call has not returned in time."""


class Series(NamedTuple):
    """What a collector measures: one kind of value, of many parts."""

    name: str
    """As Prometheus names it, with a base unit: `brctl_gpu_temperature_celsius`; a counter ends in `_total`."""
    unit: str
    """`celsius`, `bytes`, `seconds`, `ratio`, ...; empty where the value has none: a count, a truth, a state."""
    kind: str
    """`gauge` or `counter`"""
    labels: Tuple[str, ...]
    """Their names; a Sample has their values in the same order."""
    help: str
    source: str
    """Where it is read: an NVML call, a path."""
    collector: str
    """The Collector's id: `gpu-temperature`."""


class Sample(NamedTuple):
    series: str
    """The name of the Series."""
    labels: Tuple[str, ...]
    """The values of its labels."""
    value: Optional[float]
    """None unless `state` is measured."""
    state: State
    at: float
    """When it was read, or was found not to be there: seconds since the epoch."""


class Mock(NamedTuple):
    """The machine that stands in for a real one."""

    machine: str
    """As `--mock` named it: `dgx-h100+gpu3-lost`."""
    recorded: bool
    """Read from hardware; False: composed from published figures."""


class Report(NamedTuple):
    node: str
    time: float
    """When the run began: seconds since the epoch."""
    elapsed_s: float
    mock: Optional[Mock] = None
    """None on a real machine."""
    inventory: Optional[Inventory] = None
    findings: Tuple[Finding, ...] = ()
    errors: Tuple[NodeError, ...] = ()
    notes: Tuple[str, ...] = ()
    """What hindered nothing and should be known: a login that prints, a connection that took several attempts."""
    changes: Tuple[Change, ...] = ()
    """Of `tune`, in the order in which they are (or would be) made."""
    transactions: Tuple[Transaction, ...] = ()
    """Of `tune history` and of what was applied, newest first."""
    endpoints: Tuple[Endpoint, ...] = ()
    """Of `diagnose comm`; this and the next."""
    pair: Optional[PairSeen] = None
    environment: Optional[Environment] = None
    """Of `tune env`."""
    bundle: Optional[str] = None
    """What `brctl diagnose bundle` writes: this machine as JSON text, in the form that `--mock FILE` reads."""
    series: Tuple[Series, ...] = ()
    """What `samples` are of."""
    samples: Tuple[Sample, ...] = ()
    collective: Optional[str] = None
    """What all_reduce_perf printed, over the GPUs of the node."""
    actions: Tuple[ActionRecord, ...] = ()
    """What the node has done by itself since the last tick, or undone: a record replaces an earlier one of its id."""
    schema_version: int = SCHEMA_VERSION
