"""The NVIDIA driver has told of no error of a GPU since the boot, or since the GPU was last reset.

An Xid is judged by the table of docs/xid.md, which shows where other tools differ; by its line where that says fatal or
not; and by the driver's own recovery action. Several on one GPU are one finding. What a GPU did before its last reset,
or before the driver was loaded again, is past; if it comes back after that, the GPU is to be replaced. A GPU that
answers NVML and asks for no recovery has got over it: what was critical is a warning then.
"""

from typing import Optional, Sequence, Tuple

from ...facts import Gpu, Inventory
from ...report import HOST, Cause, Evidence, Finding, Status
from .. import Case, Check, gpus, incidents, xid
from ..incidents import OFF_THE_BUS, Told

_ENDS_IN_RESET = ("gpu-reset", "drain-and-reset", "drain-p2p", "node-reboot", "system-reboot", "bus-reset")
_MEMORY = (48, 63, 64, 94, 95, 140, 154, 171, 172)
"""Xids of a memory error, from the error itself to what the driver wants done about it."""
_WORDS = {
    "adapter-init": "the driver could not start it (RmInitAdapter failed)",
    "version-mismatch": "the NVIDIA library and the loaded driver are of different versions",
    "peermem": "nvidia-peermem freed what was free already: a process that used RDMA has ended",
}


def run(case: Case) -> Sequence[Finding]:
    known = {gpus.subject(gpu): gpu for gpu in case.seen.gpus or ()}
    nvidia = gpus.on_bus(case.seen)
    if nvidia == () and not any(one.check == CHECK.id for one in incidents.told(case.seen)):
        return (CHECK.finding(Status.NA, "no GPU of NVIDIA's on the PCI bus"),)

    def judge(one: Told) -> Status:
        return _judge(one, known.get(one.subject), case.seen)

    def under(one: Told) -> Optional[Cause]:
        return _under(one, known.get(one.subject), case.seen)

    found = incidents.findings(CHECK, case.seen, judge, _describe, _remedy, "no Xid since the boot", under)
    return tuple(_explained(finding, case.seen) for finding in found)


def _under(one: Told, gpu: Optional[Gpu], seen: Inventory) -> Optional[Cause]:
    """What NVML says itself: that library and driver do not fit, and what became of a memory error."""
    reasons = {problem.reason for problem in seen.problems if problem.part in ("accelerator_driver", "gpus")}
    if one.event.kind == "version-mismatch" and one.event.kind in reasons:
        return Cause("gpu-driver", HOST)
    errors = gpu.errors if gpu and not gpu.fault else None
    if errors is None or one.event.number not in _MEMORY:
        return None
    states = (
        ("gpu-remap", errors.remap_pending or errors.remap_failure),
        ("gpu-retired-pages", errors.retired_pages_pending),
        ("gpu-sram", errors.sram_threshold_exceeded),
        ("gpu-ecc-volatile", errors.volatile_uncorrected),
    )
    check = next((name for name, state in states if state), None)
    return Cause(check, one.subject) if check else None


def _judge(one: Told, gpu: Optional[Gpu], seen: Inventory) -> Status:
    event = one.event
    if event.kind != "xid" or event.number is None:
        return Status.INFO if event.kind == "peermem" else Status.CRIT
    if one.again:
        return Status.CRIT
    if event.number == 154:
        return Status.WARN if event.detail in _ENDS_IN_RESET else Status.INFO
    status = xid.of(event.number).status
    if event.severity:
        status = Status.CRIT if event.severity == "fatal" else Status.WARN
    elif status is Status.WARN and _is_on_both_ends(one, seen):
        status = Status.CRIT
    return _now(status, event.number, gpu)


def _is_on_both_ends(one: Told, seen: Inventory) -> bool:
    """Of NVLink: two GPUs tell of it, so the link between them is down."""
    if one.event.number not in range(144, 151):
        return False
    others = [
        other for other in incidents.told(seen) if other.event.number == one.event.number and not other.event.past
    ]
    return len({other.subject for other in others}) > 1


def _now(status: Status, number: int, gpu: Optional[Gpu]) -> Status:
    """What the GPU itself says now goes before what was told some time ago."""
    errors = gpu.errors if gpu and not gpu.fault else None
    if errors is None:
        return status
    if number == 63 and errors.remap_pending is False:
        return Status.INFO
    over = errors.recovery_action == "none" or number == OFF_THE_BUS
    return Status.WARN if over and status is Status.CRIT else status


def _describe(ones: Sequence[Told]) -> str:
    first, *others = ones
    event = first.event
    if event.kind != "xid" or event.number is None:
        return "{} ({})".format(_WORDS[event.kind], incidents.times(event))
    means = xid.of(event.number).means or xid.of(event.number).name
    again = "again after a reset: " if first.again else "before the last reset: " if event.past else ""
    numbers = dict.fromkeys(str(one.event.number) for one in others if one.event.number not in (None, event.number))
    tail = "; with Xid {}".format(", ".join(numbers)) if numbers else ""
    return "{}Xid {}: {} ({}){}".format(again, event.number, means, incidents.times(event), tail)


def _remedy(ones: Sequence[Told]) -> Optional[str]:
    first = ones[0]
    if first.again:
        return xid.RMA
    if first.event.kind == "version-mismatch":
        return "reboot, or unload and load the driver's modules: its packages were upgraded under it"
    if first.event.number is None:
        return "drain the node and reboot it; if it comes back, reseat the GPU, then RMA"
    wanted = next((one.event.detail for one in reversed(ones) if one.event.number == 154 and not one.event.past), None)
    return xid.remedy(first.event.number, first.subject.id, wanted) or "report it to NVIDIA with nvidia-bug-report.sh"


def _explained(finding: Finding, seen: Inventory) -> Finding:
    """With the policy behind it, and whose process was in the way."""
    ones = [one for one in incidents.told(seen) if one.check == CHECK.id and one.subject == finding.subject]
    numbers = sorted({one.event.number for one in ones if one.event.number}, key=lambda number: xid.of(number).rank)
    more: Tuple[Evidence, ...] = tuple(_policy(number) for number in numbers)
    victims = {one.event.process for one in ones if one.event.number in (OFF_THE_BUS, 119, 120) and one.event.process}
    waited = tuple(
        Evidence("process", name + " waited for the GPU: a victim, no cause", "the same line") for name in victims
    )
    return finding._replace(evidence=(*finding.evidence, *more, *waited))


def _policy(number: int) -> Evidence:
    row = xid.of(number)
    others = ", ".join("{} {}".format(tool, word) for tool, word in row.others)
    text = "{}; {}".format(row.action, row.why) + ("; tools disagree: " + others if row.is_disputed and others else "")
    return Evidence("Xid {} {}".format(number, row.name), text, "docs/xid.md")


CHECK = Check(
    id="gpu-xid",
    title="The NVIDIA driver has told of no GPU error",
    tags=("health",),
    needs=("kernel_log",),
    run=run,
    group="log",
)
