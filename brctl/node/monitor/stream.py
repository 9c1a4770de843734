"""How samples cross the pipe: of each tick what has changed since the one before.

The first payload is a Report, the head, which has every Series and no samples. Each after that is one tick, as JSON
arrays so that 320 samples are 2.7 kB and not 48:

    [AT, GONE, NEW, CHANGED, NOTES, ACTION...]
    GONE      numbers of blocks that are no more
    NEW       those that were not there, or have other samples than before:
              [NUMBER, MS, STATE, [[SERIES, LABEL, ...], ...], [VALUE, ...]], SERIES by its place in the head
    CHANGED   [NUMBER, MS], nothing but the time; or [NUMBER, MS, STATE, [STEP, ...], [VALUE, ...]]: from the place
              before the first, or from the last one, so many steps further on is a value that has changed
    ACTION    a record of what the node has done by itself, or undone; most ticks have none

A block has the samples of one collector on one part, which were read at one time: MS after AT. STATE is 0 where they
are measured (null: unsupported), 1 stale, 2 timeout: then no value is left. Both ends are here: the node packs, the
admin side follows, and believes nothing that it cannot check.
"""

import json
from functools import partial
from itertools import chain, repeat
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from ..alert_facts import ActionRecord
from ..codec import InvalidReportError, decode, encode, sound
from ..report import Report, Sample, Series, State
from ..samples import Group, Samples, places

Slot = Tuple[str, Tuple[str, ...]]
Key = Tuple[str, Tuple[str, ...]]
MOST_SAMPLES = 100_000
"""Of one node. Sixteen GPUs with 300 processes have 4000; more than this is no node's."""
MOST_LABEL = 1000
_STATES = (State.MEASURED, State.STALE, State.TIMEOUT)
_DIGITS, _DECIMALS = "%.7g", 3
"""Of a gauge; of what others make differences of: counters, times."""
_GREATEST = 2**64
_MS = 1000
_LATEST = 4102444800.0
"""The year 2100: a clock beyond it is no clock."""
_MOST_NOTES = _MOST_ACTIONS = 100


class Block(NamedTuple):
    """The samples of one collector on one part, which were read at one time."""

    collector: str
    part: Tuple[str, ...]
    """A GPU's labels; empty for the host."""
    slots: Tuple[Slot, ...]
    values: Tuple[Optional[float], ...]
    """One for each slot: None where it is unsupported, and all of them where `state` is not measured."""
    state: State
    at: float

    @property
    def samples(self) -> Tuple[Sample, ...]:
        none = State.UNSUPPORTED if self.state is State.MEASURED else self.state
        return tuple(
            Sample(name, labels, value, none if value is None else self.state, self.at)
            for (name, labels), value in zip(self.slots, self.values)
        )


class _Sent(NamedTuple):
    """What the other end has of a block."""

    number: int
    block: Block
    values: List[Optional[float]]
    """As they were sent."""


class Packer:
    """The node's end."""

    def __init__(self, series: Sequence[Series]) -> None:
        self._places = {one.name: place for place, one in enumerate(series)}
        self._exact = {one.name for one in series if one.kind == "counter" or one.name.endswith("_timestamp_seconds")}
        self._sent: Dict[Key, _Sent] = {}
        self._next = 0

    def pack(
        self, at: float, blocks: Sequence[Block], notes: Sequence[str] = (), actions: Sequence[ActionRecord] = ()
    ) -> bytes:
        """One tick, at `at` seconds since the epoch."""
        sent: Dict[Key, _Sent] = {}
        new: List[Any] = []
        changed: List[Any] = []
        for block in blocks:
            key = block.collector, block.part
            before = self._sent.pop(key, None)
            if before and before.block is block:
                sent[key] = before
            elif before and before.block.slots == block.slots:
                sent[key], change = self._change(before, block, at)
                changed.append(change)
            else:
                if before is None:
                    self._next += 1
                sent[key], whole = self._whole(before.number if before else self._next - 1, block, at)
                new.append(whole)
        gone = [before.number for before in self._sent.values()]
        self._sent = sent
        payload = [round(at, 3), gone, new, changed, list(notes)[:_MOST_NOTES], *map(encode, actions)]
        return json.dumps(payload, separators=(",", ":"), allow_nan=False).encode("ascii")

    def _whole(self, number: int, block: Block, at: float) -> Tuple[_Sent, List[Any]]:
        slots = [[self._places[name], *labels] for name, labels in block.slots]
        values = [short(value, slot[0] in self._exact) for slot, value in zip(block.slots, block.values)]
        whole = [number, _ms(block.at - at), _STATES.index(block.state), slots, values]
        return _Sent(number, block, values), whole

    def _change(self, before: _Sent, block: Block, at: float) -> Tuple[_Sent, List[Any]]:
        steps: List[int] = []
        found: List[Optional[float]] = []
        values, last = before.values, -1
        if block.state is not State.MEASURED:
            values = [None] * len(block.values)  # which the other end knows by the state
        elif block.values != before.block.values:
            values = list(values)
            for place, (value, old) in enumerate(zip(block.values, before.block.values)):
                if value != old:
                    value = short(value, block.slots[place][0] in self._exact)
                    if value != values[place]:
                        values[place] = value
                        steps.append(place - last)
                        found.append(value)
                        last = place
        change: List[Any] = [before.number, _ms(block.at - at)]
        if steps or block.state is not before.block.state:
            change += [_STATES.index(block.state), steps, found]
        return _Sent(before.number, block, values), change


def short(value: Optional[float], exact: bool = False) -> Optional[float]:
    """With no more digits than anybody measures, or, if `exact`, to the thousandth; whole numbers stay as they are."""
    if value is None or type(value) is int:
        return value
    if value.is_integer() and abs(value) < _GREATEST:
        return int(value)
    return round(value, _DECIMALS) if exact else float(_DIGITS % value)


