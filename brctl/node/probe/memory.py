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
    figures = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if value.endswith(" kB"):
            figures[name] = int(value[:-3]) * 1024
    try:
        return Memory(figures["MemTotal"], figures["MemAvailable"], figures["SwapTotal"])
    except KeyError as missing:
        raise ValueError("/proc/meminfo has no {}".format(missing.args[0])) from None
