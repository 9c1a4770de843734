"""Every GPU has as many active NVLinks as the config declares: fewer are critical, more a warning.

Where no number is declared, GPUs of one model are compared. One that differs is a warning; where NVSwitches are on the
PCI bus it is critical, for there every GPU has all its links or cannot reach its peers. The number is never a constant:
an H100 SXM has 18, an H100 NVL or an A100 12, many PCIe boards none.
"""

from typing import Optional, Sequence, Tuple

from ...facts import Gpu, PciDevice
from ...report import Finding, Status
from ...request import ExpectedAccelerator
from .. import Case, Check, gpus
from ..parts import Declared, judge, shortage

_REMEDY = (
    "look for Xid 74, 144 to 150 and SXid in the kernel log and at `nvidia-smi nvlink -s`; see that the fabric manager "
    "runs; drain, then reset all GPUs of the node or reboot"
)

_CALL = "nvmlDeviceGetNvLinkState"

Count = Tuple[Optional[int]]
"""Of active links; (None,) is a GPU that has no NVLink at all, which among siblings that have is a finding too."""


def run(case: Case) -> Sequence[Finding]:
    known = case.seen.gpus or ()
    want = (case.want.accelerator or ExpectedAccelerator()).nvlinks
    answering = [gpu for gpu in known if not gpu.fault]
    if want is None and answering and not any(link.active for gpu in answering for link in gpu.links or ()):
        return (_none_active(answering),)
    declared = None if want is None else _declared(want)
    parts = gpus.parts(known, _active, _text, _CALL)
    return judge(CHECK, "GPUs", parts, declared, _REMEDY, Status.CRIT if _switches(case.seen.pci) else Status.WARN)


def _active(gpu: Gpu) -> Optional[Count]:
    """None where the GPU may have links, but would not tell."""
    if gpu.links is None:
        return (None,) if _CALL in gpu.unsupported else None
    return (sum(link.active for link in gpu.links),)


def _text(count: Count) -> str:
    return "no NVLink" if count[0] is None else "{} active NVLinks".format(count[0])


def _declared(want: int) -> Declared:
    return Declared("hardware.accelerator.nvlinks", _text((want,)), lambda count: shortage(count[0] or 0, want))


def _none_active(answering: Sequence[Gpu]) -> Finding:
    if all(gpu.links is None for gpu in answering):
        return CHECK.finding(Status.NA, "no GPU has NVLinks")
    return CHECK.finding(Status.INFO, "no NVLink of any GPU is active; none is declared")


def _switches(pci: Optional[Sequence[PciDevice]]) -> bool:
    return any(device.vendor_id == gpus.NVIDIA and device.pci_class == "0680" for device in pci or ())


CHECK = Check(
    id="gpu-links",
    title="Every GPU has all its NVLinks",
    tags=("inventory",),
    needs=("gpus",),
    run=run,
)