def _ms(seconds: float) -> int:
    return round(seconds * _MS)


class _Block:
    """What the admin side knows of one."""

    def __init__(self, slots: Sequence[Slot]) -> None:
        self.group = Group(())
        self.state = State.MEASURED
        self.names, self._labels = tuple(name for name, _ in slots), tuple(labels for _, labels in slots)
        self._places = places(self.names)
        self._values: List[Optional[float]] = [None] * len(slots)

    def set(self, state: State, at: float, steps: Sequence[int], values: Sequence[Optional[float]]) -> None:
        if state is not State.MEASURED:
            self._values = [None] * len(self.names)
        place = -1
        for step, value in zip(steps, values):
            place += step
            self._values[place] = value
        self.state = state
        states: Iterable[State] = repeat(state)
        if state is State.MEASURED and None in self._values:
            states = [State.UNSUPPORTED if value is None else state for value in self._values]
        rows = zip(self.names, self._labels, self._values, states, repeat(at))
        self.group = Group(map(_sample, rows), self._places)


_sample = partial(tuple.__new__, Sample)
"""Of a tuple of its fields; less than half of the time that it takes to call its class, for hundreds in a tick."""


class Follower:
    """The admin side's end, of one node."""

    def __init__(self, head: Report) -> None:
        """`head` is the first payload, decoded; its `samples` are replaced tick by tick."""
        self._head = head._replace(samples=())
        self._blocks: Dict[int, _Block] = {}

    def follow(self, payload: bytes) -> Report:
        """What the node says in this tick. Raises InvalidReportError; nothing that comes after it can be believed."""
        try:
            at, gone, new, changed, notes, *actions = _PLAIN.decode(payload.decode("ascii"))
            _demand(type(at) in _NUMBERS, "no time")
            _demand(0 <= at < _LATEST, "the node's clock is set before 1970, or after 2099")
            _demand(all(type(note) is str for note in notes) and len(notes) <= _MOST_NOTES, "no notes")
            done = _actions(actions)
            for number in gone:
                del self._blocks[number]
            changes = [self._add(*one) for one in new] + changed
            _check(changes)
            for one in changes:
                self._change(at, *one)
        except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError) as error:
            raise InvalidReportError("no tick: {}: {}".format(type(error).__name__, error)) from None
        samples = Samples(block.group for block in self._blocks.values())
        _demand(len(samples) <= MOST_SAMPLES, "{} samples".format(len(samples)))
        return self._head._replace(time=float(at), samples=samples, notes=tuple(map(sound, notes)), actions=done)

    def _add(self, number: int, ms: int, state: int, slots: List[Any], values: List[Any]) -> List[Any]:
        """A block without values yet; they are a change of it."""
        _demand(type(number) is int, "no new block")
        _demand(len(slots) <= MOST_SAMPLES and len(self._blocks) < MOST_SAMPLES, "too many blocks or samples")
        self._blocks[number] = _Block([self._slot(*slot) for slot in slots])
        return [number, ms, state, [1] * len(slots), values]

    def _slot(self, place: int, *labels: str) -> Slot:
        _demand(type(place) is int and place >= 0, "no series")
        series = self._head.series[place]
        fit = len(labels) == len(series.labels) and all(type(one) is str and len(one) <= MOST_LABEL for one in labels)
        _demand(fit, "no labels of {}".format(series.name))
        return series.name, tuple(map(sound, labels))

    def _change(
        self, at: float, number: int, ms: int, state: Optional[int] = None, steps: Sequence[int] = (),
        values: Sequence[Any] = (),
    ) -> None:  # fmt: skip
        block = self._blocks[number]
        now = block.state if state is None else _STATES[state]
        fit = len(steps) == len(values) and sum(steps) <= len(block.names)
        _demand(fit and (now is State.MEASURED or not any(value is not None for value in values)), "no values")
        block.set(now, at + ms / _MS, steps, values)


def _check(changes: Sequence[Sequence[Any]]) -> None:
    """That all of them are made of numbers that can be; what fits a block only that can say. For each block by itself
    it would take as long as all else that is done with it."""
    _demand({2, 5}.issuperset(map(len, changes)), "no changes")
    full = [change for change in changes if len(change) > 2]
    times, states = [change[1] for change in changes], [change[2] for change in full]
    steps = list(chain.from_iterable(change[3] for change in full))
    known = [value for change in full for value in change[4] if value is not None]
    _demand({int}.issuperset(map(type, chain(times, states, steps))), "no whole numbers")
    _demand(max(map(abs, times), default=0) < _LATEST * _MS, "no milliseconds")  # clocks may be set in between
    _demand(min(states, default=0) >= 0 and min(steps, default=1) > 0, "no states or places")
    _demand(_NUMBERS.issuperset(map(type, known)), "no numbers")
    _demand(not known or (min(known) >= -_GREATEST and max(known) <= _GREATEST), "no numbers that anybody counts")


def _actions(plain: Sequence[Any]) -> Tuple[ActionRecord, ...]:
    _demand(len(plain) <= _MOST_ACTIONS, "too many actions")
    try:
        return tuple(decode(ActionRecord, one) for one in plain)
    except InvalidReportError as error:
        raise InvalidReportError("no tick: {}".format(error)) from None


def _refuse(constant: str) -> None:
    """Of NaN nothing can be said that is less or greater."""
    raise ValueError(constant + " is no number")


_PLAIN = json.JSONDecoder(parse_constant=_refuse)
_NUMBERS = frozenset((int, float))
"""bool is an int to Python."""


def _demand(fits: bool, what: str) -> None:
    if not fits:
        raise InvalidReportError("no tick: " + what)
