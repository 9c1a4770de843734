"""Which Xid errors came between two ticks. The counters alone would leave it to each reader to compare them."""

from __future__ import annotations

from typing import NamedTuple

from ..node.report import Report

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
        seen = {one.labels: one.value for one in report.samples if one.series == SEEN}
        found = []
        for sample in report.samples:
            if sample.series != COUNT or sample.value is None:
                continue
            key = (report.node, *sample.labels)
            before, self._counts[key] = self._counts.get(key, 0.0), sample.value
            grown = sample.value - before if sample.value >= before else sample.value  # a sampler that began anew
            if grown and sample.labels[-1].isdecimal():  # what a node sends is not trusted
                gpu, uuid, xid = sample.labels
                found.append(XidEvent(gpu, uuid, int(xid), int(grown), seen.get(sample.labels) or sample.at))
        return tuple(found)
