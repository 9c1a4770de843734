"""Every GPU that the driver or the PCI bus knows answers the driver's library.

A GPU that is lost ("fallen off the bus"), needs a reset, is on the PCI bus but not in the library, or answers with an
error is critical. One whose call never returned, or that this user may not open, is unknown, as is a single call that
failed on a GPU that otherwise answers. All other GPU checks leave out what was not read, so that one fault is one
finding. Where no driver answers at all, gpu-driver says so.
"""

from typing import Iterator, List, Tuple

from ...facts import Gpu, GpuFault
from ...report import Evidence, Finding, Status
from .. import Case, Check, gpus, reason

_WORDS = {
    "lost": "is lost",
    "hung": "hangs",
    "permission": "may not be opened",
    "reset-required": "needs a reset",
    "invisible": "is on the PCI bus, but the driver does not list it",
}
_POWER_CYCLE = "drain the node and power-cycle it cold; if it happens again, check seating and power, then replace"
_REMEDIES = {
    "lost": _POWER_CYCLE,
    "hung": "run nothing more on it, for every call into the driver may hang; look for Xid 119 and blocked tasks in "
    "the kernel log, then drain and reboot",
    "permission": "run as a user who may open /dev/nvidia*",
    "reset-required": "end what uses it and reset it (nvidia-smi --gpu-reset; with NVSwitch all GPUs of the node), "
    "or reboot",
    "invisible": "look for 'RmInitAdapter failed' and 'fallen off the bus' in the kernel log; " + _POWER_CYCLE,
}
_DRIVER, _BUS = "/proc/driver/nvidia/gpus", "/sys/bus/pci/devices"
_FIRST_CALLS = ("nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex", "nvmlDeviceGetUUID")
_ADDRESS_CALL = "nvmlDeviceGetPciInfo_v3"
_OTHERWISE = "look for NVRM lines in the kernel log; drain, then reset the GPU or reboot"


def run(case: Case) -> Iterator[Finding]:
    known = case.seen.gpus or ()
    faulty = [(gpu, gpu.fault) for gpu in known if gpu.fault]
    failed = [problem for problem in case.seen.problems if problem.part == "gpus"]
    for gpu, fault in faulty:
        yield _finding(gpu, fault)
    for problem in failed:
        yield CHECK.finding(Status.UNKNOWN, problem.message, reason=reason(problem.reason))
    if not (faulty or failed):
        yield CHECK.finding(Status.PASS, "{0} of {0} GPUs answer".format(len(known)))


def _finding(gpu: Gpu, fault: GpuFault) -> Finding:
    subject = gpus.subject(gpu)
    places = ", ".join(place for place in (gpu.pci, gpu.uuid) if place and place not in subject.name)
    name = "{} ({})".format(subject.name, places) if places else subject.name
    summary = "{} {}: {}: {}".format(name, _WORDS.get(fault.kind, "answers with an error"), fault.call, fault.message)
    unread = fault.kind in ("hung", "permission")
    return CHECK.finding(
        Status.UNKNOWN if unread else Status.CRIT,
        summary,
        subject,
        _evidence(gpu, fault),
        _REMEDIES.get(fault.kind, _OTHERWISE),
        fault.kind if unread else None,
    )


def _evidence(gpu: Gpu, fault: GpuFault) -> Tuple[Evidence, ...]:
    uuid_source, pci_source = _sources(gpu, fault)
    found: List[Evidence] = []
    if gpu.uuid:
        found.append(Evidence("UUID", gpu.uuid, uuid_source))
    if gpu.pci:
        found.append(Evidence("PCI address", gpu.pci, pci_source))
    return (*found, Evidence("answer", fault.message, fault.call))


def _sources(gpu: Gpu, fault: GpuFault) -> Tuple[str, str]:
    """What told UUID and PCI address. The library is asked for a handle, the UUID, the address, then all else; what
    it can no longer tell after the call that failed is the driver's or the bus's to tell."""
    if gpu.vendor not in (None, "nvidia"):
        return fault.call, "/sys/bus/pci/devices"
    bus = _BUS if gpu.uuid is None or fault.kind == "invisible" else _DRIVER
    uuid = _DRIVER if fault.kind == "invisible" or fault.call in _FIRST_CALLS else "nvmlDeviceGetUUID"
    if fault.kind == "invisible" or fault.call in (*_FIRST_CALLS, _ADDRESS_CALL):
        return uuid, bus
    return uuid, _ADDRESS_CALL


CHECK = Check(
    id="gpu-responding",
    title="Every GPU answers",
    tags=("inventory",),
    needs=("gpus",),
    run=run,
    group="gpu",
    after=("gpu-driver", "gpu-xid"),
)
