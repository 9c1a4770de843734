"""Finds the Settings and plans with them. One that breaks is refused, with the reason, and stops no other's plan."""

from functools import lru_cache
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ..facts import Inventory
from ..host import Host
from ..host.members import members, of_ids
from ..report import HOST, Change, Outcome
from ..request import Request
from . import Scene, Setting, Step, Write, journal, settings, targets
from .foreseen import Foreseen
from .places import Places, WriteError, about, same


@lru_cache(maxsize=None)
def registry() -> Tuple[Setting, ...]:
    """All Settings in the order in which they are made: the SETTING of every module in settings/."""
    found: List[Setting] = members(settings, "SETTING")
    return tuple(sorted(found, key=lambda setting: (setting.order, setting.id)))


class Plan(NamedTuple):
    steps: Tuple[Step, ...]
    """In the order in which they are made."""

    @property
    def changes(self) -> Tuple[Change, ...]:
        return tuple(step.change for step in self.steps)

    @property
    def refused(self) -> Tuple[Change, ...]:
        return tuple(change for change in self.changes if change.outcome is Outcome.REFUSED)

    @property
    def pending(self) -> Tuple[Step, ...]:
        return tuple(step for step in self.steps if step.change.outcome is Outcome.PENDING)


def plan(host: Host, seen: Inventory, request: Request) -> Plan:
    """What is wanted of this machine, and what it would take. Never raises for what a Setting or a file does."""
    foreseen = Foreseen(host)
    places = Places(foreseen)
    tune = request.tune
    scene = Scene(foreseen, seen, tune.wanted, request.expected, tune.persist, request.comm)
    steps: List[Step] = []
    hindrances: Dict[str, Optional[str]] = {}
    for setting in of_ids(registry(), tune.settings):
        shared: Dict[int, Tuple[Write, ...]] = {}
        for step in _planned(setting, scene):
            # Steps that share their boot writes, as GPUs do, need them alike: not the first of them alone.
            needed = shared.get(id(step.boot))
            if needed is None:
                needed = shared[id(step.boot)] = tuple(_needed(places, step.boot)) if tune.persist else ()
            for write in step.boot:
                if write.place.kind == "file":
                    foreseen.values[write.place.name] = write.value
            change = _judged(step.change, step.live, needed)
            if change.outcome is Outcome.PENDING:
                writes = (*step.live, *step.boot) if tune.persist else step.live
                why = _hindrance(host, writes, hindrances)
                change = change._replace(outcome=Outcome.REFUSED, reason=why) if why else change
            steps.append(step._replace(change=change, boot=needed))
    return Plan(tuple(steps))


def unfinished(host: Host) -> Optional[str]:
    """What to do first where a transaction has not ended; None: nothing, or root alone may know."""
    try:
        log = journal.opened(host)
    except journal.JournalError as error:
        return "{}: {}".format(error, error.hint)
    except OSError:  # whoever plans needs no root; whoever applies cannot write then
        return None
    if log is None or log.state not in journal.UNFINISHED:  # it ended, and was killed then
        return None
    name = log.begin.id
    if log.state != "open":
        return "{} by {} waits for its confirmation: `tune confirm`, or `tune rollback`".format(name, log.begin.who)
    if log.begin.request.action == journal.THROTTLE:
        return "{} by {} throttles GPUs: it ends with the alert, or by `tune rollback`".format(name, log.begin.who)
    return "{} by {} was cut short: `tune rollback` takes back what it did".format(name, log.begin.who)


def _planned(setting: Setting, scene: Scene) -> Tuple[Step, ...]:
    try:
        return tuple(setting.plan(scene))
    except OSError as error:  # a recording that does not have it, a folder that only root may list
        return (Step(Change(setting.id, HOST, setting.id, Outcome.REFUSED, reason=about(error))),)
    except Exception as error:  # a Setting that breaks must not take the others along
        why = "the setting itself failed: {}: {}".format(type(error).__name__, error)
        return (Step(Change(setting.id, HOST, setting.id, Outcome.REFUSED, reason=why)),)


def _judged(change: Change, live: Sequence[Write], boot: Sequence[Write]) -> Change:
    fold = change.fold or "{} {} {}".format(change.setting, change.subject.name, change.key)
    pending = change.outcome in (Outcome.OK, Outcome.PENDING) and bool(live or boot)
    outcome = Outcome.PENDING if pending else change.outcome
    return change._replace(outcome=outcome, fold=fold)


def _hindrance(host: Host, writes: Sequence[Write], known: Dict[str, Optional[str]]) -> Optional[str]:
    """Of the first file that cannot be written; `known` is of this plan, as many parts share their files."""
    paths = [write.place.name for write in writes if write.place.kind == "file" and write.value is not None]
    for path in paths:
        if path not in known:
            known[path] = targets.hindrance(host, path)
    return next(filter(None, map(known.get, paths)), None)


def _needed(places: Places, writes: Sequence[Write]) -> Iterator[Write]:
    """Those of places that will hold something else without them. What cannot be read is left to the write, which will
    say why."""
    for write in writes:
        try:
            held = places.read(write.place)
        except WriteError:
            held = None
        if not same(write.place, held, write.value):
            yield write
