"""Numbers with their units, in few letters. `missing` stands for one that there is not: `-` is not there, `?` could not
be read now."""

from __future__ import annotations

from ...node.report import State

_DECIMAL = ("", "k", "M", "G", "T", "P")
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def percent(share: float | None, missing: str = "-") -> str:
    return missing if share is None else f"{share * 100:.0f}%"


def rate(per_s: float | None, missing: str = "-") -> str:
    """`12.4 GB/s`"""
    return missing if per_s is None else f"{decimal(per_s)}B/s"


def decimal(value: float) -> str:
    """`12.4 G`, before the unit."""
    return _scaled(value, 1000, _DECIMAL)


def size(value: float | None, missing: str = "-") -> str:
    """`61.2 GiB`"""
    return missing if value is None else _scaled(value, 1024, _BINARY)


def filled(used: float | None, total: float | None, missing: str = "-") -> str:
    """`61/80 GiB`"""
    if used is None or not total:
        return size(used, missing)
    power = _power(total, 1024, len(_BINARY))
    return f"{used / 1024**power:.{0 if total / 1024**power >= 10 else 1}f}/{_scaled(total, 1024, _BINARY, 0)}"


def watts(value: float | None, missing: str = "-") -> str:
    if value is None:
        return missing
    return f"{value / 1000:.1f} kW" if value >= 10_000 else f"{value:.0f} W"


def celsius(value: float | None, missing: str = "-") -> str:
    return missing if value is None else f"{value:.0f}C"


def hertz(value: float | None, missing: str = "-") -> str:
    return missing if value is None else f"{value / 1e6:.0f} MHz"


def lasting(seconds: float) -> str:
    """`12 s`, `3 min`, `2 h`"""
    for limit, unit, worth in ((120, "s", 1), (7200, "min", 60)):
        if seconds < limit:
            return f"{seconds / worth:.0f} {unit}"
    return f"{seconds / 3600:.0f} h"


def absent(state: State | None) -> str:
    """What stands for a value that there is not."""
    return "?" if state in (State.STALE, State.TIMEOUT) else "-"


def _scaled(value: float, base: int, units: tuple[str, ...], digits: int | None = None) -> str:
    power = _power(abs(value), base, len(units))
    scaled = value / base**power
    if digits is None:
        digits = 1 if power and scaled < 99.95 else 0
    return f"{scaled:.{digits}f} {units[power]}"


def _power(value: float, base: int, units: int) -> int:
    power = 0
    while value >= base - 0.5 and power < units - 1:
        value, power = value / base, power + 1
    return power
