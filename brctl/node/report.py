"""What a run returns, and the one codec for it: hand-written, strict, the same on the node and on the admin host.

Plain JSON; a NamedTuple is an object with its field names. Decoding checks every type, because a node's answer is
not trusted: what does not fit raises InvalidReportError, which names the place.
"""

import json
from enum import Enum
from functools import lru_cache
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Type, TypeVar, Union, get_type_hints

from .facts import Inventory

SCHEMA_VERSION = 1
"""Of the JSON output. Within a version fields are added, never removed or changed."""


class Status(Enum):
    """Of a Finding, from harmless to harmful; n/a and unknown are no verdicts."""

    PASS = "pass"  # noqa: S105
    NA = "n/a"
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


class NodeError(NamedTuple):
    """A node that gave no Report, or a broken one."""

    kind: str
    """`timeout`, `died`, `invalid-report`"""
    message: str
    hint: Optional[str] = None


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
    schema_version: int = SCHEMA_VERSION
    bundle: Optional[str] = None
    """What `brctl diagnose bundle` writes: this machine as JSON text, in the form that `--mock FILE` reads."""


class InvalidReportError(Exception):
    """The text is no such value; the message names the place."""


N = TypeVar("N")


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
    result: N = _decode(kind, plain, kind.__name__)
    return result


def _refuse_constant(name: str) -> None:
    raise ValueError("{} is no value".format(name))


@lru_cache(maxsize=None)
def _fields(kind: Any) -> Dict[str, Any]:
    return get_type_hints(kind)


def _decode(kind: Any, plain: Any, where: str) -> Any:
    arguments: Any = getattr(kind, "__args__", ())
    if getattr(kind, "__origin__", None) is Union:  # Optional is the only union in use
        return None if plain is None else _decode(arguments[0], plain, where)
    if getattr(kind, "__origin__", None) is tuple:
        if not isinstance(plain, list):
            raise InvalidReportError("{}: a list is expected".format(where))
        return tuple(_decode(arguments[0], item, "{}[{}]".format(where, i)) for i, item in enumerate(plain))
    if hasattr(kind, "_fields"):
        return _decode_tuple(kind, plain, where)
    if issubclass(kind, Enum):
        return _decode_enum(kind, plain, where)
    # bool is an int to Python and must not pass as one; an int is a fine float.
    if type(plain) is not kind and not (kind is float and type(plain) is int):
        raise InvalidReportError("{}: {} is expected, not {}".format(where, kind.__name__, type(plain).__name__))
    return kind(plain)


def _decode_tuple(kind: Any, plain: Any, where: str) -> Any:
    if not isinstance(plain, dict):
        raise InvalidReportError("{}: an object is expected".format(where))
    hints = _fields(kind)
    unknown: List[str] = sorted(set(plain) - set(hints))
    missing = [name for name in hints if name not in plain and name not in kind._field_defaults]
    if unknown or missing:
        raise InvalidReportError("{}: unknown {}, missing {}".format(where, unknown, missing))
    return kind(**{name: _decode(hints[name], value, where + "." + name) for name, value in plain.items()})


def _decode_enum(kind: Type[Enum], plain: Any, where: str) -> Enum:
    try:
        return kind(plain)
    except ValueError:
        raise InvalidReportError("{}: {!r} is no {}".format(where, plain, kind.__name__)) from None
