"""The kernel log of this boot: what in it matters, repeats folded.

/dev/kmsg is read as it is now, without waiting for more. Where it may not be read, or older messages were overwritten,
the journal may have them all. A log that does not begin with the boot is not `complete`, and never a clean one. Of the
boot before, only the errors of GPUs matter, and only where there are some in this one.
"""

import re
from itertools import islice
from typing import Dict, Iterable, Iterator, List, Optional, Tuple

from ..deadline import HungError
from ..facts import KernelLog, LogEvent
from ..host import Host
from . import log_events, log_line
from .log_events import Message, Sighting
from .log_line import Record
from .log_scan import candidates

KMSG = "/dev/kmsg"
JOURNAL = ("journalctl", "--dmesg", "--no-pager", "--quiet", "--output=short-monotonic")
MOST_EVENTS = 500
"""Different ones that are kept. A machine with so many has one that explains them, and it is among the first."""
_TEXT = 240
_DICTIONARY = re.compile(rb" [A-Z]+=")
_ECHO_S = 5.0
"""The kernel repeats itself in other words within moments: AER announces an error and then tells it, the driver tells a
lost GPU twice."""


def read(host: Host) -> Optional[KernelLog]:
    """None where there is neither log nor journal. Raises OSError, HungError: why /dev/kmsg could not be read."""
    try:
        text = host.read(KMSG)
    except OSError as error:
        kept = _journal(host)
        if kept is None:
            raise error
        return _with_boot_before(host, kept)
    if text is None:
        return _journal(host)
    ring = parse([text.encode("utf-8", "replace")], KMSG)
    kept = None if ring.complete else _journal(host)
    return _with_boot_before(host, kept if kept and kept.complete else ring)


def _with_boot_before(host: Host, log: KernelLog) -> KernelLog:
    """Where a GPU has an error, with those that it had in the boot before: what a reboot did not mend."""
    if not any(event.kind == "xid" for event in log.events):
        return log
    before = _journal(host, boot=("--boot=-1",))
    found = [event for event in before.events if event.kind == "xid"] if before else []
    return log._replace(events=(*(event._replace(past=True, boot=event.boot + 1) for event in found), *log.events))


def _journal(host: Host, boot: Tuple[str, ...] = ("--boot",)) -> Optional[KernelLog]:
    """None where there is no journal, where it has nothing, or does not answer."""
    argv = (*JOURNAL[:2], *boot, *JOURNAL[2:])
    try:
        answer = host.run(argv)
    except (OSError, HungError):
        return None
    if answer is None or answer.returncode != 0 or not answer.stdout.strip():
        return None
    return parse([answer.stdout.encode("utf-8", "replace")], " ".join(argv[:3]))


def parse(blocks: Iterable[bytes], source: str) -> KernelLog:
    """Of a log's bytes, cut anywhere, in any of the forms of log_line. Memory is bounded, whatever comes."""
    tally = _Tally()
    first: List[Record] = []
    for line in candidates(_noted(blocks, first)):
        record = log_line.parse(line.text)
        if record:
            tally.add(record, tuple(islice(_messages(line.after), log_events.lines_after(record.message))))
    begin = first[0] if first else Record("", "", None)
    complete = begin.number == 0 or begin.seconds == 0 or log_events.is_boot(begin.message)
    return KernelLog(source, complete, begin.when, tally.events(), tally.left_out, tuple(sorted(tally.uuids.items())))


def _noted(blocks: Iterable[bytes], first: List[Record]) -> Iterator[bytes]:
    """The blocks; the first record of the first one is noted."""
    for block in blocks:
        if not first:
            record = log_line.parse(block.lstrip().partition(b"\n")[0][:4096])
            if record:
                first.append(record)
        yield block


def _messages(after: bytes) -> Iterator[str]:
    """What follows; journalctl indents the further lines of a message, and /dev/kmsg a record's dictionary."""
    for line in after.split(b"\n"):
        record = log_line.parse(line.lstrip())
        if record and not _DICTIONARY.match(line):
            yield record.message


