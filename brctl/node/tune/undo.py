"""The way back: writes in reverse, each only where the machine still holds what we wrote."""

from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from ..deadline import HungError
from ..host import Host
from ..report import Change, Outcome, Transaction
from . import journal
from .journal import Entry, Journal, JournalError, Log, is_ours
from .places import Places, WriteError, half_written, in_words, same
from .words import shown

BOOT = "brctl-boot.service"
"""Who applies at boot. It sets again what was set, so nobody means it who says `rollback` and no more."""


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
    undone = _undo_all(places, record, log.entries, log.in_flight)
    failures = run_commands(host, [command for entry in reversed(log.entries) for command in entry.commands])
    changes = tuple(_with_failure(change, log, failures) for change in journal.one_for_each_part(undone))
    left = any(change.outcome is Outcome.REFUSED for change in changes)
    record.end("failed" if left else "rolled back", who, changes)
    return Undone(changes, journal.load(host, log.begin.id).told())


def take_back(places: Places, record: Journal, entries: Sequence[Entry]) -> List[Entry]:
    """Take back writes that were just done; gives those that could not be, and those that may be done yet."""
    hung = [entry for entry in entries if entry.number in record.hung]
    undone = _undo_all(places, record, [entry for entry in entries if entry not in hung], None)
    return hung + [entry for entry, change in undone if change.outcome not in (Outcome.RESTORED, Outcome.OK)]


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
    if log and log.state in ("open", "unconfirmed"):  # else it was killed when it had ended
        return log
    for log in journal.logs(host, _refuse_to_skip):
        if log.entries and log.state != "rolled back" and log.begin.who != BOOT:
            return log
    raise JournalError("there is nothing to roll back")


def _refuse_to_skip(error: JournalError) -> None:
    """An older one is not the newest. Raises JournalError."""
    raise JournalError(str(error), "an older one is taken back by its ID: `brctl tune rollback ID`")


def _undo_all(
    places: Places, record: Journal, entries: Sequence[Entry], in_flight: Optional[int]
) -> List[Tuple[Entry, Change]]:
    """In reverse; what was refused is looked at again in the end."""
    undone = [(entry, _undo(places, record, entry, in_flight)) for entry in reversed(entries)]
    return [(entry, _looked_at_again(places, record, entry, change)) for entry, change in undone]


def _looked_at_again(places: Places, record: Journal, entry: Entry, change: Change) -> Change:
    """Of two knobs that exclude each other the kernel refuses the 0 of one, and sets it itself with the other."""
    if change.outcome is not Outcome.REFUSED or entry.place.kind != "knob":
        return change
    try:
        held = places.read(entry.place)
        if not same(entry.place, held, entry.before):
            return change
        record.undone(entry.number)
    except (WriteError, OSError):
        return change
    return change._replace(outcome=Outcome.RESTORED, live=shown(entry.place, held), reason=None)


def _undo(places: Places, record: Journal, entry: Entry, in_flight: Optional[int]) -> Change:
    """Take back one write where the machine holds our value, or a part of it that the kernel took in mid-air."""
    place, before, after = entry.place, entry.before, entry.after
    change = Change(*entry.part, Outcome.RESTORED, wanted=shown(place, before), before=shown(place, after))
    change = change._replace(fold="{} {} {}".format(change.setting, change.subject.name, change.key))
    try:
        held = places.read(place)
        if same(place, held, before) and place.item != "locked_clocks":
            outcome = Outcome.OK
        elif not (_is_ours(entry, held) or (entry.number == in_flight and half_written(place, held, before, after))):
            why = "changed since: we set {}, it is {}, before us it was {}".format(
                *(shown(place, value) for value in (after, held, before))
            )
            return change._replace(outcome=Outcome.CONFLICT, live=shown(place, held), reason=why)
        else:
            places.write(place, before)
            held, outcome = places.read(place) if place.item != "locked_clocks" else before, Outcome.RESTORED
            if not same(place, held, before):
                raise WriteError("it was set to {}, but reads {}".format(shown(place, before), shown(place, held)))
        record.undone(entry.number)
    except (WriteError, OSError) as error:
        return change._replace(outcome=Outcome.REFUSED, reason=str(error))
    return change._replace(outcome=outcome, live=shown(place, held))


def _is_ours(entry: Entry, held: Optional[str]) -> bool:
    return same(entry.place, held, entry.after) or is_ours(held, entry.after)


def _with_failure(change: Change, log: Log, failures: Dict[Tuple[str, ...], str]) -> Change:
    mine = [entry for entry in log.entries if entry.setting == change.setting]
    why = next((failures[command] for entry in mine for command in entry.commands if command in failures), None)
    if why is None or change.outcome is Outcome.REFUSED:
        return change
    return change._replace(outcome=Outcome.REFUSED, reason="put back, but " + why)
