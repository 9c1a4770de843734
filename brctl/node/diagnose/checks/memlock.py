"""Jobs may lock as much memory as RDMA wants to register.

NCCL and MPI pin what a NIC reads and writes, and fail with `Cannot allocate memory` where the limit is low. A job has
the limit of what starts it (slurmd, kubelet, containerd), which a line in limits.conf does not change: that counts for
logins alone. Where no such service is found it is our own login that is judged, and only noted.
"""

from typing import Optional, Sequence

from ...facts import MemoryLock
from ...report import Evidence, Finding, Status
from .. import Case, Check, Threshold, hosts

_GIB = 1 << 30
_REMEDY = (
    "`LimitMEMLOCK=infinity` in the service's unit (systemctl edit), restart it; for logins a file in "
    "/etc/security/limits.d with `* - memlock unlimited`"
)


def run(case: Case) -> Sequence[Finding]:
    if not hosts.has_rdma(case.seen):
        return (CHECK.finding(Status.NA, "no RDMA port is up"),)
    limits = case.seen.memlocks or ()
    services = [limit for limit in limits if limit.process.endswith(".service")]
    judged = services or limits
    low = [limit for limit in judged if _is_low(limit, case.thresholds["least_gib"])]
    if not low:
        names = ", ".join(limit.process for limit in judged)
        return (CHECK.finding(Status.PASS, "{}: {}".format(names, _text(judged[0].soft_bytes))),)
    status = hosts.unfit(case.seen) if services else Status.INFO
    words = ", ".join("{} may lock {}".format(limit.process, _text(limit.soft_bytes)) for limit in low)
    evidence = tuple(Evidence(limit.process, _text(limit.soft_bytes), "/proc/PID/limits") for limit in low)
    remedy = _REMEDY if status is Status.WARN else None
    return (CHECK.finding(status, words, evidence=evidence, remedy=remedy),)


def _is_low(limit: MemoryLock, least_gib: float) -> bool:
    return limit.soft_bytes is not None and limit.soft_bytes < least_gib * _GIB


def _text(size: Optional[int]) -> str:
    return "without limit" if size is None else "{} KiB".format(size >> 10)


CHECK = Check(
    id="memlock",
    title="Jobs may lock memory for RDMA",
    tags=("health",),
    needs=("memlocks",),
    run=run,
    thresholds=(
        Threshold(
            "least_gib",
            64,
            "GiB",
            "Azure's images and NCCL's guide want no limit at all; the defaults of 64 KiB and 8 MiB fail (nccl-tests "
            "#206). Between those lies what jobs of today register: some GiB a GPU.",
        ),
    ),
    reads=("rdma", "pci"),
)
