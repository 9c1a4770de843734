"""How samples cross the pipe: of each tick what has changed since the one before.

The first payload is a Report, the head, which has every Series and no samples. Each after that is one tick, as JSON
arrays so that 320 samples are 2.7 kB and not 48:

    [AT, GONE, NEW, CHANGED, NOTES]
    GONE      numbers of blocks that are no more
    NEW       those that were not there, or have other samples than before:
              [NUMBER, MS, STATE, [[SERIES, LABEL, ...], ...], [VALUE, ...]], SERIES by its place in the head
    CHANGED   [NUMBER, MS], nothing but the time; or [NUMBER, MS, STATE, [STEP, ...], [VALUE, ...]]: from the place
              before the first, or from the last one, so many steps further on is a value that has changed

A block has the samples of one collector on one part, which were read at one time: MS after AT. STATE is 0 where they
are measured (null: unsupported), 1 stale, 2 timeout: then no value is left. Both ends are here: the node packs, the
admin side follows, and believes nothing that it cannot check.
"""

import json
from math import isfinite
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ..report import InvalidReportError, Report, Sample, Series, State

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
_MOST_NOTES = 100


class Block(NamedTuple):
    """The samples of one collector on one part."""

    collector: str
    part: Tuple[str, ...]
    """A GPU's labels; empty for the host."""
    samples: Tuple[Sample, ...]


class _Sent(NamedTuple):
    """What the other end has of a block."""

    number: int
    samples: Tuple[Sample, ...]
    slots: List[Slot]
    values: List[Optional[float]]
    state: int
    at: float


class Packer:
    """The node's end."""

    def __init__(self, series: Sequence[Series]) -> None:
        self._places = {one.name: place for place, one in enumerate(series)}
        self._exact = {one.name for one in series if one.kind == "counter" or one.name.endswith("_timestamp_seconds")}
        self._sent: Dict[Key, _Sent] = {}
        self._next = 0

    def pack(self, at: float, blocks: Sequence[Block], notes: Sequence[str] = ()) -> bytes:
        """One tick, at `at` seconds since the epoch."""
        sent: Dict[Key, _Sent] = {}
        new: List[Any] = []
        changed: List[Any] = []
        for block in blocks:
            key = block.collector, block.part
            before = self._sent.pop(key, None)
            if before and before.samples is block.samples:
                sent[key] = before
                continue
            if before is None:
                self._next += 1
            now = self._now(block, before.number if before else self._next - 1)
            if before is None or before.slots != now.slots:
                new.append(self._whole(now, at))
            else:
                changed.append(_change(before, now, at))
            sent[key] = now
        gone = [before.number for before in self._sent.values()]
        self._sent = sent
        payload = [round(at, 3), gone, new, changed, list(notes)[:_MOST_NOTES]]
        return json.dumps(payload, separators=(",", ":"), allow_nan=False).encode("ascii")

    def _now(self, block: Block, number: int) -> _Sent:
        first = block.samples[0]
        state = next((sample.state for sample in block.samples if sample.state in _STATES), State.MEASURED)
        slots = [(sample.series, sample.labels) for sample in block.samples]
        values = [short(sample.value, sample.series in self._exact) for sample in block.samples]
        return _Sent(number, block.samples, slots, values, _STATES.index(state), first.at)

    def _whole(self, block: _Sent, at: float) -> List[Any]:
        slots = [[self._places[name], *labels] for name, labels in block.slots]
        return [block.number, _ms(block.at - at), block.state, slots, block.values]


def short(value: Optional[float], exact: bool = False) -> Optional[float]:
    """With no more digits than anybody measures, or, if `exact`, to the thousandth; whole numbers stay as they are."""
    if value is None or type(value) is int:
        return value
    if value.is_integer() and abs(value) < _GREATEST:
        return int(value)
    return round(value, _DECIMALS) if exact else float(_DIGITS % value)


def _change(before: _Sent, now: _Sent, at: float) -> List[Any]:
    steps: List[int] = []
    values: List[Optional[float]] = []
    last = -1
    known = before.values if now.state == 0 else now.values  # where there are no values, none is sent
    for place, value in enumerate(now.values):
        if value != known[place]:
            steps.append(place - last)
            values.append(value)
            last = place
    head = [now.number, _ms(now.at - at)]
    return head if not steps and now.state == before.state else [*head, now.state, steps, values]


