"""What may stand as a value: the types of the models' fields, each with its JSON Schema."""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PlainValidator, Strict, WithJsonSchema

from ..node.units import size
from . import nodes
from .units import CLOCK, DURATION, LEVEL, POWER, RATE, SIZE, Amount, Kind, RefusedError, parse, seconds, shown, whole

INT_MAX = 2**31 - 1
NODES, GLOB, VERSIONS = "node set", "shell patterns, comma between them", "version range"
"""Kinds of text that hold several things with commas between them."""


def _text(kind: str, pattern: str | None = None) -> Any:
    return Field(min_length=1, max_length=256, pattern=pattern, json_schema_extra={"x-kind": kind})


def _node_set(text: str) -> str:
    nodes.expand(text)
    return text


def _endpoint(text: str) -> str:
    port = text.rpartition(":")[2]
    if not port.isdecimal() or not 1 <= int(port[:6]) <= 65535:
        raise RefusedError(f"{text!r} has no port", "write ADDRESS:PORT, the port 1 to 65535")
    return text


Name = Annotated[str, _text("name", r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Key = Annotated[str, _text("name", r"^[A-Za-z_][A-Za-z0-9_.-]*$")]
Word = Annotated[str, _text("text without blanks or a leading dash", r"^[A-Za-z0-9_./~\[][A-Za-z0-9_.,:/@%+~\]-]*$")]
"""It begins with no dash, so that no command takes it for an option."""
Glob = Annotated[str, _text(GLOB)]
Folder = Annotated[str, _text("absolute path", "^/")]
Endpoint = Annotated[Word, AfterValidator(_endpoint)]
Versions = Annotated[
    str,
    _text(VERSIONS, r"^ *(>=|<=|==|!=|>|<)? *[0-9]+(\.[0-9]+)*( *, *(>=|<=|==|!=|>|<) *[0-9]+(\.[0-9]+)*)*$"),
]
NodeSet = Annotated[str, Field(json_schema_extra={"x-kind": NODES}), AfterValidator(_node_set)]
"""Without groups."""
GroupNodes = Annotated[str, Field(json_schema_extra={"x-kind": NODES}), AfterValidator(nodes.plain)]
"""Likewise, but expanded only when it is known how large all groups are together."""
NodeText = Annotated[str, Field(min_length=1, json_schema_extra={"x-kind": NODES}), AfterValidator(nodes.bounded)]
"""A node set in which `@rack1` is a group of the config, and `@all` every node; judged when the groups are known."""


_SOME = r"([0-9]*[1-9][0-9]*(\.[0-9]+)?|0+\.[0-9]*[1-9][0-9]*)"
"""A number that is not 0."""


def _schema(kind: Kind, number: str = _SOME, **more: Any) -> dict[str, Any]:
    units = "|".join(re.escape(unit) for unit in kind.units)
    pattern = rf"^{number} ?({units})$"
    return {"type": "string", "pattern": pattern, "examples": [kind.example], "x-kind": kind.name, **more}


Duration = Annotated[float, PlainValidator(seconds), WithJsonSchema(_schema(DURATION))]
"""Seconds."""
_ANY_TIME = _schema(DURATION, r"[0-9]+(\.[0-9]+)?")
Hold = Annotated[float, PlainValidator(lambda value: seconds(value, zero=True)), WithJsonSchema(_ANY_TIME)]
"""Seconds, 0 too."""
Size = Annotated[int, PlainValidator(lambda value: whole(SIZE, value)), WithJsonSchema(_schema(SIZE))]
"""Bytes."""
Rate = Annotated[int, PlainValidator(lambda value: whole(RATE, value)), WithJsonSchema(_schema(RATE))]
"""Mb/s."""
Clock = Annotated[int, PlainValidator(lambda value: whole(CLOCK, value)), WithJsonSchema(_schema(CLOCK))]
"""MHz."""
_NUMBER_OR_TEXT = _schema(LEVEL, type=["number", "string"], exclusiveMinimum=0)
Level = Annotated[Amount, PlainValidator(lambda value: parse(LEVEL, value)), WithJsonSchema(_NUMBER_OR_TEXT)]
"""An alert's threshold."""


def _power(value: Any) -> Amount:
    amount = parse(POWER, value)
    return amount if amount.unit == "%" else Amount(amount.value * POWER.units[amount.unit], "W")


def _power_limit(value: Any) -> Mapping[str, Amount]:
    return {name: _power(each) for name, each in (value if isinstance(value, dict) else {"*": value}).items()}


_BY_MODEL = {"anyOf": [_schema(POWER), {"type": "object", "additionalProperties": _schema(POWER)}], "x-kind": "power"}
PowerLimit = Annotated[Mapping[str, Amount], PlainValidator(_power_limit), WithJsonSchema(_BY_MODEL)]
"""GPU model (NVML's name) -> watts, or percent of its default; `*` is every model."""


def _within(floor: int, value: int) -> int:
    if value < floor:
        raise RefusedError(f"{value} bytes are below the kernel's floor of {floor}", "64MiB suits one data centre")
    if value > INT_MAX:
        raise RefusedError(f"{value} bytes are more than the kernel takes", f"the most is {INT_MAX}B")
    return value


def _buffer(floor: int) -> Callable[[Any], int]:
    """A socket buffer's limit. Tuning guides hold bare numbers such as 2048 that mean bytes, KiB or MiB."""

    def convert(value: Any) -> int:
        if isinstance(value, int) and not isinstance(value, bool):
            why = f": as bytes the kernel refuses it (its floor is {floor}) and keeps the old value"
            raise RefusedError(f"{value} has no unit{why if value < floor else ''}", _readings(value, floor))
        return _within(floor, whole(SIZE, value, zero=True))

    return convert


def _readings(value: int, floor: int) -> str:
    """What somebody who wrote a bare number may have meant, and what comes of it."""
    if value > 256 << 10:
        return f"for bytes write {value}B, which is {size(value)}"
    kib = "less than the default of recent kernels (4MiB)" if value <= 4 << 10 else size(value << 10)
    mib = f"more than the kernel takes ({INT_MAX}B)" if value << 20 > INT_MAX else size(value << 20)
    plain = "" if value < floor else f"{value}B is less than the default; "
    return f"{plain}{value}KiB is {kib}; {value}MiB is {mib}; 64MiB suits one data centre"


def _rising(value: tuple[int, ...]) -> tuple[int, ...]:
    if len(value) != 3 or list(value) != sorted(value):
        raise RefusedError("three rising sizes are expected", "minimum, default, maximum: [4KiB, 128KiB, 64MiB]")
    return value


def _limited(floor: int) -> WithJsonSchema:
    return WithJsonSchema(_schema(SIZE, **{"x-range": f"{floor}B to {INT_MAX}B"}))


ReceiveBuffer = Annotated[int, PlainValidator(_buffer(2304)), _limited(2304)]
"""Bytes. The kernel refuses less than SOCK_MIN_RCVBUF (include/net/sock.h): 2304 as measured on 6.18."""
SendBuffer = Annotated[int, PlainValidator(_buffer(4608)), _limited(4608)]
"""Bytes, at least SOCK_MIN_SNDBUF: twice that of receiving."""
_Field = Annotated[Size, AfterValidator(lambda value: _within(1, value)), _limited(1)]
Triple = Annotated[
    tuple[_Field, ...], Strict(False), Field(json_schema_extra={"minItems": 3, "maxItems": 3}), AfterValidator(_rising)
]
"""Bytes: minimum, default, maximum."""


def _sysctl(value: Any) -> str:
    items = value if isinstance(value, list) else [value]
    for item in items:
        if isinstance(item, bool) or not isinstance(item, (int, str)) or not str(item).isprintable():
            raise RefusedError(f"{shown(item)} is no kernel value", "write what /proc/sys shows: a number or a word")
        if re.fullmatch(r"[0-9.]+ ?(B|[KMGT]i?B?)", str(item)):
            raise RefusedError(f"no units for this key: {item!r}", "write the number as /proc/sys shows it")
    return " ".join(map(str, items))


def _mask(value: Any) -> int:
    number = int(value) if isinstance(value, (bool, int)) else -1
    if not 0 <= number <= 3:
        raise RefusedError(
            f"{shown(value)} is no mode of NUMA balancing", "write false, true, or the kernel's mask: 0 to 3"
        )
    return number


def _memlock(value: Any) -> int:
    return -1 if value == "unlimited" else whole(SIZE, value)


def _environment(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise RefusedError(f"{shown(value)} is no text", "put quotes around it")
    if not str(value).isprintable():
        raise RefusedError(f"{value!r} has unprintable characters")
    return str(value)


def _any(kind: str, *types: str) -> WithJsonSchema:
    return WithJsonSchema({"type": list(types), "x-kind": kind})


KernelValue = Annotated[str, PlainValidator(_sysctl), _any("kernel value", "integer", "string", "array")]
"""As /proc/sys shows it."""
NumaMask = Annotated[int, PlainValidator(_mask), _any("true | false | 0 to 3", "boolean", "integer")]
MemoryLock = Annotated[int, PlainValidator(_memlock), _any("size or unlimited", "string")]
"""Bytes; -1 is unlimited, as RLIM_INFINITY is."""
Text = Annotated[str, PlainValidator(_environment), _any("text", "string", "integer")]
"""Of an environment variable or an ssh option; a number may stand without quotes."""
