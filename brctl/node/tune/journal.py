"""The journal: /var/lib/brctl/tune/ID.jsonl, one transaction each, one record a line, on disk before what it tells of.

    {"begin": {...}}    who, when, boot id, config hash, and what was wanted
    {"write": {...}}    is going to be done: place, before, after. In flight until another record follows
    {"undone": {...}}   the write of that number was taken back, or never came to be
    {"end": {...}}      the state that it is in now, and what became of each Change; the last one holds

A file /var/lib/brctl/tune/open names the transaction that has not ended, or waits for its confirmation.
"""

import contextlib
import hashlib
import json
import time
from typing import Callable, Dict, FrozenSet, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple, Type

from ..codec import InvalidReportError, decode, encode
from ..host import Host
from ..report import HOST, Change, Outcome, Subject, Transaction
from ..request import Request
from . import Place
from .words import shown

FOLDER = "/var/lib/brctl/tune"
MARKER = FOLDER + "/open"
LOCK = "/run/brctl/tune.lock"
UNFINISHED = ("open", "unconfirmed", "confirming")
"""The states of a transaction that has not ended. Of one that had, `open` says that its rollback was begun."""
THROTTLE = "throttle"
"""The action of a transaction that is open for as long as GPUs are throttled (throttle.py)."""
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_LONGEST = 65536
"""Characters of a value that is kept as it is. Of a longer one that we wrote, its SHA-256 is enough."""
_HASH = "sha256:"


class Begin(NamedTuple):
    id: str
    time: float
    who: str
    boot_id: str
    request: Request
    """What was asked for; `confirm` makes it last."""
    connection: Optional[str] = None
    """The ssh connection that it came by: `10.0.0.7 51234 10.0.0.1 22`. It is no proof that a new one can come."""


class Entry(NamedTuple):
    """One write."""

    number: int
    setting: str
    subject: Subject
    key: str
    place: Place
    before: Optional[str]
    after: Optional[str]
    commands: Tuple[Tuple[str, ...], ...] = ()
    """To be run once it is taken back: `Step.after`."""
    along: bool = False
    """It had to be written for the sake of that key: a VLAN that comes down with its bond. It is told with the key."""

    @property
    def part(self) -> Tuple[str, Subject, str]:
        """What it is told as: one key of one part, or the file, which serves many parts."""
        if self.place.kind == "file":
            return self.setting, HOST, self.place.name
        return self.setting, self.subject, self.key


class Undone(NamedTuple):
    number: int


class End(NamedTuple):
    state: str
    """As Transaction has it."""
    time: float
    who: str
    changes: Tuple[Change, ...] = ()


class Log(NamedTuple):
    """One transaction as it stands in the journal."""

    begin: Begin
    entries: Tuple[Entry, ...]
    """Those that were not taken back."""
    in_flight: Optional[int]
    """Number of the write that nothing follows: it may have been done, in part, or not."""
    end: Optional[End]
    written: int
    """How many entries there are, those that were taken back too."""

    @property
    def state(self) -> str:
        return self.end.state if self.end else "open"

    @property
    def doubtful(self) -> FrozenSet[int]:
        """Numbers of the writes that may be done, in part, or not, or may be yet: that in flight, and what stands here
        though it was told as refused: it did not return in time."""
        changes = self.end.changes if self.end else ()
        refused = {(each.setting, each.subject, each.key) for each in changes if each.outcome is Outcome.REFUSED}
        return frozenset(each.number for each in self.entries if each.number == self.in_flight or each.part in refused)

    def told(self) -> Transaction:
        """For the Report."""
        begin, changes = self.begin, self.end.changes if self.end else self._done()
        config_hash = begin.request.tune.config_hash
        return Transaction(begin.id, self.state, begin.time, begin.who, begin.boot_id, config_hash, changes)

    def _done(self) -> Tuple[Change, ...]:
        """Of a transaction that was cut short."""
        return one_for_each_part((entry, self._done_by(entry)) for entry in self.entries)

    def _done_by(self, entry: Entry) -> Change:
        doubt = "this may be done, in part, or not at all" if entry.number == self.in_flight else None
        before, after = shown(entry.place, entry.before), shown(entry.place, entry.after)
        return Change(*entry.part, Outcome.CHANGED, before=before, live=after, reason=doubt)


def one_for_each_part(found: Iterable[Tuple[Entry, Change]]) -> Tuple[Change, ...]:
    """What is told of writes: that of one key of one part is one Change, as it was in the plan."""
    parts: Dict[Tuple[str, Subject, str], List[Tuple[Entry, Change]]] = {}
    for entry, change in found:
        parts.setdefault(entry.part, []).append((entry, change))
    return tuple(map(_joined, parts.values()))


