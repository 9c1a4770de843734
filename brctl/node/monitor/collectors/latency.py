"""How long it takes to chosen nodes and back: `monitor.peers` of the config.

Measured is the handshake of a TCP connection to the port of ssh, which needs no privilege and nothing on the other
side but its kernel: a refusal is an answer too. A peer from which none comes within the limit is 0 in `..._reachable`
and has no round trip. All are asked at once, so that those which are silent cost the others nothing.
"""

from functools import partial
from typing import Optional, Sequence

from ...deadline import HungError, run_all
from ...host import Host
from .. import Collector, Kind, Reading, Readings
from ..previous import Previous

PORT = 22
LIMIT_S = 0.4
"""For one answer: a hundred times what the slowest of data centres takes. Below the sampler's patience."""
_made = Kind("latency", ("peer",))
_TIME = _made.gauge(
    "peer_round_trip_seconds", "seconds", "Until a TCP handshake with port 22 is answered.", "connect(2)"
)
_ANSWERS = _made.gauge("peer_reachable", "", "1: it answers.", "connect(2)")


def run(host: Host, _: Previous, peers: Sequence[str]) -> Readings:
    for peer, seconds in zip(peers, run_all([partial(_round_trip, host, peer) for peer in peers])):
        if isinstance(seconds, HungError):  # whoever gives the address to the name is silent
            seconds = None
        if isinstance(seconds, Exception):
            raise seconds
        yield Reading(_ANSWERS, float(seconds is not None), (peer,))
        if seconds is not None:
            yield Reading(_TIME, seconds, (peer,))


def _round_trip(host: Host, peer: str) -> Optional[float]:
    try:
        return host.round_trip(peer, PORT, LIMIT_S)
    except OSError:  # no such name, no route
        return None


COLLECTOR = Collector(id="latency", title="Round trips to peers", every_s=5.0, series=tuple(_made.all), of_peers=run)
