"""The way back: writes in reverse, each only where the machine still holds what we wrote."""

import contextlib
from typing import Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Tuple

from ..deadline import HungError
from ..host import Host
from ..report import Change, Outcome, Transaction
from . import journal
from .journal import Entry, Journal, JournalError, Log, is_ours
from .places import Places, WriteError, half_written, in_words, same
from .words import shown

BOOT = "brctl-boot.service"
"""Who applies at boot. It sets again what was set, so nobody means it who says `rollback` and no more."""


_BACK = (Outcome.RESTORED, Outcome.OK)


class Undone(NamedTuple):
    changes: Tuple[Change, ...]
    """One for each part and each file, in the order in which they were taken back."""
    transaction: Transaction


def rollback(host: Host, name: Optional[str], who: str) -> Undone:
    """Take back a transaction, else the open one, else the newest that was not. Whoever calls holds the lock.

    Raises JournalError: there is none, or it cannot be read; OSError: nor can the journal be written.
    """
    log = journal.load(host, name) if name else _newest(host)
    if log.state == "rolled back" and not log.entries:  # what somebody else had changed can be ours again
        raise JournalError("{} was rolled back already".format(log.begin.id))
    record, places = journal.resumed(host, log), Places(host)
    if log.state not in journal.UNFINISHED:  # of one that waits nothing is written first: the disk may be behind a link
        with contextlib.suppress(OSError):  # that is down; a full one must not keep it so
            record.open_again(who, log.told().changes)
    undone = _undo_all(places, log.entries, log.doubtful)
    failures = run_commands(host, [command for entry in reversed(log.entries) for command in entry.commands])
    changes = tuple(_with_failure(change, log, failures) for change in journal.one_for_each_part(undone))
    left = any(change.outcome is Outcome.REFUSED for change in changes)
    back = [entry for entry, change in undone if change.outcome in _BACK]
    _forget_locks(host, log, back)
    record.end("failed" if left else "rolled back", who, changes, [entry.number for entry in back])
    return Undone(changes, journal.load(host, log.begin.id).told())


def end_of_earlier_boot(host: Host, who: str) -> None:
    """What throttled or waited for a confirmation went with the boot that it was of: nobody is left who would end it.
    Whoever calls holds the lock. Raises as rollback."""
    log = journal.opened(host)
    if log and log.begin.boot_id != journal.boot_id(host):
        throttled = log.state == "open" and log.begin.request.action == journal.THROTTLE
        if throttled or log.state == "unconfirmed":
            rollback(host, log.begin.id, who)


def take_back(places: Places, record: Journal, entries: Sequence[Entry]) -> List[Entry]:
    """Take back writes that were just done; gives those that could not be, and those that may be done yet."""
    hung = [entry for entry in entries if entry.number in record.hung]
    left = hung
    for entry, change in _undo_all(places, [entry for entry in entries if entry not in hung], frozenset()):
        try:
            if change.outcome in _BACK:
                record.undone(entry.number)
                continue
        except OSError:  # the journal has it, and rollback will look again
            pass
        left.append(entry)
    return left


def run_commands(host: Host, commands: Sequence[Tuple[str, ...]]) -> Dict[Tuple[str, ...], str]:
    """Run each once, in order; gives of those that failed why. One that is not installed is no failure."""
    failures: Dict[Tuple[str, ...], str] = {}
    for command in dict.fromkeys(commands):
        name = " ".join(command)
        try:
            answer = host.run(command)
        except (OSError, HungError) as error:
            failures[command] = "`{}` failed: {}".format(name, in_words(error))
            continue
        if answer and answer.returncode:
            said = answer.stderr.strip().splitlines() or ["exit status {}".format(answer.returncode)]
            failures[command] = "`{}` failed: {}".format(name, said[-1])
    return failures


def _newest(host: Host) -> Log:
    log = journal.opened(host)
    if log and log.state in journal.UNFINISHED:  # else it was killed when it had ended
        return log
    for log in journal.logs(host, _refuse_to_skip):
        if log.entries and log.state != "rolled back" and log.begin.who != BOOT:
            return log
    raise JournalError("there is nothing to roll back")