_WORST_FIRST = (Outcome.REFUSED, Outcome.CONFLICT, Outcome.RESTORED)


def _joined(found: Sequence[Tuple[Entry, Change]]) -> Change:
    """The worst of a part's own places, as of the clocks of all CPUs; what came along is an effect."""
    own = sorted((one for one in found if not one[0].along), key=_badness)
    along = [one for one in found if one[0].along]
    if not own:  # it was cut short, or taken back, before the turn of the part itself
        (entry, change), *along = along
        own = [(entry, change._replace(key=entry.place.name))]
    effects = tuple("{}: {} -> {}".format(entry.place.name, change.before, change.live) for entry, change in along)
    place, change = own[0][0].place, own[0][1]
    if len(own) > 1 and change.reason:
        change = change._replace(reason="{}: {}".format(place.name, change.reason))
    elif len(own) > 1:
        change = change._replace(live=", ".join(dict.fromkeys(one.live or "" for _, one in own)))
    worst = min(along, key=_badness, default=own[0])
    if _badness(worst) < _badness(own[0]):
        reason = "{}: {}".format(worst[0].place.name, worst[1].reason)
        change = change._replace(outcome=worst[1].outcome, reason=worst[1].reason and reason)
    return change._replace(effects=change.effects + effects)


def _badness(told: Tuple[Entry, Change]) -> Tuple[int, bool]:
    """The least is the worst; of equal ones, one that says why."""
    change = told[1]
    rank = _WORST_FIRST.index(change.outcome) if change.outcome in _WORST_FIRST else len(_WORST_FIRST)
    return rank, change.reason is None


class JournalError(Exception):
    """A journal cannot be read, or there is no such transaction; `hint` says what to do."""

    def __init__(self, message: str, hint: Optional[str] = None) -> None:
        super().__init__(message)
        self.hint = hint


class Journal:
    """A transaction that is being written. Everything raises OSError where the disk does not take it."""

    def __init__(self, host: Host, name: str, entries: Sequence[Entry] = (), count: int = 0) -> None:
        self.id = name
        self._host = host
        self._path = "{}/{}.jsonl".format(FOLDER, name)
        self._entries = {entry.number: entry for entry in entries}
        self.hung: Set[int] = set()
        """Numbers of the writes of this process that did not return in time: each may be done at any moment."""
        self._count = count

    @property
    def entries(self) -> Tuple[Entry, ...]:
        """Those that were not taken back."""
        return tuple(self._entries.values())

    def write(self, entry: Entry) -> Entry:
        """Before it is done; gives it its number."""
        numbered = entry._replace(number=self._count)
        self._count += 1
        after = numbered.after
        long = after is not None and len(after) > _LONGEST
        self._append(numbered._replace(after=digest(after or "")) if long else numbered)
        self._entries[numbered.number] = numbered
        return numbered

    def undone(self, number: int) -> None:
        self._append(Undone(number))
        del self._entries[number]

    def end(self, state: str, who: str, changes: Tuple[Change, ...], undone: Sequence[int] = ()) -> None:
        """The transaction is closed, unless its state says that it waits; with it, all at once, what was taken back."""
        self._append(*map(Undone, undone), End(state, time.time(), who, changes))
        for number in undone:
            del self._entries[number]
        if state not in UNFINISHED and open_id(self._host) == self.id:
            self._host.remove(MARKER)

    def open_again(self, who: str, changes: Tuple[Change, ...]) -> None:
        """Its rollback begins. One that is open already stays the one that has to be ended first."""
        self.end("open", who, changes)
        if open_id(self._host) is None:
            self.mark()

    def mark(self) -> None:
        """It is the one that has not ended."""
        self._host.replace(MARKER, (self.id + "\n").encode(), 0o600)

    def _append(self, *records: NamedTuple) -> None:
        lines = [json.dumps({_NAMES[type(record)]: encode(record)}, separators=(",", ":")) for record in records]
        self._host.append(self._path, "".join(line + "\n" for line in lines).encode("ascii"))


def begin(host: Host, request: Request, connection: Optional[str] = None) -> Journal:
    """Open a transaction. Raises OSError."""
    taken = names(host)
    stamp = name = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    number = 2
    while name in taken:
        name, number = "{}-{}".format(stamp, number), number + 1
    journal = Journal(host, name)
    try:
        journal._append(Begin(name, time.time(), request.tune.who, boot_id(host), request, connection))
        journal.mark()
    except OSError:
        with contextlib.suppress(OSError):  # what is left says nothing, or that it is open
            host.remove(journal._path)
        raise
    return journal


