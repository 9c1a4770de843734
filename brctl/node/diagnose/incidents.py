"""What the kernel log tells, told apart: what is a cause, what follows from it, what is past.

Each event belongs to one check and one part of the machine. An event is a consequence only where the log shows its
cause before it (or at once), within the time that such things take, and, where the PCI tree is known, above it.

GPUs, NICs and the PCI tree give events their names and places. The log is judged without them too: a driver that hangs
is when it matters most.
"""

from functools import lru_cache
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ..facts import Inventory, KernelLog, LogEvent
from ..report import HOST, Cause, Evidence, Finding, Status, Subject
from . import Check, gpus, xid

_AT_ONCE_S = 1.0
"""Messages of one moment are written in any order."""
_SOON_S = 60.0
"""In which a fault drags others along: NCCL's and the driver's own timeouts are of 30 to 45 s."""
_BUS_S = 10.0
"""In which a dead PCIe link takes its GPU along, where the log alone tells which is above which."""
_HUNG_S = 600.0
"""Hung tasks are told after 120 s by default (kernel.hung_task_timeout_secs), and again."""

_OF_LINKS = (74, *range(144, 151), 155)
_CLEANING = (43, 45)
OFF_THE_BUS = 79

CHECKS = {
    "xid": "gpu-xid",
    "adapter-init": "gpu-xid",
    "version-mismatch": "gpu-xid",
    "peermem": "gpu-xid",
    "sxid": "nvswitch-sxid",
    "aer": "pcie-aer",
    "hung-task": "kernel-hung-task",
    "soft-lockup": "kernel-hung-task",
    "nic-firmware": "nic-firmware-error",
    "nic-timeout": "nic-firmware-error",
    "oom": "kernel-oom",
}
"""Which check an event of each kind belongs to."""


class Told(NamedTuple):
    """An event in its place."""

    event: LogEvent
    check: str
    subject: Subject
    cause: Optional[Cause] = None
    """What it follows from; None: it is a cause itself."""
    again: bool = False
    """The same happened before the last reset or boot."""


def told(seen: Inventory) -> Tuple[Told, ...]:
    """Every event of the kernel log, in order; nothing without a log."""
    return _told(seen.kernel_log, seen.pci, seen.gpus, seen.nics) if seen.kernel_log else ()


@lru_cache(maxsize=4)
def _told(log: KernelLog, pci: object, gpus_: object, nics: object) -> Tuple[Told, ...]:
    places = _Places(log, Inventory(pci=pci, gpus=gpus_, nics=nics))  # type: ignore[arg-type]
    alone = [Told(event, CHECKS[event.kind], places.subject(event)) for event in log.events]
    present = [one for one in alone if not one.event.past]
    past = [one.event for one in alone if one.event.past]
    return tuple(
        one._replace(cause=_cause(one, present, places), again=_is_again(one.event, past)) if one in present else one
        for one in alone
    )


def findings(
    check: Check,
    seen: Inventory,
    judge: Callable[[Told], Status],
    describe: Callable[[Sequence[Told]], str],
    remedy: Callable[[Sequence[Told]], Optional[str]],
    clean: str,
    under: Callable[[Told], Optional[Cause]] = lambda _: None,
) -> Tuple[Finding, ...]:
    """One Finding for each part of the machine that the check's events are about; `clean`, or unknown, where it has
    none. `describe` and `remedy` get the events of a part, the decisive ones first; `under` tells what explains the
    first besides the log."""
    log = seen.kernel_log
    assert log  # noqa: S101  # every check of the log needs it
    mine = [one for one in told(seen) if one.check == check.id]
    by_part: Dict[Subject, List[Told]] = {}
    for one in mine:
        by_part.setdefault(one.subject, []).append(one)
    found = tuple(_finding(check, log, part, ones, judge, describe, remedy, under) for part, ones in by_part.items())
    if any(finding.status is not Status.INFO or finding.cause for finding in found):
        return found
    return (*found, *nothing(check, log, clean)) if not found or not log.complete else found


def nothing(check: Check, log: KernelLog, clean: str) -> Tuple[Finding, ...]:
    """Nothing is told: fine only where the log is whole."""
    if log.complete:
        return (check.finding(Status.PASS, clean),)
    since = "at {}".format(_moment(log.begins)) if log.begins else "somewhere"
    summary = "{} begins {}, not with the boot: what was told before is unknown".format(log.source, since)
    return (check.finding(Status.UNKNOWN, summary, reason="error"),)


def times(event: LogEvent) -> str:
    """How often and when: `at 1200.1 s`, `5 times, 1200.1 to 1245.2 s`, `at Feb 23 16:24:18`."""
    if event.occurrences == 1:
        return "at {}".format(_moment(event.first)) if event.first else "once"
    span = ", {} to {}".format(event.first, _moment(event.last)) if event.first else ""
    return "{} times{}".format(event.occurrences, span)


def _moment(written: str) -> str:
    """As the log writes it, so that it is found there; seconds since the boot with their unit."""
    return written + " s" if written.replace(".", "", 1).isdecimal() else written


