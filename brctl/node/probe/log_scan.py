"""Finds the few lines of a log that matter, at the speed of memory: only those are parsed.

A search for one text runs at some 2 GB/s, one regular expression for all of them at 0.1 GB/s (benchmarks/log.py).
"""

from typing import Iterable, Iterator, NamedTuple, Set, Tuple

PEEK = 4096
"""Bytes after a line that are shown with it: a hung task's stack."""
LONGEST = 1 << 20
"""Bytes of a line. The kernel's own have 1 kB; of what is longer only the end is looked at."""

NEEDLES = (
    b"NVRM: ",
    b"SXid (",
    b"PCIe Bus Error: ",
    b"AER: ",
    b"blocked for more than ",
    b"soft lockup - CPU",
    b"ut of memory: Kill",
    b"Will cause a leak",
    b"health compromised",
    b"firmware internal error",
    b"insufficient power",
    b"NETDEV WATCHDOG: ",
    b"ERROR detected invalid context",
    b"Linux version ",
    b"-- Boot ",
    b"-- Reboot --",
)
"""One of these is in every line that matters."""


class Line(NamedTuple):
    text: bytes
    after: bytes
    """What follows it, PEEK bytes at most."""


def candidates(blocks: Iterable[bytes]) -> Iterator[Line]:
    """The lines with one of NEEDLES, in order. `blocks` are cut anywhere; a line that is their last needs no end."""
    for buffer, end in _whole_lines(blocks):
        for start, stop in sorted(_found(buffer, end)):
            yield Line(buffer[start:stop].rstrip(b"\r"), buffer[stop + 1 : stop + 1 + PEEK])


def _whole_lines(blocks: Iterable[bytes]) -> Iterator[Tuple[bytes, int]]:
    """Buffers, and up to where each holds whole lines with what may be peeked at after them."""
    buffer = b""
    for block in blocks:
        buffer += block
        end = buffer.rfind(b"\n", 0, max(0, len(buffer) - PEEK)) + 1
        if end:
            yield buffer, end
            buffer = buffer[end:]
        elif len(buffer) > LONGEST:
            buffer = buffer[-PEEK:]
    yield buffer, len(buffer)


def _found(buffer: bytes, end: int) -> Set[Tuple[int, int]]:
    lines: Set[Tuple[int, int]] = set()
    for needle in NEEDLES:
        place = buffer.find(needle, 0, end)
        while place >= 0:
            start, stop = buffer.rfind(b"\n", 0, place) + 1, buffer.find(b"\n", place)
            lines.add((start, stop if stop >= 0 else len(buffer)))
            place = buffer.find(needle, stop, end) if stop >= 0 else -1
    return lines