def resumed(host: Host, log: Log) -> Journal:
    """The journal of a transaction that goes on; a line that was cut short is taken away. Raises OSError."""
    path = "{}/{}.jsonl".format(FOLDER, log.begin.id)
    data = host.read_bytes(path) or b""
    if not data.endswith(b"\n"):
        host.replace(path, data[: data.rfind(b"\n") + 1], 0o600)
    return Journal(host, log.begin.id, log.entries, log.written)


def names(host: Host) -> Tuple[str, ...]:
    """The ids of all transactions, oldest first. Raises OSError."""
    files = [name for name in host.listdir(FOLDER) or () if name.endswith(".jsonl")]
    return tuple(sorted((name[: -len(".jsonl")] for name in files), key=_age))


def open_id(host: Host) -> Optional[str]:
    """Which transaction has not ended, if there is one. Raises OSError."""
    return (host.read(MARKER) or "").strip() or None


def opened(host: Host) -> Optional[Log]:
    """That transaction. Raises JournalError: it cannot be read; OSError."""
    name = open_id(host)
    try:
        return load(host, name) if name else None
    except JournalError as error:
        why = "{} says that one has not ended, and {}".format(MARKER, error)
        raise JournalError(why, "look at what it changed by hand, then remove that file") from None


def load(host: Host, name: str) -> Log:
    """Raises JournalError: no such transaction, or its file is broken; OSError."""
    data = host.read_bytes("{}/{}.jsonl".format(FOLDER, name)) if "/" not in name else None
    if data is None:
        raise JournalError("there is no transaction {}".format(name))
    return _loaded(name, data)


def _loaded(name: str, data: bytes) -> Log:
    """Raises JournalError."""
    try:
        return _log(list(_records(data)))
    except (InvalidReportError, ValueError, KeyError, IndexError) as error:
        raise JournalError("{}/{}.jsonl cannot be read: {}".format(FOLDER, name, error)) from None


def logs(host: Host, broken: Optional[Callable[[JournalError], None]] = None) -> Iterator[Log]:
    """All that can be read, newest first; `broken` is told of each that cannot. Raises OSError."""
    for name in reversed(names(host)):
        data = host.read_bytes("{}/{}.jsonl".format(FOLDER, name)) or b""
        if b"\n" not in data:  # it was cut short before it began
            continue
        try:
            log = _loaded(name, data)
        except JournalError as error:  # it hides no other
            if broken:
                broken(error)
            continue
        yield log


def boot_id(host: Host) -> str:
    return (host.read(_BOOT_ID) or "").strip()


def locked_clocks(host: Host, place: Place) -> Optional[str]:
    """The range that brctl has last locked that GPU's clocks to since the boot; None: it has not, or unlocked them."""
    now = boot_id(host)
    for log in logs(host):
        if log.begin.boot_id != now:  # and so are all older ones
            return None
        for entry in reversed(log.entries):
            if entry.place == place:
                return entry.after
    return None


def digest(value: str) -> str:
    """What stands for a long value."""
    return _HASH + hashlib.sha256(value.encode("latin-1")).hexdigest()


def is_ours(live: Optional[str], after: Optional[str]) -> bool:
    """Whether `live` is the long value that `after` stands for."""
    return live is not None and after is not None and after.startswith(_HASH) and digest(live) == after


def _log(records: List[NamedTuple]) -> Log:
    first = records[0]
    if not isinstance(first, Begin):
        raise ValueError("it does not begin with who and when")
    undone = {record.number for record in records if isinstance(record, Undone)}
    entries = [record for record in records if isinstance(record, Entry)]
    ends = [record for record in records if isinstance(record, End)]
    last = records[-1]
    return Log(
        first,
        tuple(entry for entry in entries if entry.number not in undone),
        last.number if isinstance(last, Entry) else None,
        ends[-1] if ends else None,
        len(entries),
    )


def _records(data: bytes) -> Iterator[NamedTuple]:
    """A line that was cut short is the last one: what it tells of was not done."""
    for line in data.split(b"\n")[:-1]:
        ((kind, plain),) = json.loads(line).items()
        yield decode(_KINDS[kind], plain)


_KINDS: Dict[str, Type[NamedTuple]] = {"begin": Begin, "write": Entry, "undone": Undone, "end": End}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def _age(name: str) -> Tuple[str, int]:
    """20261130-105442-2 came after 20261130-105442, and -10 after -2."""
    day, _, rest = name.partition("-")
    stamp, _, number = rest.partition("-")
    return day + stamp, int(number) if number.isdecimal() else 0
