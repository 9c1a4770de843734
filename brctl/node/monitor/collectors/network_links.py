"""Whether each physical network interface has a link, how fast, and how often it was lost."""

from ...host import Host, read_if_valid
from .. import Collector, Kind, Reading, Readings
from ..previous import Previous

_NET = "/sys/class/net"
_made = Kind("network-links", ("interface",))
_UP = _made.gauge("network_up", "", "1: it is up and has a link.", _NET + "/*/operstate")
_SPEED = _made.gauge("network_speed_bytes_per_second", "bytes per second", "Of its link.", _NET + "/*/speed")
_CHANGES = _made.counter(
    "network_carrier_changes_total", "", "Times that it got or lost its link.", _NET + "/*/carrier_changes"
)
_BYTES_OF_A_MEGABIT = 125000


def run(host: Host, _: Previous) -> Readings:
    for interface in host.listdir(_NET) or ():
        folder = "{}/{}/".format(_NET, interface)
        state = host.read(folder + "operstate")
        if state is None or host.readlink(folder + "device") is None:  # bonding_masters, or nothing with hardware
            continue
        yield Reading(_UP, float(state.strip() == "up"), (interface,))
        speed = int(read_if_valid(host, folder + "speed") or -1)
        known = 0 < speed < 0xFFFFFFFF
        yield Reading(_SPEED, float(speed * _BYTES_OF_A_MEGABIT) if known else None, (interface,))
        changes = host.read(folder + "carrier_changes")
        yield Reading(_CHANGES, None if changes is None else int(changes), (interface,))


COLLECTOR = Collector(
    id="network-links", title="Links of network interfaces", every_s=10.0, series=tuple(_made.all), of_host=run
)