class _Tally:
    """Events as they come, folded."""

    def __init__(self) -> None:
        self.left_out = 0
        self.uuids: Dict[str, str] = {}
        self._found: Dict[Tuple[object, ...], LogEvent] = {}
        self._resets: Dict[Optional[str], int] = {}
        """Of a GPU, by its address; of all, by None."""
        self._epochs: Dict[Tuple[object, ...], Tuple[int, int]] = {}
        self._boot = 0
        self._boot_id: Optional[str] = None
        self._is_silent = True
        """Nothing has happened since the boot."""

    def add(self, record: Record, after: Tuple[str, ...]) -> None:
        message = record.message
        if not self._is_silent and (log_events.is_boot(message) or record.boot != self._boot_id):
            self._boot += 1
            self._is_silent = True
        self._boot_id = record.boot
        named = log_events.named_gpu(message)
        if named:
            self.uuids[named[0]] = named[1]
        if log_events.is_driver_start(message):
            self._resets[None] = self._resets.get(None, 0) + 1
        found = log_events.sighting(Message(message, after))
        if found:
            self._fold(found, record)
            self._is_silent = False
            if found.number == 154 and found.detail == "none":
                self._resets[found.pci] = self._resets.get(found.pci, 0) + 1

    def _fold(self, found: Sighting, record: Record) -> None:
        epoch = (self._resets.get(None, 0), self._resets.get(found.pci, 0))
        who = found.process if found.kind in ("hung-task", "soft-lockup", "oom") else None
        what = found.detail if found.kind in ("xid", "nic-timeout") else None
        key = (found.kind, found.number, found.pci, found.severity, who, what, self._boot, epoch)
        known = self._found.get(key)
        if known:
            self._found[key] = _more(known, found, record)
        elif len(self._found) < MOST_EVENTS:
            self._epochs[key] = epoch
            self._found[key] = _first(found, record, self._boot)
        else:
            self.left_out += 1

    def events(self) -> Tuple[LogEvent, ...]:
        """In the order of the first time, with what is past marked."""
        return tuple(
            event._replace(
                occurrences=max(1, event.occurrences), boot=self._boot - event.boot, past=self._is_past(key, event)
            )
            for key, event in self._found.items()
        )

    def _is_past(self, key: Tuple[object, ...], event: LogEvent) -> bool:
        if event.boot < self._boot:
            return True
        of_gpu = event.kind in ("xid", "sxid", "adapter-init", "version-mismatch")
        return of_gpu and self._epochs[key] < (self._resets.get(None, 0), self._resets.get(event.pci, 0))


def _first(found: Sighting, record: Record, boot: int) -> LogEvent:
    return LogEvent(
        kind=found.kind,
        text=_text(found.text or record.message),
        occurrences=0 if found.echo else 1,
        first=record.when,
        last=record.when,
        first_s=record.seconds,
        last_s=record.seconds,
        pci=found.pci,
        number=found.number,
        severity=found.severity,
        process=found.process,
        pid=found.pid,
        detail=found.detail,
        boot=boot,
    )


def _more(known: LogEvent, found: Sighting, record: Record) -> LogEvent:
    event = known._replace(detail=known.detail or found.detail, process=known.process or found.process)
    if found.echo and _is_near(known, record):
        return event
    if known.occurrences == 0 and not found.echo:  # what was announced is told now
        event = event._replace(text=_text(found.text or record.message), pid=found.pid)
    return event._replace(occurrences=known.occurrences + 1, last=record.when, last_s=record.seconds)


def _is_near(known: LogEvent, record: Record) -> bool:
    if known.last_s is None or record.seconds is None:
        return True
    return abs(record.seconds - known.last_s) <= _ECHO_S


def _text(message: str) -> str:
    return " ".join(message[: 2 * _TEXT].split())[:_TEXT]
