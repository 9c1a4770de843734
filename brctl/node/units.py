"""Figures as people read them, and as machines write them."""

import math


def rate(mbps: int) -> str:
    """`400 Gb/s`; below one, `100 Mb/s`."""
    return "{:g} Gb/s".format(mbps / 1000) if mbps >= 1000 else "{} Mb/s".format(mbps)


def finite(text: str) -> float:
    """The number that a text is. Raises ValueError: none, or one that no machine has, which JSON cannot hold."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("{:.20} is no number".format(text))
    return number


def size(number: float) -> str:
    """Bytes in binary units, with three digits at least: `79.6 GiB`, `1008 GiB`, `2 TiB`."""
    unit = "B"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        if number < 1024:
            break
        number, unit = number / 1024, larger
    return "{:{}} {}".format(number, ".3g" if number < 999.5 else ".0f", unit)