def _finding(
    check: Check,
    log: KernelLog,
    part: Subject,
    ones: Sequence[Told],
    judge: Callable[[Told], Status],
    describe: Callable[[Sequence[Told]], str],
    remedy: Callable[[Sequence[Told]], Optional[str]],
    under: Callable[[Told], Optional[Cause]],
) -> Finding:
    def status_of(one: Told) -> Status:
        return Status.INFO if one.event.past else judge(one)

    def named(text: str) -> str:
        return text if part == HOST else "{}: {}".format(part.name, text)

    def place(one: Told) -> Tuple[int, bool, int]:
        return -list(Status).index(status_of(one)), one.event.past, order(one.event)

    own = [one for one in ones if not one.cause]
    decisive = sorted(own or ones, key=place)
    shown = [*decisive, *(one for one in ones if one not in decisive)]
    evidence = tuple(Evidence(_when(one.event), one.event.text, log.source) for one in shown)
    status = status_of(shown[0])
    do = remedy(shown) if status in (Status.WARN, Status.CRIT) else None
    found = check.finding(status, named(describe(shown)), part, evidence, do)
    return found._replace(cause=shown[0].cause or under(shown[0]))


def _when(event: LogEvent) -> str:
    return ("before the last reset, " if event.past else "") + times(event)


def order(event: LogEvent) -> int:
    """Causes first, of Xids by what NVIDIA says of each."""
    return xid.of(event.number).rank if event.kind == "xid" and event.number is not None else 0


def _is_again(event: LogEvent, past: Sequence[LogEvent]) -> bool:
    """Of faults of hardware alone: an application fails as often as it is started."""
    if event.kind != "xid" or event.number is None:
        return False
    grave = xid.of(event.number).status is Status.CRIT or event.number in (63, 94) or event.severity == "fatal"
    return grave and any((one.kind, one.number, one.pci) == ("xid", event.number, event.pci) for one in past)


def _cause(one: Told, present: Sequence[Told], places: "_Places") -> Optional[Cause]:
    for other in sorted(present, key=lambda told: order(told.event)):
        if other.subject != one.subject and _explains(other.event, one.event, places):
            return Cause(other.check, other.subject)
    return None


def _explains(cause: LogEvent, effect: LogEvent, places: "_Places") -> bool:
    if effect.kind in ("hung-task", "soft-lockup"):
        return (
            effect.detail == "nvidia" and cause.kind == "xid" and is_fatal(cause) and _follows(cause, effect, _HUNG_S)
        )
    if cause.kind == "aer":
        return effect.kind in ("xid", "adapter-init", "nic-firmware") and _bus_explains(cause, effect, places)
    if effect.kind == "sxid":
        return cause.kind == "xid" and cause.number == OFF_THE_BUS and _follows(cause, effect, _SOON_S)
    if effect.kind == "aer":
        of_gpu = cause.kind == "xid" and cause.number == OFF_THE_BUS and places.is_above(effect.pci, cause.pci)
        return of_gpu and _follows(cause, effect, _SOON_S) and not _follows(effect, cause, _BUS_S)
    if effect.kind != "xid" or not is_fatal(cause) or not _follows(cause, effect, _SOON_S):
        return False
    if effect.number in _CLEANING:
        return True
    return effect.number in _OF_LINKS and (cause.kind == "sxid" or cause.number == OFF_THE_BUS)


def _bus_explains(cause: LogEvent, effect: LogEvent, places: "_Places") -> bool:
    if cause.severity == "corrected":
        return False
    if places.knows(effect.pci):
        return places.is_above(cause.pci, effect.pci) and _follows(cause, effect, _SOON_S)
    return effect.number == OFF_THE_BUS and _follows(cause, effect, _BUS_S)


def is_fatal(event: LogEvent) -> bool:
    """What takes a GPU or a switch out of service: by the line where that says it, else by the table."""
    if event.kind == "sxid" or event.severity:
        return event.kind in ("xid", "sxid") and event.severity == "fatal"
    return event.kind == "xid" and event.number is not None and xid.of(event.number).status is Status.CRIT


def _follows(cause: LogEvent, effect: LogEvent, within_s: float) -> bool:
    """Whether the effect comes after the cause, in time; a log without times has its order alone."""
    if cause.first_s is None or cause.last_s is None or effect.first_s is None:
        return True
    return cause.first_s - _AT_ONCE_S <= effect.first_s <= cause.last_s + within_s


class _Places:
    """Which part of the machine a PCI address is."""

    def __init__(self, log: KernelLog, seen: Inventory) -> None:
        self._above = {device.address: device.ancestors for device in seen.pci or ()}
        uuids = {pair[0]: pair[1] for pair in log.uuids}
        self._gpus = {gpu.pci: gpus.subject(gpu) for gpu in seen.gpus or () if gpu.pci}
        self._uuids = {address: Subject("gpu", uuid, "GPU " + address) for address, uuid in uuids.items()}
        self._nics = {nic.pci: Subject("nic", nic.name, nic.name) for nic in seen.nics or () if nic.pci}

    def subject(self, event: LogEvent) -> Subject:
        """The GPU by UUID, the NIC by name, anything else by its address; the host where there is none."""
        if event.kind == "nic-timeout" and event.detail:
            return Subject("nic", event.detail, event.detail)
        if event.pci is None:
            return HOST
        known = self._gpus.get(event.pci) or self._uuids.get(event.pci) or self._nics.get(event.pci)
        if known:
            return known
        if event.kind in ("xid", "adapter-init"):
            return Subject("gpu", event.pci, "GPU " + event.pci)
        if event.kind == "nic-firmware":
            return Subject("nic", event.pci, "NIC " + event.pci)
        return Subject("nvswitch" if event.kind == "sxid" else "pci", event.pci, event.pci)

    def knows(self, address: Optional[str]) -> bool:
        """Whether it is known what is above it. A virtual machine shows devices with nothing above them."""
        return len(self._above.get(address or "", ())) > 1

    def is_above(self, port: Optional[str], address: Optional[str]) -> bool:
        return port == address or port in self._above.get(address or "", ())