def _refuse_to_skip(error: JournalError) -> None:
    """An older one is not the newest. Raises JournalError."""
    raise JournalError(str(error), "an older one is taken back by its ID: `brctl tune rollback ID`")


def _forget_locks(host: Host, log: Log, back: Sequence[Entry]) -> None:
    """Clocks that were locked by brctl-boot.service again are unlocked with those of the boot before."""
    unlocked = [entry.place for entry in back if entry.place.item == "locked_clocks"]
    now = journal.boot_id(host)
    if not unlocked or log.begin.boot_id == now:
        return
    for other in journal.logs(host):
        if other.begin.boot_id != now:  # and so are all older ones
            return
        for entry in other.entries:
            if entry.place in unlocked:
                journal.resumed(host, other).undone(entry.number)


def _undo_all(places: Places, entries: Sequence[Entry], doubtful: FrozenSet[int]) -> List[Tuple[Entry, Change]]:
    """In reverse; what was refused is looked at again in the end."""
    undone = [(entry, _undo(places, entries, entry, doubtful)) for entry in reversed(entries)]
    return [(entry, _looked_at_again(places, entry, change)) for entry, change in undone]


def _looked_at_again(places: Places, entry: Entry, change: Change) -> Change:
    """Of two knobs that exclude each other the kernel refuses the 0 of one, and sets it itself with the other."""
    if change.outcome is not Outcome.REFUSED or entry.place.kind == "file":
        return change
    try:
        held = places.read(entry.place)
        if not same(entry.place, held, entry.before):
            return change
    except WriteError:
        return change
    return change._replace(outcome=Outcome.RESTORED, live=shown(entry.place, held), reason=None)


def _undo(places: Places, entries: Sequence[Entry], entry: Entry, doubtful: FrozenSet[int]) -> Change:
    """Take back one write where the machine holds our value, or a part of it that the kernel took in mid-air.

    One in doubt is written over even so: the call may not have come to its end, and the kernel lets us in then.
    """
    place, before, after = entry.place, entry.before, entry.after
    change = Change(*entry.part, Outcome.RESTORED, wanted=shown(place, before), before=shown(place, after))
    change = change._replace(fold="{} {} {}".format(change.setting, change.subject.name, change.key))
    try:
        held, doubt = places.read(place), entry.number in doubtful
        # Of several writes to one place, the first one's `before` is where a rollback that was cut short led.
        back = any(same(place, held, one.before) for one in entries[: entries.index(entry) + 1] if one.place == place)
        if back and (place.kind == "file" or not doubt):
            return change._replace(outcome=Outcome.OK, live=shown(place, held))
        if not (back or _is_ours(entry, held) or (doubt and half_written(place, held, before, after))):
            why = "changed since: we set {}, it is {}, before us it was {}".format(
                *(shown(place, value) for value in (after, held, before))
            )
            return change._replace(outcome=Outcome.CONFLICT, live=shown(place, held), reason=why)
        due = held if back else before
        places.write(place, due)
        held = places.read(place) if place.item != "locked_clocks" else due
        if not same(place, held, due):
            raise WriteError("it was set to {}, but reads {}".format(shown(place, due), shown(place, held)))
    except WriteError as error:
        return change._replace(outcome=Outcome.REFUSED, reason=str(error))
    return change._replace(outcome=Outcome.OK if back else Outcome.RESTORED, live=shown(place, held))


def _is_ours(entry: Entry, held: Optional[str]) -> bool:
    return same(entry.place, held, entry.after) or is_ours(held, entry.after)


def _with_failure(change: Change, log: Log, failures: Dict[Tuple[str, ...], str]) -> Change:
    mine = [entry for entry in log.entries if entry.setting == change.setting]
    why = next((failures[command] for entry in mine for command in entry.commands if command in failures), None)
    if why is None or change.outcome is Outcome.REFUSED:
        return change
    return change._replace(outcome=Outcome.REFUSED, reason="put back, but " + why)
