"""How much of the time each interface had to be silent, or made its peer be so, by priority flow control.

What the driver counts, in microseconds (probe/port_counters.py has the names), is told as the share of the time since
the last look. A priority that never paused is left out.
"""

from typing import Iterator, Tuple

from ...host import Host
from ...probe.port_counters import pause
from .. import Collector, Kind, Reading, Readings
from ..previous import Previous

_NET = "/sys/class/net"
_made = Kind("pause", ("interface", "priority"))
_SERIES = {
    "rx": (
        _made.counter(
            "network_pause_received_seconds_total", "seconds", "Told to be silent by the peer.", "ethtool -S"
        ),
        _made.gauge("network_pause_received_ratio", "ratio", "Part of the time in which it was.", "ethtool -S"),
    ),
    "tx": (
        _made.counter("network_pause_sent_seconds_total", "seconds", "Told the peer to be silent.", "ethtool -S"),
        _made.gauge("network_pause_sent_ratio", "ratio", "Part of the time in which it did.", "ethtool -S"),
    ),
}
_US = 1e-6


def run(host: Host, previous: Previous) -> Readings:
    for interface in host.listdir(_NET) or ():
        if host.readlink("{}/{}/device".format(_NET, interface)) is None:
            continue
        for way, priority, spent_s in _durations(host, interface):
            total, share = _SERIES[way]
            yield Reading(total, spent_s, (interface, priority))
            part = previous.share((interface, way, priority), spent_s)
            if part is not None:
                yield Reading(share, part, (interface, priority))


def _durations(host: Host, interface: str) -> Iterator[Tuple[str, str, float]]:
    for name, value in (host.ethtool_statistics(interface) or {}).items():
        counted = pause(name)
        if counted and value:
            yield (*counted, value * _US)


COLLECTOR = Collector(
    id="pause", title="Pauses by priority flow control", every_s=5.0, series=tuple(_made.all), of_host=run
)
