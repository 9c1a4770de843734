"""What goes over each network interface, and what is lost on it.

All interfaces stand in one file. Those of containers (veth) are left out: they come and go, and what goes over them
goes over a physical interface too. That an interface has lost something is told as counters; a share of all packets is
told for the networks that have an end to end measure (rdma, tcp).
"""

from typing import Dict, List

from ...host import Host
from .. import Collector, Kind, Reading, Readings
from ..previous import Previous

_FILE = "/proc/net/dev"
_LOOPBACK, _LEFT_OUT = "lo", ("veth", "cali", "lxc", "docker")
_made = Kind("network", ("interface",))
_COUNTERS = {
    place: _made.counter("network_{}_total".format(name), unit, text, _FILE)
    for place, name, unit, text in (
        (0, "receive_bytes", "bytes", "Received."),
        (1, "receive_packets", "", "Packets received."),
        (2, "receive_errors", "", "Packets received with errors."),
        (3, "receive_drops", "", "Packets received and dropped."),
        (8, "transmit_bytes", "bytes", "Sent."),
        (9, "transmit_packets", "", "Packets sent."),
        (10, "transmit_errors", "", "Packets that could not be sent."),
        (11, "transmit_drops", "", "Packets to be sent and dropped."),
    )
}
"""By their place in the line (Documentation/filesystems/proc.rst)."""
_RATES = {
    place: _made.gauge("network_{}_bytes_per_second".format(way), "bytes per second", "Since the last look.", _FILE)
    for place, way in ((0, "receive"), (8, "transmit"))
}


def run(host: Host, previous: Previous) -> Readings:
    for interface, numbers in parse(host.reread(_FILE) or "").items():
        for place, series in _COUNTERS.items():
            yield Reading(series, numbers[place], (interface,))
        for place, series in _RATES.items():
            rate = previous.rate((interface, place), numbers[place], bits=64)
            if rate is not None:
                yield Reading(series, rate, (interface,))


def parse(text: str) -> Dict[str, List[int]]:
    """The sixteen counters of each interface that is told."""
    found: Dict[str, List[int]] = {}
    for line in text.splitlines()[2:]:
        name, _, numbers = line.strip().partition(":")
        values = [int(number) for number in numbers.split()]
        if len(values) >= 16 and name != _LOOPBACK and not name.startswith(_LEFT_OUT):
            found[name] = values
    return found


COLLECTOR = Collector(id="network", title="Network interfaces", every_s=1.0, series=tuple(_made.all), of_host=run)
