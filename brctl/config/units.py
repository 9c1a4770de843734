"""Quantities with their units: `5s`, `64MiB`, `400Gb/s`, `650W`, `1%`."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_QUANTITY = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) ?([A-Za-z%/]{0,16})")


class RefusedError(ValueError):
    """A value that will not do, and what to write instead."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class Amount(NamedTuple):
    """A number that keeps its unit: `650W`, `80%`; the unit is empty for a plain count."""

    value: float
    unit: str


class Kind(NamedTuple):
    name: str
    units: Mapping[str, float]
    """Unit -> its worth in the base unit."""
    example: str
    most: Amount
    """More cannot be meant, nor can nothing: a timer takes no century, and a limit of 0W is none."""


DURATION = Kind("duration", {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}, "5s", Amount(366, "d"))
_SIZES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
SIZE = Kind("size", _SIZES, "64MiB", Amount(1024, "TiB"))
RATE = Kind("rate", {"Mb/s": 1, "Gb/s": 1000, "Tb/s": 1_000_000}, "400Gb/s", Amount(100, "Tb/s"))
CLOCK = Kind("clock", {"MHz": 1, "GHz": 1000}, "1200MHz", Amount(100, "GHz"))
POWER = Kind("power", {"W": 1, "kW": 1000, "%": 1}, "650W", Amount(100, "kW"))
LEVEL = Kind("level", {"": 1, "%": 1, "C": 1, "W": 1}, "85", Amount(1e15, ""))
KINDS = {kind.name: kind for kind in (DURATION, SIZE, RATE, CLOCK, POWER, LEVEL)}


def parse(kind: Kind, value: Any, *, zero: bool = False) -> Amount:
    """Number and unit of a value as it is written; `zero`: nothing can be meant too. Raises RefusedError."""
    usual = f"write a number and one of {', '.join(filter(None, kind.units))}: {kind.example}"
    match = None if isinstance(value, (bool, list, dict)) else _QUANTITY.fullmatch(str(value))
    if not match:
        raise RefusedError(f"{shown(value)} is no {kind.name}", usual)
    number, unit = match.groups()
    if unit in kind.units:
        amount, most = Amount(float(number), unit), Amount(100, "%") if unit == "%" else kind.most
        if not (zero or amount.value) or amount.value * kind.units[unit] > most.value * kind.units[most.unit]:
            hint = f"at most {most.value:g}{most.unit}" if amount.value else f"more than 0: {kind.example}"
            raise RefusedError(f"{value} is out of range", hint)
        return amount
    if not unit:
        raise RefusedError(
            f"{number} has no unit", f"for bytes write {number}B; else {usual}" if kind is SIZE else usual
        )
    near = _near(unit, kind)
    if kind is RATE and "B" in unit:
        raise RefusedError(f"{unit!r} would be bytes", f"network rates count bits: {number}{near}")
    if kind is SIZE and near and unit[1:] in ("", "b", "B"):
        raise RefusedError(
            f"{unit!r} may be powers of 1000 or of 1024", f"write {number}{near}, or the exact number with B"
        )
    raise RefusedError(f"unknown unit {unit!r}", f"did you mean {number}{near}?" if near else usual)


def shown(value: Any) -> str:
    """A value in a message."""
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "`key: value` lines"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _near(unit: str, kind: Kind) -> str | None:
    """The unit that is meant by `sec`, `min`, `MB`, `Gbps` or `mhz`."""
    whole = [known for known in kind.units if known and unit.lower().startswith(known.lower())]
    alike = [known for known in kind.units if known[:1].lower() == unit[0].lower()]
    return max(whole, key=len, default=None) or next(iter(alike), None)


def base(kind: Kind, value: Any, *, zero: bool = False) -> float:
    """The number in the base unit. Raises RefusedError."""
    amount = parse(kind, value, zero=zero)
    return amount.value * kind.units[amount.unit]


def whole(kind: Kind, value: Any, *, zero: bool = False) -> int:
    """As base, but refuses what is no whole number."""
    number = base(kind, value, zero=zero)
    if number != int(number):
        raise RefusedError(f"{value} is no whole number of {next(iter(kind.units))}")
    return int(number)


def seconds(value: Any, *, zero: bool = False) -> float:
    """Of a duration: 120.0 for `2m`. Raises RefusedError, a ValueError."""
    return base(DURATION, value, zero=zero)
