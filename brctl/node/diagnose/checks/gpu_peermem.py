"""NICs reach the memory of GPUs: by nvidia-peermem, or by DMA-BUF.

Without either, what goes from one node's GPU to another's passes through the host's memory, at half the speed or less.
DMA-BUF needs NVIDIA's open kernel modules and Linux 5.12 or later (CUDA documentation, GPUDirect RDMA).
"""

import re
from typing import Sequence

from ...report import Evidence, Finding, Status
from .. import Case, Check, hosts

_FIRST_WITH_DMA_BUF = (5, 12)
_REMEDY = "`modprobe nvidia-peermem`, and a line `nvidia-peermem` in /etc/modules-load.d/nvidia-peermem.conf"


def run(case: Case) -> Sequence[Finding]:
    peermem = case.seen.peermem
    if not hosts.has_rdma(case.seen) or not hosts.serves_gpus(case.seen) or peermem is None:
        return (CHECK.finding(Status.NA, "no RDMA port is up beside a GPU"),)
    if peermem.modules:
        return (CHECK.finding(Status.PASS, "{} is loaded".format(peermem.modules[0])),)
    release = case.seen.kernel.release if case.seen.kernel else ""
    version = tuple(int(number) for number in re.findall(r"\d+", release)[:2])
    if peermem.open_driver and version >= _FIRST_WITH_DMA_BUF:
        return (CHECK.finding(Status.PASS, "DMA-BUF: open driver on Linux {}".format(release)),)
    summary = "neither nvidia-peermem nor DMA-BUF: RDMA goes through the host's memory"
    evidence = (
        Evidence("modules", "none", "/sys/module/nvidia_peermem"),
        Evidence("open kernel modules", "yes" if peermem.open_driver else "no", "/proc/driver/nvidia/version"),
        Evidence("Linux", release or "unknown", "/proc/sys/kernel/osrelease"),
    )
    return (CHECK.finding(Status.WARN, summary, evidence=evidence, remedy=_REMEDY),)


CHECK = Check(
    id="gpu-peermem",
    title="NICs reach the memory of GPUs",
    tags=("health",),
    needs=("peermem",),
    run=run,
    reads=("rdma", "pci", "kernel"),
    after=("gpu-driver",),
)
