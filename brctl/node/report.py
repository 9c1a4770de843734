"""What a run returns, and the one codec for it: hand-written, strict, the same on the node and on the admin host.

Plain JSON; a NamedTuple is an object with its field names. Decoding checks every type, because a node's answer is
not trusted: what does not fit raises InvalidReportError, which names the place.
"""

import json
from enum import Enum
from functools import lru_cache
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Type, TypeVar, Union, get_type_hints

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
    """`open`, `unconfirmed`, `done`, `failed` (some of it) or `rolled back`."""
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


class PairSeen(NamedTuple):
    """What one end of a test between two nodes saw. The one who echoes sees but that somebody came."""

    connected: bool
    rtt_s: Optional[float] = None
    rtt_p99_s: Optional[float] = None
    small_answered: Optional[bool] = None
    large_answered: Optional[bool] = None
    datagrams_sent: int = 0
    datagrams_returned: int = 0
    sent_bits_per_s: Optional[float] = None
    received_bits_per_s: Optional[float] = None
    fault: Optional[str] = None
    """What the kernel said when a test broke off."""
    tool_fault: Optional[str] = None
    """Why bandwidth was not measured: that says nothing of the path."""


class NodeError(NamedTuple):
    """A node that gave no Report, or a broken one."""

    kind: str
    """Unreachable: `refused`, `dns`, `no-route`, `no-banner`, `timeout`, `mtu` (a path MTU black hole), `overloaded`,
    `host-key-changed`, `host-key-unknown`, `permission`, `unreachable` (none of these). Reached: `timeout`, `mtu`,
    `no-python`, `python-too-old`, `agent-died`, `agent-error`, `invalid-request`, `invalid-report`, `too-much-output`,
    `busy` (another brctl holds the lock, or a transaction is open), `tune-error`, `pair-error`. Ctrl-C: `interrupted`,
    `not-asked`. Of a change in batches: `not-attempted`, `not-drained`."""
    message: str
    hint: Optional[str] = None


class State(Enum):
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
    endpoints: Tuple[Endpoint, ...] = ()
    """Of `diagnose comm`; this and the next."""
    pair: Optional[PairSeen] = None
    environment: Optional[Environment] = None
    """Of `tune env`."""
    changes: Tuple[Change, ...] = ()
    """Of `tune`, in the order in which they are (or would be) made."""
    transactions: Tuple[Transaction, ...] = ()
    """Of `tune history` and of what was applied, newest first."""
    bundle: Optional[str] = None
    """What `brctl diagnose bundle` writes: this machine as JSON text, in the form that `--mock FILE` reads."""
    series: Tuple[Series, ...] = ()
    """What `samples` are of."""
    samples: Tuple[Sample, ...] = ()
    schema_version: int = SCHEMA_VERSION


class InvalidReportError(Exception):
    """The text is no such value; the message names the place."""


N = TypeVar("N")
_GREATEST = 2**64


def encode(value: Any) -> Any:
    """The plain JSON form of a NamedTuple and all in it."""
    if isinstance(value, tuple):
        fields = getattr(value, "_fields", None)
        if fields is None:
            return [encode(item) for item in value]
        return {name: encode(item) for name, item in zip(fields, value)}
    return value.value if isinstance(value, Enum) else value


def dumps(value: Any) -> str:
    """One line of JSON, ASCII only, so that no node's text can break a frame or a terminal."""
    return json.dumps(encode(value), separators=(",", ":"), allow_nan=False)


def loads(kind: Type[N], text: Union[str, bytes]) -> N:
    """Decode JSON text as `kind`. Raises InvalidReportError."""
    try:
        plain = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidReportError("not JSON: {}".format(error)) from None
    return decode(kind, plain)


def decode(kind: Type[N], plain: Any) -> N:
    """Check plain JSON data against `kind`, a NamedTuple, and build it. Raises InvalidReportError."""
    wanted: Any = kind
    try:
        result: N = _decoder(wanted)(plain)
    except _MisfitError as misfit:
        raise InvalidReportError("{}{}: {}".format(kind.__name__, misfit.place, misfit)) from None
    return result


class _MisfitError(Exception):
    """A value that does not fit; the place is put together on the way up, as it is seldom needed."""

    place = ""

    def at(self, step: str) -> "_MisfitError":
        self.place = step + self.place
        return self


def _refuse_constant(name: str) -> None:
    raise ValueError("{} is no value".format(name))


@lru_cache(maxsize=None)
def _decoder(kind: Any) -> Callable[[Any], Any]:
    """What turns plain data into a `kind`, made once: 45 kB of JSON take a third of the time."""
    arguments: Any = getattr(kind, "__args__", ())
    if getattr(kind, "__origin__", None) is Union:  # Optional is the only union in use
        inner = _decoder(arguments[0])
        return lambda plain: None if plain is None else inner(plain)
    if getattr(kind, "__origin__", None) is tuple:
        return _list_decoder(_decoder(arguments[0]))
    if hasattr(kind, "_fields"):
        return _object_decoder(kind)
    return _enum_decoder(kind) if issubclass(kind, Enum) else _simple_decoder(kind)


def _list_decoder(inner: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def decode_list(plain: Any) -> Any:
        if type(plain) is not list:
            raise _MisfitError("a list is expected")
        items: List[Any] = []
        try:
            for item in plain:
                items.append(inner(item))  # noqa: PERF401  # their number is the place of the misfit
        except _MisfitError as misfit:
            raise misfit.at("[{}]".format(len(items))) from None
        return tuple(items)

    return decode_list


def _object_decoder(kind: Any) -> Callable[[Any], Any]:
    fields = {name: _decoder(hint) for name, hint in get_type_hints(kind).items()}
    needed = set(fields) - set(kind._field_defaults)

    def decode_object(plain: Any) -> Any:
        if type(plain) is not dict:
            raise _MisfitError("an object is expected")
        if not (needed <= plain.keys() <= fields.keys()):
            unknown, missing = (
                sorted(set(plain) - set(fields)),
                [name for name in fields if name in needed - set(plain)],
            )
            raise _MisfitError("unknown {}, missing {}".format(unknown, missing))
        values: Dict[str, Any] = {}
        try:
            for name in plain:
                values[name] = fields[name](plain[name])
        except _MisfitError as misfit:
            raise misfit.at("." + name) from None
        return kind(**values)

    return decode_object


def _enum_decoder(kind: Type[Enum]) -> Callable[[Any], Any]:
    def decode_enum(plain: Any) -> Any:
        try:
            return kind(plain)
        except ValueError:
            raise _MisfitError("{!r} is no {}".format(plain, kind.__name__)) from None

    return decode_enum


def _simple_decoder(kind: Any) -> Callable[[Any], Any]:
    """Of text, truth and numbers. bool is an int to Python and must not pass as one; an int is a fine float."""

    def decode_simple(plain: Any) -> Any:
        if type(plain) is not kind and not (kind is float and type(plain) is int):
            raise _MisfitError("{} is expected, not {}".format(kind.__name__, type(plain).__name__))
        # JSON has numbers of any size; those that no machine has would break whoever converts or prints them.
        if (kind is int or kind is float) and not -_GREATEST <= plain <= _GREATEST:
            raise _MisfitError("a number beyond 2^64")
        return kind(plain)

    return decode_simple
