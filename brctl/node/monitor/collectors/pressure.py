"""How much of the time processes could not go on for lack of CPU, memory or I/O.

These are the pressure stall informations of the kernel (PSI, Documentation/accounting/psi.rst).
"""

import re

from ...host import Host
from .. import Collector, Kind, Reading, Readings
from ..previous import Previous

_FOLDER = "/proc/pressure"
_made = Kind("pressure", ("resource", "kind"))
_WAITED = _made.counter(
    "pressure_waiting_seconds_total", "seconds", "In which some or all (full) processes waited.", _FOLDER + "/*"
)
_SHARE = _made.gauge("pressure_ratio", "ratio", "Part of the time since the last look.", _FOLDER + "/*")
_LINE = re.compile(r"^(some|full) .*total=(\d+)$", re.MULTILINE)
_US = 1e-6


def run(host: Host, previous: Previous) -> Readings:
    for resource in ("cpu", "memory", "io"):
        try:
            text = host.reread("{}/{}".format(_FOLDER, resource)) or ""
        except OSError:  # a kernel that was started with psi=0 answers EOPNOTSUPP
            continue
        for kind, waited_us in _LINE.findall(text):
            labels, waited_s = (resource, kind), int(waited_us) * _US
            yield Reading(_WAITED, waited_s, labels)
            share = previous.share(labels, waited_s)
            if share is not None:
                yield Reading(_SHARE, share, labels)


COLLECTOR = Collector(
    id="pressure", title="Waiting for CPU, memory and I/O", every_s=1.0, series=tuple(_made.all), of_host=run
)
