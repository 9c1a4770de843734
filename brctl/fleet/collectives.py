"""all_reduce_perf on each node by itself: which node's GPUs are slower than those of its like, or compute wrongly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..node.report import Evidence, Finding, Report, Status, Subject
from ..node.siblings import median
from . import benchmarks
from .pairing import DEVIATIONS, LEAST_SAMPLES, LEAST_SHARE, SIGMA_OF_MAD
from .paths import tool_finding

_REMEDY = "look at NVLink, clocks, power and PCIe of this node: brctl diagnose run --level full"


def findings(reports: Sequence[Report]) -> Mapping[str, tuple[Finding, ...]]:
    """Of each node that was asked: what its own log says, and how it stands among nodes of the same GPUs."""
    logs = {report.node: benchmarks.parse(report.collective) for report in reports if report.collective}
    peaks = {
        node: ((log.collective.gpu, log.collective.ranks), log.collective.peak)
        for node, log in logs.items()
        if log and log.collective and log.collective.rows
    }
    found: dict[str, tuple[Finding, ...]] = {}
    for report in reports:
        log = logs.get(report.node)
        subject = Subject("host", "", report.node)
        mine = [tool_finding(report.node, fault) for fault in _faults(report)]
        if log:
            wrong = (one for one in benchmarks.findings(log, report.node, None) if one.status is not Status.PASS)
            mine += [one._replace(subject=subject, fold=one.summary) for one in wrong]
        elif report.collective:
            mine.append(tool_finding(report.node, "all_reduce_perf printed nothing that is known"))
        told = any(one.check == "comm-slow" for one in mine)
        mine += [] if told else _among_peers(report.node, peaks)
        found[report.node] = tuple(mine)
    return found


def _faults(report: Report) -> list[str]:
    """Why there is no log; a call that hangs is named with its command."""
    errors = (error.message if error.kind == "hung" else f"all_reduce_perf: {error.message}" for error in report.errors)
    return [*report.notes, *errors]


def _among_peers(node: str, peaks: Mapping[str, tuple[object, float]]) -> list[Finding]:
    if node not in peaks:
        return []
    kin, own = peaks[node]
    values = [peak for other, peak in peaks.values() if other == kin]
    middle = median(values)
    spread = SIGMA_OF_MAD * median(abs(value - middle) for value in values)
    if len(values) < LEAST_SAMPLES or own >= middle - max(DEVIATIONS * spread, LEAST_SHARE * middle):
        return []
    summary = f"all-reduce over its GPUs is slower than on its peers: {own:.3g} GB/s, usual {middle:.3g}"
    evidence = (Evidence("bus bandwidth", f"{own:.4g} GB/s", "all_reduce_perf"),)
    fold = "all-reduce over its GPUs is slower than on its peers"
    return [Finding("comm-collective", Status.WARN, Subject("host", "", node), summary, evidence, _REMEDY, fold=fold)]
