"""Which Xid errors came between two ticks. The counters alone would leave it to each reader to compare them."""

from __future__ import annotations

from typing import NamedTuple

from ..node.report import Report
from ..node.samples import of

COUNT, SEEN = "brctl_gpu_xid_errors_total", "brctl_gpu_xid_last_seen_timestamp_seconds"


class XidEvent(NamedTuple):
    """One GPU had one Xid, once or more."""

    gpu: str
    uuid: str
    xid: int
    times: int
    """Since the last tick; in the first, since the sampler began."""
    last_seen: float
    """Seconds since the epoch."""


class XidEvents:
    """Of many nodes, tick by tick."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, ...], float] = {}
        """By node, GPU, UUID and Xid."""

    def of(self, report: Report) -> tuple[XidEvent, ...]:
        """Those that came since the last Report of its node."""
        counts = [(it.labels, it.value, it.at) for it in of(report.samples, COUNT) if it.value is not None]
        if not counts:  # most ticks have none
            return ()
        seen = {it.labels: it.value for it in of(report.samples, SEEN)}
        found = []
        for labels, value, at in counts:
            key = (report.node, *labels)
            before, self._counts[key] = self._counts.get(key, 0.0), value
            grown = value - before if value >= before else value  # a sampler that began anew
            if grown and labels[-1].isdecimal():  # what a node sends is not trusted
                gpu, uuid, xid = labels
                found.append(XidEvent(gpu, uuid, int(xid), int(grown), seen.get(labels) or at))
        return tuple(found)
