"""The default route: /proc/net/route."""

from typing import Optional

from ..host import Host

_FLAG_UP, _DEFAULT = 0x1, "00000000"


def default_route(host: Host) -> Optional[str]:
    """Its interface; None where there is none. Raises OSError."""
    return parse_default_route(host.read("/proc/net/route") or "")


def parse_default_route(text: str) -> Optional[str]:
    """The interface of the IPv4 default route with the least metric, in /proc/net/route."""
    rows = [line.split() for line in text.splitlines()[1:]]
    found = [
        (int(row[6]), row[0])
        for row in rows
        if len(row) > 7 and row[1] == row[7] == _DEFAULT and row[6].isdecimal() and int(row[3], 16) & _FLAG_UP
    ]
    return min(found)[1] if found else None
