"""A mocked machine whose network, disks and CPUs work: its counters as a function of the monotonic clock, so that every
process sees the same ones. What stands at 0 bytes is not in use and stays so. Its GPUs work by nvml_load.py."""

import re
from functools import lru_cache
from typing import Callable, Dict, Match, Optional, Tuple

SEED = 7
"""Of the GPUs' load."""
_RELATIVE = 2.2e-4
"""By this part of what they are at first, traffic counters grow in a second: 148 Gb/s on a rail of 400."""

_Growth = Tuple["re.Pattern[str]", Tuple[Optional[float], ...]]
"""What holds the numbers, one in each group, and how much each grows in a second; None: relatively."""
_GROWING: Dict[str, _Growth] = {
    "/proc/net/dev": (
        re.compile(r"(?<=: )([1-9]\d*) (\d+) (?:\d+ ){6}(\d+) (\d+)"),
        (None, None, None, None),
    ),
    "/proc/net/snmp": (re.compile(r"(?m)(?<=^Tcp: 1 200 120000 -1 )(?:\d+ ){5}(\d+) (\d+) (\d+)"), (5100, 5000, 0.6)),
    "/proc/stat": (re.compile(r"(?m)^cpu  (\d+) \d+ (\d+) (\d+)"), (6400, 700, 15300)),
    "/proc/diskstats": (
        re.compile(r"(?m)^ +\d+ +\d+ \S+ (\d+) \d+ (\d+) (\d+) (\d+) \d+ (\d+) (\d+) \d+ (\d+)"),
        (900, 1_800_000, 120, 210, 430_000, 66, 180),
    ),
    "/proc/pressure/cpu": (re.compile(r"(?m)^some .*total=(\d+)"), (21_000,)),
    "/proc/pressure/io": (re.compile(r"(?m)^some .*total=(\d+)\nfull .*total=(\d+)"), (9_000, 4_000)),
}
_GROWING_RDMA: Dict[str, Optional[float]] = {
    "counters/port_xmit_data": None,
    "counters/port_rcv_data": None,
    "counters/port_xmit_packets": None,
    "counters/port_rcv_packets": None,
    "hw_counters/packet_seq_err": 0.4,
    "hw_counters/out_of_sequence": 0.4,
    "hw_counters/np_cnp_sent": 310,
    "hw_counters/rp_cnp_handled": 290,
    "hw_counters/np_ecn_marked_roce_packets": 310,
}
_PORT = re.compile(r"(.*/infiniband/[^/]+/ports/\d+/)((?:hw_)?counters/\w+)\Z")


def grown(path: str, text_of: Callable[[str], Optional[str]], seconds: float) -> Optional[str]:
    """What stands in `path` now; None where it is as it was. `text_of` gives what is written there at the beginning."""
    if path in _GROWING:
        text, (pattern, rates) = text_of(path), _GROWING[path]
        return None if text is None else pattern.sub(lambda match: _added(match, rates, seconds), text)
    port, counter = _of_port(path)
    if counter not in _GROWING_RDMA:
        return None
    text = text_of(path)
    if text is None or (text_of(port + "counters/port_xmit_data") or "0\n") == "0\n":
        return None  # no link, no traffic
    return "{}\n".format(_number(text, _GROWING_RDMA[counter], seconds))


@lru_cache(maxsize=None)
def _of_port(path: str) -> Tuple[str, str]:
    """The folder of an RDMA port and the counter of it that a path is; each is read in every tick."""
    found = _PORT.match(path)
    return (found.group(1), found.group(2)) if found else (path, "")


def _number(text: str, rate: Optional[float], seconds: float) -> int:
    number = int(text)
    return number + int((number * _RELATIVE if rate is None else rate) * seconds)


def _added(match: "Match[str]", rates: Tuple[Optional[float], ...], seconds: float) -> str:
    """The match with its numbers grown, from the last to the first, so that places stay right."""
    text, start = match.group(), match.start()
    for place in range(len(rates), 0, -1):
        if match.group(place):
            begin, end = match.start(place) - start, match.end(place) - start
            text = text[:begin] + str(_number(match.group(place), rates[place - 1], seconds)) + text[end:]
    return text
