"""Local file systems, and /dev/shm, have room.

A full one stops jobs in odd places: checkpoints, containers, logs, NCCL's shared memory. Servers' file systems are not
looked at: one node is not who should tell that they are full.
"""

from typing import Iterator

from ...facts import Filesystem
from ...report import Evidence, Finding, Status, Subject
from .. import Case, Check, Threshold

_MIB = 1 << 20
_REMEDY = (
    "see what is large: `du -xh --max-depth=2 {} | sort -h | tail`; rotate logs, remove images and old checkpoints"
)


def run(case: Case) -> Iterator[Finding]:
    found = list(_full(case))
    yield from found
    if not found:
        worst = max(case.seen.filesystems or (), key=_used, default=None)
        text = "none" if worst is None else "the fullest is {}, {:.0f} %".format(worst.target, _used(worst))
        number = len(case.seen.filesystems or ())
        yield CHECK.finding(Status.PASS, "{} local file systems; {}".format(number, text))


def _full(case: Case) -> Iterator[Finding]:
    limit = case.thresholds["used_percent"]
    for one in case.seen.filesystems or ():
        room = one.available_bytes < case.thresholds["least_mib"] * _MIB
        files = 100 * one.inodes_used / one.inodes if one.inodes else 0.0
        if max(_used(one), files) < limit:
            continue
        what = "full" if _used(one) >= limit else "out of inodes"
        share = _used(one) if what == "full" else files
        summary = "{} is {}: {:.0f} %, {} MiB left".format(one.target, what, share, one.available_bytes // _MIB)
        evidence = (Evidence(one.target, "{:.1f} %".format(share), "df {}".format(one.target)),)
        status = Status.CRIT if room and what == "full" else Status.WARN
        subject = Subject("mount", one.target, one.target)
        yield CHECK.finding(status, summary, subject, evidence, _REMEDY.format(one.target))


def _used(one: Filesystem) -> float:
    """As df counts it: without what root keeps for itself."""
    return 100 * one.used_bytes / (one.used_bytes + one.available_bytes)


CHECK = Check(
    id="disk-space",
    title="Local file systems have room",
    tags=("health",),
    needs=("filesystems",),
    run=run,
    thresholds=(
        Threshold("used_percent", 95, "%", "imbue's cluster-health takes a node out at 95 %."),
        Threshold("least_mib", 500, "MiB", "gpud: below 500 MB logs and containers fail at once."),
    ),
)
