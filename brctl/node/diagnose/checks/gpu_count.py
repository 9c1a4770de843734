"""As many GPUs are there as the config declares; where it declares accelerators without a number, at least one.

A GPU that is lost or hung is there, as is one that only the PCI bus shows: what is wrong with it is for gpu-responding.
Where no driver answers, the GPUs on the PCI bus are counted. Fewer than declared are critical, more a warning.
"""

from typing import Iterator

from ...report import Evidence, Finding, Status
from .. import Case, Check, gpus, reason
from ..parts import counted

_KEY = "hardware.accelerator.count"
_REMEDY = (
    "compare with `lspci -d 10de:`, and look for 'fallen off the bus' in the kernel log; power-cycle the node cold; "
    "what stays away needs hands: seating, power, replacement"
)
_MORE = "correct the config: it declares fewer GPUs than are there"


def run(case: Case) -> Iterator[Finding]:
    seen, want = case.seen, case.want.accelerator
    on_bus = gpus.on_bus(seen)
    unread = [problem for problem in seen.problems if problem.part in ("gpus", "pci")]
    if seen.gpus:
        count, source = len(seen.gpus), "nvmlDeviceGetCount_v2 and /sys/bus/pci/devices"
    elif on_bus is None and unread:
        yield CHECK.finding(Status.UNKNOWN, unread[0].message, reason=reason(unread[0].reason))
        return
    else:
        count, source = len(on_bus or ()), "/sys/bus/pci/devices"
    if want and want.gpu_count is None and count == 0:
        evidence = (Evidence("GPUs", "0", source), Evidence("declared", "some", "hardware.accelerator"))
        yield CHECK.finding(Status.CRIT, "no GPU, but accelerators are declared", evidence=evidence, remedy=_REMEDY)
    else:
        number = want.gpu_count if want else None
        remedy = _MORE if count > (number or 0) else _REMEDY
        yield counted(CHECK, "GPUs", count, number, source, _KEY, remedy)


CHECK = Check(
    id="gpu-count",
    title="All declared GPUs are there",
    tags=("inventory",),
    needs=(),
    run=run,
    group="gpu",
    after=("gpu-driver", "gpu-responding"),
)
