"""No NVLink makes errors at a high rate.

Counters of a link's life say nothing (aws/eks-node-monitoring-agent#261): thousands of CRC errors stand on good
boards. What came since an earlier look is judged: a link that had to be trained anew is critical, replays and CRC
errors above their rate are warnings. Whether links are up is the business of gpu-links.
"""

from typing import Callable, Dict, List, Optional, Sequence, Tuple

from ...facts import Gpu, GpuLinkErrors
from ...report import Evidence, Finding, Status
from .. import Case, Check, Threshold
from ..growth import Growth, Look, grown, looks
from ..verdicts import ANSWERING, WELL, Verdict, judge

_SOURCE = "nvmlDeviceGetFieldValues"
_REMEDY = (
    "look for Xid 74, 144 to 150 and SXid in the kernel log; drain, reset all GPUs of the node; on PCIe boards reseat "
    "the bridge; have GPU or baseboard replaced if it comes back"
)
Read = Callable[[GpuLinkErrors], Optional[int]]
_COUNTERS: Tuple[Tuple[str, str, Read], ...] = (
    ("recoveries", "was trained anew", lambda link: link.recoveries),
    ("replays_per_minute", "sends packets again", lambda link: link.replays),
    ("crc_errors_per_second", "has CRC errors", lambda link: link.crc_errors),
)
_UNIT_S: Dict[str, float] = {"recoveries": 0.0, "replays_per_minute": 60.0, "crc_errors_per_second": 1.0}


def run(case: Case) -> Sequence[Finding]:
    well = "NVLinks with no more errors than are normal"
    return judge(CHECK, case, lambda gpu: _look(case, gpu), well, "at what rate its NVLinks make errors")


def _look(case: Case, gpu: Gpu) -> Optional[Verdict]:
    seen = False
    for name, words, read in _COUNTERS:
        counted = [pair for look in looks(case, gpu) for pair in _grown(look, gpu, read)]
        seen = seen or bool(counted)
        bad = [(link, growth) for link, growth in counted if growth.amount and _is_high(name, growth, case)]
        if bad:
            return _verdict(name, words, bad)
    return WELL if seen else None


def _grown(look: Look, gpu: Gpu, read: Read) -> List[Tuple[int, Growth]]:
    """By link."""
    before = {link.link_index: link for link in _links(look.gpu)}
    pairs = [(link, before[link.link_index]) for link in _links(gpu) if link.link_index in before]
    found = [(link.link_index, grown(look, read(was), read(link))) for link, was in pairs]
    return [(index, growth) for index, growth in found if growth]


def _links(gpu: Gpu) -> Sequence[GpuLinkErrors]:
    return (gpu.health.link_errors if gpu.health else None) or ()


def _is_high(name: str, growth: Growth, case: Case) -> bool:
    """A rate is that of at least one of its units of time, that a single event is not made a rate."""
    unit_s = _UNIT_S[name]
    allowed = case.thresholds[name] * max(1.0, growth.seconds / unit_s) if unit_s else case.thresholds[name]
    return growth.amount >= allowed


def _verdict(name: str, words: str, bad: Sequence[Tuple[int, Growth]]) -> Verdict:
    links = sorted({link for link, _ in bad})
    who = "NVLink {}".format(links[0]) if len(links) == 1 else "{} NVLinks: each".format(len(links))
    evidence: List[Evidence] = [Evidence("link {}".format(link), growth.text, _SOURCE) for link, growth in bad[:4]]
    status = Status.CRIT if name == "recoveries" else Status.WARN
    return Verdict(status, "{} {}".format(who, words), tuple(evidence), _REMEDY)


CHECK = Check(
    id="gpu-nvlink-errors",
    title="No NVLink makes errors at a high rate",
    tags=("health", "counter"),
    needs=("gpus",),
    run=run,
    thresholds=(
        Threshold("recoveries", 1, "recoveries", "DCGM fails a GPU at the first"),
        Threshold("replays_per_minute", 1, "per minute", "DCGM fails a GPU at the first since its last look"),
        Threshold("crc_errors_per_second", 100, "per second", "DCGM, its limit for CRC errors of flits"),
    ),
    group="gpu",
    after=(*ANSWERING, "gpu-fabric", "gpu-links"),
)
