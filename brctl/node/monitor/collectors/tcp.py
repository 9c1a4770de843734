"""TCP of the whole machine: segments sent, and what part of them was sent again.

That part is a measure of loss on every network that TCP goes over. Where fewer than 1000 segments were sent since the
last look it is not told.
"""

from typing import Dict

from ...host import Host
from .. import Collector, Kind, Reading, Readings
from ..previous import Previous

_FILE = "/proc/net/snmp"
LEAST_SEGMENTS = 1000
_made = Kind("tcp")
_COUNTERS = {
    name: _made.counter("tcp_{}_total".format(series), "", text, "{}, Tcp {}".format(_FILE, name))
    for name, series, text in (
        ("OutSegs", "sent_segments", "Segments sent, those sent again left out."),
        ("RetransSegs", "retransmitted_segments", "Segments sent again."),
        ("InErrs", "receive_errors", "Segments received with errors."),
        ("OutRsts", "resets_sent", "Connections refused or broken off."),
    )
}
_OPEN = _made.gauge("tcp_connections", "", "Connections that are established.", _FILE + ", Tcp CurrEstab")
_RATIO = _made.gauge(
    "tcp_retransmit_ratio", "ratio", "Of the segments sent since the last look, those sent again.", _FILE
)


def run(host: Host, previous: Previous) -> Readings:
    seen = parse(host.reread(_FILE) or "")
    for name, series in _COUNTERS.items():
        yield Reading(series, seen.get(name))
    yield Reading(_OPEN, seen.get("CurrEstab"))
    ratio = previous.ratio("tcp", seen.get("RetransSegs"), seen.get("OutSegs"), LEAST_SEGMENTS)
    if ratio is not None:
        yield Reading(_RATIO, ratio)


def parse(text: str) -> Dict[str, int]:
    """The line of names and the line of numbers that begin with `Tcp:`."""
    rows = [line.split()[1:] for line in text.splitlines() if line.startswith("Tcp:")]
    return {name: int(number) for name, number in zip(*rows)} if len(rows) == 2 else {}


COLLECTOR = Collector(id="tcp", title="TCP and its retransmissions", every_s=1.0, series=tuple(_made.all), of_host=run)
