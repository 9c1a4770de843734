"""Throttling: the power limit of a GPU whose alert fires is lowered in steps, and given back when that is over.

It is a transaction of tuning that stays open for as long as a GPU is throttled: each write stands in the journal before
it is done, a guard takes all of it back when this process is killed or falls silent, and `tune history` shows it. Where
the limit is not what we wrote last, somebody else sets it: it is left to him.
"""

import contextlib
import time
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set

from ..alert_facts import ActionRecord, Alert, Event, Phase, Rule
from ..alert_facts import Outcome as Became
from ..gpu_facts import GpuLimits
from ..host import BusyError, Host, detached
from ..monitor.release import released_until
from ..report import Change, Outcome, Subject
from ..request import Request, Tuning
from . import Place, engine, guard, journal, undo
from .journal import Entry, Journal, JournalError
from .places import Places, WriteError, in_words, same

LOCK = "/run/brctl/throttle.lock"
"""Held for as long as anything is throttled: there is one who throttles."""
STEP = 0.1
"""Of the default limit. No source names one; it is our choice, as are the three below: five steps lead to the floor,
so that a job loses no more speed at once than it has to."""
FLOOR = 0.5
"""Of the default limit, where the GPU itself asks for no more. What half the power does not cool has another
cause, and a job at less is better drained."""
REST_S = 30.0
"""Between two steps, after giving back, and before what was refused is tried again. So a step can show in the
temperature before the next one is made."""
LEAST_S = 60.0
"""From the last step until it is given back. Twice the time between steps: however an alert flaps, a limit changes
no faster, and what goes up more slowly than it came down does not swing."""
_SETTING, _KEY = "gpu-power-limit", "power limit"


class _RefusedError(Exception):
    """It cannot be done now; the message says why."""


class _Case:
    """An alert that fires, or one that is over and not settled yet."""

    def __init__(self, record: ActionRecord, uuid: str) -> None:
        self.record, self.uuid, self.over = record, uuid, False


class _Lowered(NamedTuple):
    """A GPU whose limit is ours. Its one entry in the journal leads from its own limit to where it is now."""

    entry: Entry
    floor: float
    at: float
    """When the last step was made."""


