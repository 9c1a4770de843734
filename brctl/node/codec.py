"""The one codec for what goes to a node and comes back: hand-written, strict, the same at both ends.

Plain JSON; a NamedTuple is an object with its field names, or an array of all its fields. Decoding checks every type,
because a node's answer is not trusted: what does not fit raises InvalidReportError, which names the place. The types of
the fields are read as they stand, so a module of such values has no `from __future__ import annotations`.
"""

import json
import re
import sys
from enum import Enum
from functools import lru_cache
from typing import Any, Callable, Dict, ForwardRef, List, Mapping, Sequence, Type, TypeVar, Union


class InvalidReportError(Exception):
    """The text is no such value; the message names the place."""


N = TypeVar("N")
_GREATEST = 2**64
_SURROGATE = re.compile("[\ud800-\udfff]")


def sound(text: str) -> str:
    """With U+FFFD for each surrogate: JSON may hold one, and nothing that is written as UTF-8."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


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


def wire(value: Any) -> bytes:
    """As `dumps`, but a NamedTuple is an array: half the bytes and an eighth of the time, for two of one version."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False, default=_value_of).encode("ascii")


def _value_of(member: Any) -> Any:
    if isinstance(member, Enum):
        return member.value
    raise TypeError("{!r} is no value".format(member))


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
        result: N = _object_decoder(wanted)(plain)
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
def _decoder(kind: Any, module: str) -> Callable[[Any], Any]:
    """What turns plain data into a `kind`, made once: 45 kB of JSON take a third of the time. `module` names it."""
    arguments: Any = getattr(kind, "__args__", ())
    if getattr(kind, "__origin__", None) is Union:  # Optional is the only union in use
        inner = _decoder(arguments[0], module)
        return lambda plain: None if plain is None else inner(plain)
    if getattr(kind, "__origin__", None) is tuple:
        return _list_decoder(_decoder(arguments[0], module))
    if isinstance(kind, ForwardRef):  # it is defined when it is first asked for (facts.py), so not before one comes
        return lambda plain: _object_decoder(getattr(sys.modules[module], kind.__forward_arg__))(plain)
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


@lru_cache(maxsize=None)
def _object_decoder(kind: Any) -> Callable[[Any], Any]:
    fields: Dict[str, Callable[[Any], Any]] = {}
    needed = set(kind._fields) - set(kind._field_defaults)

    def decode_object(plain: Any) -> Any:
        if not fields:  # the first of its kind: most commands see few of all kinds
            # At one stroke: another thread may decode its first too, and must not find half of them.
            fields.update({name: _decoder(hint, kind.__module__) for name, hint in kind.__annotations__.items()})
        if type(plain) is list and len(plain) == len(fields):
            return kind(*_each(fields, plain))
        if type(plain) is not dict:
            raise _MisfitError("an object is expected")
        if not (needed <= plain.keys() <= fields.keys()):
            missing = [name for name in fields if name in needed - set(plain)]
            raise _MisfitError("unknown {}, missing {}".format(sorted(set(plain) - set(fields)), missing))
        values = _each({name: fields[name] for name in plain}, list(plain.values()))
        return kind(**dict(zip(plain, values)))

    return decode_object


def _each(decoders: Mapping[str, Callable[[Any], Any]], items: Sequence[Any]) -> List[Any]:
    """The items, each decoded by the one that stands in its place."""
    values: List[Any] = []
    try:
        for decode_it, item in zip(decoders.values(), items):
            values.append(decode_it(item))  # their number is the place of the misfit
    except _MisfitError as misfit:
        raise misfit.at("." + list(decoders)[len(values)]) from None
    return values


def _enum_decoder(kind: Type[Enum]) -> Callable[[Any], Any]:
    members = {member.value: member for member in kind}

    def decode_enum(plain: Any) -> Any:
        try:
            return members[plain]
        except (KeyError, TypeError):
            raise _MisfitError("{!r} is no {}".format(plain, kind.__name__)) from None

    return decode_enum


def _simple_decoder(kind: Any) -> Callable[[Any], Any]:
    """Of text, truth and numbers. bool is an int to Python and must not pass as one; an int is a fine float."""

    def decode_text(plain: Any) -> Any:
        if type(plain) is not str:
            raise _MisfitError("str is expected, not {}".format(type(plain).__name__))
        return sound(plain)

    def decode_simple(plain: Any) -> Any:
        if type(plain) is not kind and not (kind is float and type(plain) is int):
            raise _MisfitError("{} is expected, not {}".format(kind.__name__, type(plain).__name__))
        # JSON has numbers of any size; those that no machine has would break whoever converts or prints them.
        if (kind is int or kind is float) and not -_GREATEST <= plain <= _GREATEST:
            raise _MisfitError("a number beyond 2^64")
        return kind(plain)

    return decode_text if kind is str else decode_simple
