"""Every GPU has as many active NVLinks as the config declares: fewer are critical, more a warning.

Where no number is declared, GPUs of one model are compared. One that differs is a warning; on NVSwitches it is
critical, for there every GPU has all its links or cannot reach its peers. Without NVSwitches, GPUs that have no active
link are only noted where the others can be pairs: bridges join two or four PCIe boards, and leave out what is over. The
number is never a constant: an H100 SXM has 18, an H100 NVL or an A100 12, many PCIe boards none.
"""

from typing import Optional, Sequence, Tuple

from ...accel import NVIDIA
from ...facts import Gpu, Inventory
from ...report import Finding, Status
from ...request import ExpectedAccelerator
from ...siblings import Part
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
    parts = gpus.parts(known, _active, _text, _CALL)
    if want is not None:
        return judge(CHECK, "GPUs", parts, _declared(want), _REMEDY)
    if _on_switches(case.seen):
        return judge(CHECK, "GPUs", parts, None, _REMEDY, odd=Status.CRIT)
    return _bridged(parts)


def _bridged(parts: Sequence[Part]) -> Sequence[Finding]:
    alone = [part for part in parts if part.value and not part.value[0]]
    joined = [part for part in parts if part.value and part.value[0]]
    if not alone or len(joined) % 2:
        return judge(CHECK, "GPUs", parts, None, _REMEDY)
    names = ", ".join(part.subject.name for part in alone)
    summary = "bridged in part: {} of {} GPUs; no active NVLink: {}".format(len(joined), len(parts), names)
    found = judge(CHECK, "GPUs", [part for part in parts if part not in alone], None, _REMEDY)
    return CHECK.finding(Status.INFO, summary), *(one for one in found if one.status not in (Status.PASS, Status.NA))


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


def _on_switches(seen: Inventory) -> bool:
    """The newest NVSwitches are on no PCI bus of the host, but their GPUs are on a fabric. Where neither is told, as in
    saved output, a GPU's name tells its form: SXM boards have all their links or a fault."""
    switches = [device for device in seen.pci or () if device.vendor_id == NVIDIA.vendor_id]
    on_bus = any(device.pci_class == "0680" for device in switches)
    boards = [gpu.identity.name for gpu in seen.gpus or () if gpu.identity]
    return on_bus or any(gpu.fabric for gpu in seen.gpus or ()) or (seen.pci is None and any(map(_is_sxm, boards)))


def _is_sxm(name: str) -> bool:
    """NVIDIA names PCIe boards by what they are; of SXM ones, those since Hopper by their memory alone."""
    return "SXM" in name or (name.endswith(("HBM3", "HBM3e", " H200", " B200", " B300")) and "PCIe" not in name)


CHECK = Check(
    id="gpu-links",
    title="Every GPU has all its NVLinks",
    tags=("inventory",),
    needs=("gpus",),
    run=run,
    group="gpu",
    after=("gpu-driver", "gpu-responding", "gpu-fabric"),
)