class Throttle:
    """The action of one node, for one thread."""

    name = "throttle"

    def __init__(self, host: Host, node: str, who: str, deadline_s: float) -> None:
        """`deadline_s`: so long without a tick, and the guard gives back."""
        self._host, self._node, self._who, self._deadline_s = host, node, who or "brctl monitor", deadline_s
        self._cases: Dict[object, _Case] = {}
        """By Alert.key."""
        self._lowered: Dict[str, _Lowered] = {}
        """By UUID."""
        self._left: Set[str] = set()
        """GPUs whose limit somebody else sets, until their alerts are over."""
        self._tried: Dict[str, float] = {}
        """When each was last changed, or refused."""
        self._news: Dict[str, ActionRecord] = {}
        self._count = 0
        self._record: Optional[Journal] = None
        self._guard: Optional[guard.Guard] = None
        self._changes: List[Change] = []
        self._doubt = False
        """A write of the transaction may have been done, or not."""
        self._lock = contextlib.ExitStack()

    def begin(self, event: Event, rule: Rule) -> ActionRecord:
        """The first step of a GPU, unless it is throttled for another alert already. One that is back before its limit
        was given back goes on."""
        known = self._cases.get(event.alert.key)
        if known:
            known.over = False
            return known.record
        self._count += 1
        name = "{}-{:.0f}-{}".format(self._node, event.at, self._count)
        labels, evidence = event.alert.labels, event.evidence
        record = ActionRecord(
            name, event.at, self._node, rule.id, labels, self.name, evidence, "lower its power limit", Became.REFUSED
        )
        uuid = event.alert.label("uuid")
        if not uuid:
            return record._replace(result="this alert is of no GPU: there is no power limit to lower")
        case = self._cases[event.alert.key] = _Case(record, uuid)
        held = self._lowered.get(uuid)
        if held:
            case.record = record._replace(outcome=Became.UNCHANGED, result="it is lowered already: " + _step(held))
        elif uuid in self._left:
            case.record = record._replace(result="somebody else sets its power limit")
        elif not _passed(self._tried.get(uuid), event.at, REST_S):
            why = "its power limit was tried or changed less than {:g} s ago: again while this fires".format(REST_S)
            case.record = record._replace(result=why)
        else:
            self._lower(uuid, event.at)
        self._news.pop(name, None)
        return case.record

    def undo(self, event: Event) -> Sequence[ActionRecord]:
        """An alert is over; the limit is given back when no other holds it, and LEAST_S after the last step."""
        case = self._cases.get(event.alert.key)
        if case:
            case.over = True
            self._settle(case.uuid, event.at, firing=False)
        return self._told()

    def tick(self, alerts: Iterable[Alert], at: float) -> Sequence[ActionRecord]:
        """Further steps while an alert fires; what is due to be given back; and the guard hears that we are here."""
        if released_until(self._host) is None:
            firing = {alert.key for alert in alerts if alert.phase is Phase.FIRING}
            held_by = {case.uuid for key, case in self._cases.items() if key in firing}
            for uuid in {case.uuid for case in self._cases.values()}:
                self._settle(uuid, at, uuid in held_by)
        if self._guard:
            try:
                self._guard.here()
            except OSError:
                self._all_back(at, "guard")
        return self._told()

    def close(self, why: str = "exit") -> Sequence[ActionRecord]:
        """Give all back, and forget the alerts. What cannot be given back now is the guard's."""
        self._all_back(time.time(), why)
        self._doubt = True
        self._end()
        self._cases, self._lowered, self._left = {}, {}, set()
        return self._told()

    # One GPU.

    def _settle(self, uuid: str, at: float, firing: bool) -> None:
        cases = self._of(uuid)
        over, held = all(case.over for case in cases), self._lowered.get(uuid)
        if held is None:
            if over:
                self._forget(uuid)
            elif firing and uuid not in self._left and _passed(self._tried.get(uuid), at, REST_S):
                self._lower(uuid, at)
            return
        with contextlib.suppress(WriteError):  # one that does not answer is asked again in the next tick
            live = Places(self._host).read(held.entry.place)
            if not same(held.entry.place, live, held.entry.after):
                self._give_back(uuid, at, "superseded")
            elif over and _passed(held.at, at, LEAST_S):
                self._give_back(uuid, at, "cleared")
            elif firing and _passed(held.at, at, REST_S) and float(held.entry.after or 0) > held.floor:
                self._lower(uuid, at)

    def _lower(self, uuid: str, at: float) -> None:
        """One step, told in the records of its alerts; or why it cannot be."""
        self._tried[uuid] = at
        held = self._lowered.get(uuid)
        try:
            with self._writing():
                try:
                    held = self._lowered[uuid] = self._make_step(uuid, held, at)
                finally:
                    if not self._lowered:
                        self._end()
        except _RefusedError as refused:
            if held:
                self._lowered[uuid] = held._replace(at=at)
            self._tell(uuid, result=str(refused))
            return
        self._tell(uuid, outcome=Became.DONE, what=_step(held), result="", undone_at=None, undone=None)

    def _make_step(self, uuid: str, held: Optional[_Lowered], at: float) -> _Lowered:
        """Raises what _writing makes a _RefusedError of."""
        self._claim()
        places, place = Places(self._host), Place("gpu", uuid, "power_limit")
        limits = places.limits(uuid)
        live, floor = limits.power_limit_watts, _floor(limits)
        if live is None or floor is None:
            raise _RefusedError("this GPU has no power limit that can be set")
        before = "{:g}".format(live)
        if held and not same(place, before, held.entry.after):
            raise _RefusedError("somebody else has just set its power limit")
        target = max(floor, float(round(live - STEP * (limits.default_power_limit_watts or live))))
        if target >= live:
            raise _RefusedError("its power limit, {} W, is at the floor already".format(before))
        record = self._transaction()
        subject = Subject("gpu", uuid, self._called(uuid))
        wanted = "{:g}".format(target)
        entry = Entry(0, _SETTING, subject, _KEY, place, held.entry.before if held else before, wanted)
        entry = record.write(entry)
        try:
            places.write(place, wanted)
            if not same(place, places.read(place), wanted):
                raise WriteError("it was set to {} W, and is not so".format(wanted))
        except WriteError as error:
            self._doubt = True
            with contextlib.suppress(WriteError):
                if not error.hung and same(place, places.read(place), before):
                    record.undone(entry.number)
                    self._doubt = False
            raise
        if held:
            record.undone(held.entry.number)
        return _Lowered(entry, floor, at)

    def _give_back(self, uuid: str, at: float, why: str) -> None:
        """In one write, where the limit is still ours; told, with the reason where it fails: then it is tried again in
        the next tick."""
        held, places, ended = self._lowered[uuid], Places(self._host), self._ended_by()
        place, own = held.entry.place, held.entry.before
        try:
            with self._writing():
                live = places.read(place)
                ours = same(place, live, held.entry.after)
                if ours:
                    places.write(place, own)
                    if self._record:
                        self._record.undone(held.entry.number)
                self._settled(uuid, Outcome.RESTORED if ours else Outcome.CONFLICT, own if ours else live)
        except _RefusedError as refused:
            self._tell(uuid, outcome=Became.FAILED, result="not given back yet: {}".format(refused))
            return
        result = "given back: {} W".format(own)
        if not ours:
            what = "its power limit is {} W, and we set {} W".format(live, held.entry.after)
            result = "{}: {}".format(what, "{} gave it back".format(ended) if ended else "it is left to whoever set it")
            why = "guard" if ended == guard.WHO else "superseded"
            if ended != guard.WHO:
                self._left.add(uuid)
        self._tried[uuid] = at
        self._tell(uuid, outcome=Became.DONE, undone_at=at, undone=why, result=result)
        self._forget(uuid)

    def _settled(self, uuid: str, outcome: Outcome, live: Optional[str]) -> None:
        """It is ours no more; the last one ends the transaction."""
        entry = self._lowered.pop(uuid).entry
        own, ours, now = ("{} W".format(watts) for watts in (entry.before, entry.after, live))
        fold = "{} {} {}".format(_SETTING, entry.subject.name, _KEY)
        change = Change(_SETTING, entry.subject, _KEY, outcome, wanted=own, live=now, before=ours, fold=fold)
        self._changes.append(change)
        if not self._lowered:
            self._end()

    def _all_back(self, at: float, why: str) -> None:
        for uuid in tuple(self._lowered):
            self._give_back(uuid, at, why)

    def _of(self, uuid: str) -> List[_Case]:
        return [case for case in self._cases.values() if case.uuid == uuid]

    def _called(self, uuid: str) -> str:
        labels = next(iter(self._of(uuid))).record.labels
        return "GPU {}".format(next((label.value for label in labels if label.name == "gpu"), "?"))

    def _forget(self, uuid: str) -> None:
        """Its alerts that are over."""
        self._cases = {key: case for key, case in self._cases.items() if case.uuid != uuid or not case.over}
        if not self._of(uuid):
            self._left.discard(uuid)

    def _tell(self, uuid: str, **changes: object) -> None:
        for case in self._of(uuid):
            if case.record.undone is None or not changes.get("undone"):
                new = case.record._replace(**changes)  # type: ignore[arg-type]  # fields of ActionRecord
                if new != case.record:
                    case.record = self._news[new.id] = new

    def _told(self) -> Sequence[ActionRecord]:
        told, self._news = tuple(self._news.values()), {}
        return told

    # The transaction.

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """While nobody else tunes. Raises _RefusedError for all that hinders."""
        try:
            with self._host.lock(journal.LOCK, self._who + ": brctl monitor --act"):
                yield
        except BusyError as busy:
            raise _RefusedError("another brctl is at work: {}".format(busy)) from None
        except OSError as error:
            raise _RefusedError(in_words(error)) from None
        except (WriteError, JournalError, detached.NotStartedError) as error:
            raise _RefusedError(str(error)) from None

    def _is_open(self) -> bool:
        return self._record is not None and journal.open_id(self._host) == self._record.id

    def _claim(self) -> None:
        """Be the one who throttles here. What an earlier one has left open, whose guard is gone too, is taken back
        first; anything else that is open is not ours to end."""
        if self._is_open():
            return
        if self._lowered:
            raise _RefusedError("its transaction was ended by {}".format(self._ended_by()))
        self._end()
        self._lock.enter_context(self._host.lock(LOCK, self._who))
        undo.end_of_earlier_boot(self._host, self._who)
        log = journal.opened(self._host)
        unfinished = engine.unfinished(self._host)
        if log and log.begin.request.action == journal.THROTTLE and log.state == "open":
            undo.rollback(self._host, log.begin.id, self._who)
        elif unfinished:
            raise _RefusedError(unfinished)

    def _transaction(self) -> Journal:
        """The one that is open, or a new one with a guard."""
        if self._record:
            return self._record
        reason = detached.dies_with_us(self._host)
        if reason:
            raise _RefusedError("nothing would be left to give the limit back, as " + reason)
        asked = Request(self._node, journal.THROTTLE, tune=Tuning(who=self._who))
        self._record = journal.begin(self._host, asked)
        self._guard = guard.Guard(self._host, self._record.id, self._deadline_s)
        return self._record

    def _end(self) -> None:
        """Nothing is lowered any more: the transaction ends; where a write is in doubt it is the guard's to end."""
        if self._record and not self._doubt and self._is_open():
            self._record.end("rolled back", self._who, tuple(self._changes))
        if self._guard:
            with contextlib.suppress(OSError):  # it has ended by itself
                (self._guard.give_back if self._doubt else self._guard.release)()
        self._record, self._guard, self._changes, self._doubt = None, None, [], False
        self._lock.close()

    def _ended_by(self) -> Optional[str]:
        """Who has ended our transaction; None: nobody."""
        if self._record is None:
            return None
        try:
            log = journal.load(self._host, self._record.id)
        except (OSError, JournalError):
            return None
        return log.end.who if log.end else None


def _floor(limits: GpuLimits) -> Optional[float]:
    default = limits.default_power_limit_watts or limits.power_limit_watts
    return None if default is None else max(float(round(FLOOR * default)), limits.min_power_limit_watts or 0.0)


def _step(held: _Lowered) -> str:
    return "power limit {} W -> {} W".format(held.entry.before, held.entry.after)


def _passed(since: Optional[float], now: float, seconds: float) -> bool:
    """Also where the clock was set back."""
    return since is None or not 0 <= now - since < seconds
