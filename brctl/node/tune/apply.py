"""Makes a plan true: journal, write, read back, Step by Step; then what lasts; then it plans again and tells."""

import contextlib
import threading
from typing import Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..facts import Inventory
from ..host import Host, detached
from ..host.members import of_ids
from ..report import Change, Outcome, Transaction
from ..request import Request
from . import Step, Write, engine, journal, management, step_name
from .engine import Plan
from .gpus import in_use
from .guard import Guard
from .journal import Entry, Journal, JournalError
from .places import Places, WriteError, half_written, in_words, same
from .undo import run_commands, take_back

Look = Callable[[], Inventory]
"""Reads the machine anew."""

_LATE_S = 30.0
"""For a call that hangs to end, before the guard takes back what it may have done."""
_ATOMIC = "another change failed, and --atomic was given"
_stopping = threading.Event()
_idle = threading.Event()
_idle.set()


class Applied(NamedTuple):
    changes: Tuple[Change, ...]
    transaction: Optional[Transaction] = None
    """None: nothing was to do, or nothing was touched."""


class NotStartedError(Exception):
    """Nothing was touched; the message says why, `hint` what to do."""

    def __init__(self, message: str, hint: Optional[str] = None) -> None:
        super().__init__(message)
        self.hint = hint


def stop(limit_s: float) -> None:
    """Let the write that is being done come to its end, and no other begin. Returns then, or after the limit."""
    _stopping.set()
    _idle.wait(limit_s)


@contextlib.contextmanager
def at_work() -> Iterator[None]:
    """What `stop` waits for."""
    _idle.clear()
    try:
        yield
    finally:
        _idle.set()


def apply(host: Host, look: Look, request: Request) -> Applied:
    """Plan, do what is pending, and give what came of it. Whoever calls holds the lock. Raises NotStartedError."""
    seen = look()
    before = engine.plan(host, seen, request)
    if before.refused:
        why = "nothing was touched: {} is impossible here".format(_called(before.refused[0]))
        left = [_left(change, why) for change in before.changes]
        return Applied(tuple(left))
    if not before.pending:
        return Applied(before.changes)
    users = {} if request.tune.force_busy else {gpu.uuid: in_use(gpu) for gpu in seen.gpus or ()}
    if any(_disturbs(step, users) for step in before.pending):
        return Applied(tuple(_busy(step, users) for step in before.steps))
    managing = any(step.management for step in before.pending)
    if managing and not request.tune.allow_mgmt:
        return Applied(tuple(_kept_off(step) for step in before.steps))
    if managing:
        _check_lasting(host)
    try:
        record = journal.begin(host, request, management.came_by(host))
    except OSError as error:
        raise NotStartedError("the journal cannot be written: {}".format(in_words(error))) from None
    guard = _start_guard(host, record, request) if managing else None
    with at_work():
        return _Run(host, look, request, before, record).go(guard)


def confirm(host: Host, look: Look, request: Request) -> Applied:
    """What waits for it stays, and is made to last where that was asked for. Whoever calls holds the lock.

    Raises JournalError: nothing waits; NotStartedError: it came over the connection that the change was made by.
    """
    name = request.tune.transaction
    log = journal.load(host, name) if name else journal.opened(host)
    if log is None or log.state not in ("unconfirmed", "confirming"):
        raise JournalError("{} is {}".format(log.begin.id, log.state) if log else "nothing waits for a confirmation")
    if log.begin.boot_id != journal.boot_id(host):
        raise JournalError("{} is of an earlier boot, with which it went: `tune rollback` ends it".format(log.begin.id))
    if log.begin.connection and log.begin.connection == management.came_by(host):
        raise NotStartedError(
            "this is the connection by which the change was made, and no proof that a new one can be had",
            "log in anew, and confirm there",
        )
    asked, record = log.begin.request, journal.resumed(host, log)
    with at_work():
        record.end("confirming", request.tune.who, log.told().changes)  # from here on it is not the guard's
        return _Run(host, look, asked, engine.plan(host, look(), asked), record).confirmed()