def _ms(seconds: float) -> int:
    return round(seconds * _MS)


class _Block:
    """What the admin side knows of one."""

    def __init__(self, slots: Sequence[Slot]) -> None:
        self.slots = slots
        self.samples: Tuple[Sample, ...] = ()
        self.state = State.MEASURED
        self._values: List[Optional[float]] = [None] * len(slots)

    def set(self, state: State, at: float, steps: Sequence[int], values: Sequence[Optional[float]]) -> None:
        if state is not State.MEASURED:
            self._values = [None] * len(self.slots)
        place = -1
        for step, value in zip(steps, values):
            place += step
            self._values[place] = value
        self.state = state
        self.samples = tuple(
            Sample(name, labels, value, State.UNSUPPORTED if value is None and state is State.MEASURED else state, at)
            for (name, labels), value in zip(self.slots, self._values)
        )


class Follower:
    """The admin side's end, of one node."""

    def __init__(self, head: Report) -> None:
        """`head` is the first payload, decoded; its `samples` are replaced tick by tick."""
        self._head = head._replace(samples=())
        self._blocks: Dict[int, _Block] = {}

    def follow(self, payload: bytes) -> Report:
        """What the node says in this tick. Raises InvalidReportError; nothing that comes after it can be believed."""
        try:
            at, gone, new, changed, notes = json.loads(payload)
            _demand(_is_number(at) and 0 <= at < _LATEST, "no time")
            _demand(all(type(note) is str for note in notes) and len(notes) <= _MOST_NOTES, "no notes")
            for number in gone:
                del self._blocks[number]
            for one in new:
                self._add(at, *one)
            for one in changed:
                self._change(at, *one)
        except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError) as error:
            raise InvalidReportError("no tick: {}: {}".format(type(error).__name__, error)) from None
        samples = tuple(sample for block in self._blocks.values() for sample in block.samples)
        _demand(len(samples) <= MOST_SAMPLES, "{} samples".format(len(samples)))
        return self._head._replace(time=float(at), samples=samples, notes=tuple(notes))

    def _add(self, at: float, number: int, ms: int, state: int, slots: List[Any], values: List[Any]) -> None:
        _demand(type(number) is int and len(slots) == len(values), "no new block")
        _demand(len(slots) <= MOST_SAMPLES and len(self._blocks) < MOST_SAMPLES, "too many blocks or samples")
        self._blocks[number] = _Block([self._slot(*slot) for slot in slots])
        self._change(at, number, ms, state, [1] * len(values), values)

    def _slot(self, place: int, *labels: str) -> Slot:
        _demand(type(place) is int and place >= 0, "no series")
        series = self._head.series[place]
        fit = len(labels) == len(series.labels) and all(type(one) is str and len(one) <= MOST_LABEL for one in labels)
        _demand(fit, "no labels of {}".format(series.name))
        return series.name, labels

    def _change(
        self, at: float, number: int, ms: int, state: Optional[int] = None, steps: Sequence[int] = (),
        values: Sequence[Any] = (),
    ) -> None:  # fmt: skip
        block = self._blocks[number]
        _demand(type(ms) is int and abs(ms) < _LATEST, "no milliseconds")
        _demand(len(steps) == len(values) and sum(steps) <= len(block.slots), "no values")
        _demand(all(type(step) is int and step > 0 for step in steps), "no places")
        _demand(all(value is None or _is_number(value) for value in values), "no numbers")
        _demand(state is None or (type(state) is int and state >= 0), "no state")
        block.set(block.state if state is None else _STATES[state], at + ms / _MS, steps, values)


def _is_number(value: Any) -> bool:
    """bool is an int to Python; JSON has numbers of any size."""
    return type(value) in (int, float) and isfinite(value) and abs(value) <= _GREATEST


def _demand(fits: bool, what: str) -> None:
    if not fits:
        raise InvalidReportError("no tick: " + what)
