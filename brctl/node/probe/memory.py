"""Memory of the host."""

from typing import Optional

from ..facts import Memory
from ..host import Host


def read(host: Host) -> Optional[Memory]:
    """None where there is no /proc. Raises OSError, ValueError."""
    text = host.read("/proc/meminfo")
    return None if text is None else parse_meminfo(text)


def parse_meminfo(text: str) -> Memory:
    """/proc/meminfo; its `kB` are KiB. Raises ValueError where a figure is missing."""
    return Memory(*(_needed(text, name) for name in ("MemTotal", "MemAvailable", "SwapTotal")))


def _needed(text: str, name: str) -> int:
    found = size(text, name)
    if found is None:
        raise ValueError("/proc/meminfo has no {}".format(name))
    return found


def size(text: str, name: str) -> Optional[int]:
    """Bytes, of a line such as `MemTotal: 5 kB`; None where there is none. (To take all fifty lines apart takes
    three times as long.)"""
    number, *rest = ("\n" + text).partition("\n{}:".format(name))[2].split(None, 2) or [""]
    return int(number) << 10 if number.isdecimal() and rest[:1] == ["kB"] else None