class _Run:
    """One transaction."""

    def __init__(self, host: Host, look: Look, request: Request, plan: Plan, record: Journal) -> None:
        self._host, self._look, self._request, self._plan = host, look, request, plan
        self._places = Places(host)
        self._failed: Dict[str, Change] = {}
        """By step_name: those that came to nothing, and why."""
        self._journal = record

    def go(self, guard: Optional[Guard]) -> Applied:
        for step in self._plan.pending:
            self._attempt(step, step.live)
        if self._request.tune.atomic and self._failed:
            return self._all_back(_ATOMIC, guard)
        if guard and self._journal.entries:
            if _stopping.is_set():  # whoever asked is gone, and it may be by what was changed
                return self._all_back("the run was ended, and nobody is there to confirm it", guard)
            return self._unconfirmed(guard)
        _release(guard)
        return self.confirmed()

    def confirmed(self) -> Applied:
        """Make it last, and end it."""
        in_haste = _stopping.is_set()
        if self._request.tune.persist and not in_haste:
            self._persist()
        if self._request.tune.atomic and self._failed:
            return self._all_back(_ATOMIC)
        changes = self._outcomes()
        return self._end("failed" if self._failed or in_haste else "done", changes)

    def _unconfirmed(self, guard: Guard) -> Applied:
        """Nothing lasts before the confirmation, so the plan of now is that without."""
        tune = self._request.tune
        self._request = self._request._replace(tune=tune._replace(persist=False))
        waiting = self._end("unconfirmed", self._outcomes())
        try:
            guard.wait_for_confirmation(tune.confirm_within_s)
        except OSError:
            return self._all_back("the guard, which would take it back unless it is confirmed, has ended")
        return waiting

    def _attempt(self, step: Step, writes: Sequence[Write]) -> None:
        name = step_name(step.change)
        missing = next((need for need in step.needs if need in self._failed), None)
        if _stopping.is_set():
            self._fail(step, Outcome.NOT_ATTEMPTED, "the run was ended before its turn")
        elif missing is not None:
            why = "{} failed, without which it cannot be".format(_called(self._failed[missing]))
            self._fail(step, Outcome.NOT_ATTEMPTED, why)
        elif name not in self._failed:
            done: List[Entry] = []
            try:
                for write in writes:
                    done.append(_write(self._journal, self._places, step, write))  # noqa: PERF401  # some, if one fails
            except WriteError as error:
                self._fail(step, Outcome.REFUSED, str(error))
                take_back(self._places, self._journal, done)

    def _fail(self, step: Step, outcome: Outcome, reason: str) -> None:
        self._failed[step_name(step.change)] = step.change._replace(outcome=outcome, reason=reason)

    def _persist(self) -> None:
        """On a plan of now, of the Settings that are whole: what lasts must not be what this machine refuses."""
        broken = {change.setting: change.key for change in self._failed.values()}
        for step in self._plan.pending:
            if step.boot and step.change.setting in broken and step_name(step.change) not in self._failed:
                why = "not made to last, as {} failed".format(broken[step.change.setting])
                self._fail(step, Outcome.NOT_ATTEMPTED, why)
        chosen = of_ids(engine.registry(), self._request.tune.settings)
        names = [setting.id for setting in chosen if setting.id not in broken]
        if not names:
            return
        tune = self._request.tune._replace(settings=tuple(names))
        steps = engine.plan(self._host, self._look(), self._request._replace(tune=tune)).steps
        last = {write.place: (step, write) for step in steps for write in step.boot}
        for step, write in last.values():
            self._attempt(step, (write,))
        self._tell_owners([step for step in steps if step.boot])

    def _tell_owners(self, steps: Sequence[Step]) -> None:
        failures = run_commands(self._host, [command for step in steps for command in step.after])
        for step in steps:
            for command in step.after:
                if command in failures:
                    self._fail(step, Outcome.REFUSED, "written, but {}".format(failures[command]))

    def _all_back(self, why: str, guard: Optional[Guard] = None) -> Applied:
        """What cannot be is the guard's, if there is one, once a call that hangs has had time to end."""
        entries = self._journal.entries
        conflicts = take_back(self._places, self._journal, entries)
        run_commands(self._host, [command for entry in entries for command in entry.commands])
        changes = []
        for step in self._plan.steps:
            change = step.change
            failed = self._failed.get(step_name(change))
            if failed:  # its live value may be of a later look, before it was taken back
                change = change._replace(outcome=failed.outcome, reason=failed.reason)
            if change.outcome is Outcome.PENDING:
                restored = not any(_of(entry, change) for entry in conflicts)
                outcome = Outcome.RESTORED if restored else Outcome.CONFLICT
                change = change._replace(outcome=outcome, reason=why)
            changes.append(change)
        if not conflicts:
            _release(guard)
            return self._end("rolled back", tuple(changes))
        if guard:
            with contextlib.suppress(OSError):  # it has ended by itself
                guard.wait_for_confirmation(_LATE_S)
        return self._end("open" if guard else "failed", tuple(changes))

    def _outcomes(self) -> Tuple[Change, ...]:
        """What a plan of now makes of each Change; where the run has to end, what was read back has to do."""
        if _stopping.is_set():
            return tuple(map(self._in_haste, self._plan.changes))
        after = {step_name(change): change for change in engine.plan(self._host, self._look(), self._request).changes}
        return tuple(self._outcome(change, after.get(step_name(change))) for change in self._plan.changes)

    def _in_haste(self, change: Change) -> Change:
        done = change._replace(outcome=Outcome.CHANGED, before=change.live, live=change.wanted)
        pending = change.outcome is Outcome.PENDING
        return self._failed.get(step_name(change), done if pending else change)

    def _outcome(self, before: Change, after: Optional[Change]) -> Change:
        failed = self._failed.get(step_name(before))
        if after is None:  # the part is gone: a GPU that fell off the bus
            after = before._replace(outcome=Outcome.REFUSED, reason="it is not there any more", live=None)
        if failed:
            return before._replace(outcome=failed.outcome, reason=failed.reason, before=before.live, live=after.live)
        if before.outcome is not Outcome.PENDING:
            return after
        if after.outcome is Outcome.OK:
            return after._replace(outcome=Outcome.CHANGED, before=before.live)
        if after.outcome is Outcome.PENDING:
            self._failed[step_name(before)] = before
            why = self._why_pending(after)
            return after._replace(outcome=Outcome.REFUSED, reason=why, before=before.live)
        return after._replace(before=before.live)

    def _why_pending(self, after: Change) -> str:
        """Of what was written, and is not as wanted."""
        if after.live != after.wanted:
            return "it was written, and is not so: it reads {}".format(after.live)
        others = (change.reason for change in self._failed.values() if change.setting == after.setting)
        return "it is so now, and will not last: {}".format(next(filter(None, others), "the next boot sets another"))

    def _end(self, state: str, changes: Tuple[Change, ...]) -> Applied:
        """Raises JournalError: the disk does not take how it ended; the next run finds it cut short."""
        try:
            self._journal.end(state, self._request.tune.who, changes)
        except OSError as error:
            what = "what was written stands, and the journal cannot take how it ended: " + in_words(error)
            raise JournalError(what, "make room; then `tune rollback` takes it back") from None
        return Applied(changes, journal.load(self._host, self._journal.id).told())


