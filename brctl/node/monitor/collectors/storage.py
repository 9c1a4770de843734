"""How much each disk reads and writes, how long it takes for it, and how busy it is.

Partitions and what lies in memory are left out. Latency is the mean of the requests that ended since the last look.
"""

import re
from typing import Dict, List

from ...host import Host
from .. import Collector, Kind, Reading, Readings
from ..previous import Previous

_FILE = "/proc/diskstats"
_WHOLE = re.compile(r"(nvme\d+n\d+|sd[a-z]+|vd[a-z]+|xvd[a-z]+|md\d+|dm-\d+|mmcblk\d+)\Z")
_SECTOR = 512
"""Bytes, whatever the disk has (Documentation/admin-guide/iostats.rst)."""
_MS = 1e-3
_made = Kind("storage", ("disk",))
_WAYS = ("read", "write")
_BYTES = [_made.counter("disk_{}_bytes_total".format(way), "bytes", "So far.", _FILE) for way in _WAYS]
_REQUESTS = [_made.counter("disk_{}s_total".format(way), "", "Requests that ended.", _FILE) for way in _WAYS]
_RATES = [
    _made.gauge("disk_{}_bytes_per_second".format(way), "bytes per second", "Since the last look.", _FILE)
    for way in _WAYS
]
_LATENCY = [
    _made.gauge("disk_{}_latency_seconds".format(way), "seconds", "Mean of a request since the last look.", _FILE)
    for way in _WAYS
]
_BUSY = _made.gauge("disk_busy_ratio", "ratio", "Part of the time since the last look in which it worked.", _FILE)
_PLACES = ((0, 2, 3), (4, 6, 7))
"""Of requests, sectors and milliseconds, for reads and writes."""
_BUSY_PLACE = 9


def run(host: Host, previous: Previous) -> Readings:
    for disk, numbers in parse(host.reread(_FILE) or "").items():
        for way, (requests, sectors, ms) in enumerate(_PLACES):
            size = numbers[sectors] * _SECTOR
            yield Reading(_BYTES[way], size, (disk,))
            yield Reading(_REQUESTS[way], numbers[requests], (disk,))
            rate = previous.rate((disk, way, "bytes"), size)
            if rate is not None:
                yield Reading(_RATES[way], rate, (disk,))
            latency = previous.ratio("{} {}".format(disk, way), numbers[ms] * _MS, numbers[requests], 1)
            if latency is not None:
                yield Reading(_LATENCY[way], latency, (disk,))
        busy = previous.share((disk, "busy"), numbers[_BUSY_PLACE] * _MS)
        if busy is not None:
            yield Reading(_BUSY, busy, (disk,))


def parse(text: str) -> Dict[str, List[int]]:
    """The numbers behind the name of each disk that is told."""
    rows = (line.split() for line in text.splitlines())
    return {row[2]: [int(number) for number in row[3:]] for row in rows if len(row) >= 14 and _WHOLE.match(row[2])}


COLLECTOR = Collector(id="storage", title="Disks", every_s=1.0, series=tuple(_made.all), of_host=run)