def _write(record: Journal, places: Places, step: Step, write: Write) -> Entry:
    """Journal it, do it, read it back. Raises WriteError; then all is as it was before, as far as that can be."""
    change, place = step.change, write.place
    before = places.read(place)
    commands = step.after if place.kind == "file" else ()  # nobody else knows of what is live
    entry = Entry(0, change.setting, change.subject, change.key, place, before, write.value, commands, write.along)
    try:
        entry = record.write(entry)
    except OSError as error:
        raise WriteError("the journal cannot be written: {}".format(in_words(error))) from None
    try:
        places.write(place, write.value)
        held = places.read(place)
    except WriteError as error:
        if error.hung:
            record.hung.add(entry.number)
            raise WriteError("{}, and may be done yet".format(error)) from None
        _mend(places, record, entry)
        raise
    if place.item != "locked_clocks" and not same(place, held, write.value):
        take_back(places, record, [entry._replace(after=held)])
        raise WriteError("it was set to {}, but reads {}".format(write.value, held))
    return entry


def _mend(places: Places, record: Journal, entry: Entry) -> None:
    """After a refusal: what was written in part is put back, and the write counts as never done."""
    try:
        if entry.place.item == "locked_clocks":  # which are what the journal says: what was refused just now
            record.undone(entry.number)
            return
        held = places.read(entry.place)
        if not same(entry.place, held, entry.before):
            if not half_written(entry.place, held, entry.before, entry.after):
                return  # it may have been done: rollback will see
            places.write(entry.place, entry.before)
        record.undone(entry.number)
    except (WriteError, OSError):  # the journal has it, and rollback will try again
        return


def _kept_off(step: Step) -> Change:
    """Of a plan that touches what somebody came in by, without his leave."""
    change = step.change
    if step.management and change.outcome is Outcome.PENDING:
        return change._replace(outcome=Outcome.REFUSED, reason="this host is reached by it: give --allow-mgmt")
    return _left(change, "nothing was touched: another change needs --allow-mgmt")


def _disturbs(step: Step, users: Mapping[Optional[str], Optional[str]]) -> Optional[str]:
    """Who works on the GPU whose speed it changes."""
    places = [write.place for write in step.live if write.place.item in ("power_limit", "locked_clocks")]
    return next((users[place.name] for place in places if users.get(place.name)), None)


def _busy(step: Step, users: Mapping[Optional[str], Optional[str]]) -> Change:
    """Of a plan that changes the speed of a job that runs."""
    who = _disturbs(step, users)
    if who:
        return step.change._replace(outcome=Outcome.REFUSED, reason=who + ": drain the node, or give --force-busy")
    return _left(step.change, "nothing was touched: a GPU is in use")


def _check_lasting(host: Host) -> None:
    """Raises NotStartedError."""
    reason = detached.dies_with_us(host)
    if reason:
        why = "what this host is reached by is left alone here: nothing would be left to take the change back, as "
        raise NotStartedError(why + reason, "come by ssh or the console")


def _start_guard(host: Host, record: Journal, request: Request) -> Guard:
    """Raises NotStartedError."""
    try:
        return Guard(host, record.id)
    except detached.NotStartedError as error:
        record.end("rolled back", request.tune.who, ())
        why = "nothing was touched: the guard that would take the change back does not start: {}"
        raise NotStartedError(why.format(error)) from None


def _release(guard: Optional[Guard]) -> None:
    if guard:
        with contextlib.suppress(OSError):  # it has ended by itself
            guard.release()


def _called(change: Change) -> str:
    return "{} of {}".format(change.key, change.subject.name)


def _left(change: Change, why: str) -> Change:
    if change.outcome is not Outcome.PENDING:
        return change
    return change._replace(outcome=Outcome.NOT_ATTEMPTED, reason=why)


def _of(entry: Entry, change: Change) -> bool:
    return (entry.setting, entry.subject, entry.key) == (change.setting, change.subject, change.key)
