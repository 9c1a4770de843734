"""The table of nodes: one row each, worst first; those that find no room are folded into one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ...fleet.balance import evenness
from ...fleet.fold import node_set
from ...node.monitor import RELEASED, UP
from ...node.patterns import natural
from ...node.report import NodeError, Report, Sample
from . import amounts
from .gpus import (
    EXPECTED,
    MARGIN,
    MEMORY_TOTAL,
    MEMORY_USED,
    NIC,
    POWER,
    TEMPERATURE,
    UTILIZATION,
    VISIBLE,
    temperature,
    unlisted,
    usage,
)
from .ink import BLANK, Cell, Column, Ink, Line, Row, cell
from .items import Item, Section
from .marks import mark
from .seen import Histories

NODE_HISTORY = "node"
"""In the place of a Series: the mean use of a node's GPUs."""
STARTS = "not-asked"
"""The kind of error of a node that has not answered yet: it is not silent."""
_STEP_CELSIUS = 10
_ILL = 2e6
"""The badness of a node that has GPUs that do not answer; a silent one is worse."""
_FOLDED_NAMES = 40
"""Letters of a node set in the line of those that find no room."""

COLUMNS = (
    Column("NODE"),
    Column("GPUS", right=True),
    Column("USE", rank=1, least=9, most=16),
    Column("LEAST", rank=5, right=True),
    Column("HISTORY", rank=6, least=12, most=60, moving=True),
    Column("MEMORY", rank=3, right=True),
    Column("HOTTEST", rank=2, right=True),
    Column("POWER", rank=4, right=True),
    Column("STATE"),
)
SORTS = ("worst", "node", "use", "memory", "temp", "power")


class Summary(NamedTuple):
    """One node in one tick; None where no GPU tells it."""

    node: str
    error: NodeError | None
    gpus: int
    down: int
    """GPUs that do not answer."""
    use: float | None
    """Mean of its GPUs."""
    least: float | None
    memory: float | None
    """Used part of all that its GPUs have."""
    temperature: float | None
    """Of the hottest."""
    margin: float | None
    power: float | None
    """Of all GPUs together."""
    uses: tuple[float, ...] = ()
    """Of each GPU that tells it."""
    unread: frozenset[str] = frozenset()
    """Series of which nothing is told, and would be if all GPUs could be read now."""
    released: bool = False
    """The GPUs are let go, and so nobody knows."""


class Plan:
    """Where in a node's samples the few stand that a row is made of: they keep their places from tick to tick, and to
    look at 320 samples of each of 1024 nodes would take longer than all else."""

    def __init__(self) -> None:
        self._places: dict[str, list[tuple[int, Sample]]] = {}
        self._count = -1

    def find(self, samples: Sequence[Sample]) -> dict[str, list[float]]:
        """The measured values of each of the Series that a Summary needs."""
        if len(samples) != self._count:
            return self._anew(samples)
        found: dict[str, list[float]] = {}
        for name, places in self._places.items():
            values = found[name] = []
            for place, known in places:
                sample = samples[place]
                if sample.series != name or sample.labels != known.labels:
                    return self._anew(samples)
                if sample.value is not None:
                    values.append(sample.value)
        return found

    def unread(self, samples: Sequence[Sample], names: Sequence[str]) -> Iterator[str]:
        """Those of these Series of which a sample could not be read now. What they are of was found before."""
        for name in names:
            if any(amounts.absent(samples[place].state) == "?" for place, _ in self._places[name]):
                yield name

    def _anew(self, samples: Sequence[Sample]) -> dict[str, list[float]]:
        self._count, self._places = len(samples), {name: [] for name in _NEEDED}
        for place, sample in enumerate(samples):
            if sample.series in self._places:
                self._places[sample.series].append((place, sample))
        return {
            name: [sample.value for _, sample in places if sample.value is not None]
            for name, places in self._places.items()
        }


_SHOWN = (UTILIZATION, MEMORY_USED, TEMPERATURE, POWER)
_NEEDED = (UP, UTILIZATION, MEMORY_USED, MEMORY_TOTAL, TEMPERATURE, MARGIN, POWER, EXPECTED, VISIBLE, RELEASED, NIC)


def summary(report: Report, plan: Plan) -> Summary:
    """A node's row."""
    if report.errors:
        return silent(report.node, report.errors[0])
    found = plan.find(report.samples)
    up, uses = found[UP], found[UTILIZATION]
    used, total = found[MEMORY_USED], sum(found[MEMORY_TOTAL])
    in_part = len(used) != len(found[MEMORY_TOTAL])  # which is not told
    lacking = [name for name in _SHOWN if not found[name] or (name == MEMORY_USED and in_part)]
    released = any(found[RELEASED])
    more = 0 if released else _unlisted(found)
    return Summary(
        report.node,
        None,
        len(up) + more,
        up.count(0.0) + more,
        sum(uses) / len(uses) if uses else None,
        min(uses, default=None),
        sum(used) / total if total and not in_part else None,
        max(found[TEMPERATURE], default=None),
        min(found[MARGIN], default=None),
        sum(found[POWER]) if found[POWER] else None,
        tuple(uses),
        frozenset(plan.unread(report.samples, lacking)),
        released,
    )


def _unlisted(found: Mapping[str, Sequence[float]]) -> int:
    visible = sum(found[VISIBLE]) if found[VISIBLE] else None
    return unlisted(len(found[UP]), sum(found[EXPECTED]), visible, len(found[NIC]))


def silent(node: str, error: NodeError) -> Summary:
    """The row of a node that says nothing."""
    return Summary(node, error, 0, 0, None, None, None, None, None, None)


def note(summaries: Sequence[Summary], histories: Histories) -> None:
    """Add this tick to the histories that the table draws."""
    for each in summaries:
        histories.note((each.node, NODE_HISTORY), each.use)


def total(summaries: Sequence[Summary]) -> list[Line]:
    """Pieces of one line about all of them."""
    silent = sum(each.error is not None and each.error.kind != STARTS for each in summaries)
    starting = sum(each.error is not None for each in summaries) - silent
    gpus, down = sum(each.gpus for each in summaries), sum(each.down for each in summaries)
    pieces: list[Line] = [[Cell(f"{silent} silent", "crit")]] if silent else []
    pieces += [[Cell(f"{starting} not asked yet", "dim")]] if starting else []
    pieces.append(
        [
            Cell(f"{gpus} GPU" if gpus == 1 else f"{gpus} GPUs"),
            *([Cell(", "), Cell(f"{down} down", "crit")] if down else []),
        ]
    )
    uses = [use for each in summaries for use in each.uses]
    if uses:
        pieces.append([Cell("use ", "dim"), Cell(amounts.percent(sum(uses) / len(uses)))])
        pieces.append([Cell("least ", "dim"), Cell(amounts.percent(min(uses)))])
        pieces += _balance(uses, gpus - len(uses))
    watts = [each.power for each in summaries if each.power is not None]
    if watts:
        pieces.append([Cell("power ", "dim"), Cell(amounts.watts(sum(watts)))])
    return pieces


def _balance(uses: Sequence[float], unknown: int) -> list[Line]:
    """How evenly the work lies on all GPUs whose use is known; without work that has no meaning."""
    even = evenness(uses)
    left_out = f" ({unknown} unknown)" if unknown else ""
    return [] if even is None else [[Cell("balance ", "dim"), Cell(f"{even:.3f}"), Cell(left_out, "dim")]]


def nodes(summaries: Sequence[Summary], histories: Histories, ink: Ink) -> Section:
    by_node = {each.node: each for each in summaries}
    ordered = sorted(summaries, key=lambda each: natural(each.node))
    return Section(
        "nodes",
        "NODES",
        COLUMNS,
        [_item(each, place, histories, ink) for place, each in enumerate(ordered)],
        SORTS,
        frozenset({"node"}),
        fold=lambda rest: folded([by_node[item.id] for item in rest]),
    )


def folded(summaries: Sequence[Summary]) -> str:
    """What those have in common that find no room."""
    names = _set(tuple(each.node for each in summaries))
    names = names if len(names) <= _FOLDED_NAMES else f"{names[: _FOLDED_NAMES - 3]}..."
    uses = [each.use for each in summaries if each.use is not None]
    hottest = max((each.temperature for each in summaries if each.temperature is not None), default=None)
    words = [f"{len(summaries)} more: {names}"]
    if uses:
        words.append(f"use {amounts.percent(min(uses))} to {amounts.percent(max(uses))}")
    if hottest is not None:
        words.append(f"hottest {amounts.celsius(hottest)}")
    ill = sum(badness(each) >= _ILL for each in summaries)
    return ", ".join([*words, f"{ill} of them ill" if ill else "all answer"])


@lru_cache(maxsize=4)
def _set(names: tuple[str, ...]) -> str:
    """It takes 10 ms for 1000 nodes, and they change less often than the frame."""
    return node_set(names)


def _item(it: Summary, place: int, histories: Histories, ink: Ink) -> Item:
    keys = (badness(it), float(place), it.use, it.memory, it.temperature, it.power)
    words = f"{it.node} {_state(it).text}"
    return Item(it.node, keys, words, lambda: _cells(it, histories, ink))


def badness(it: Summary) -> float:
    """Greater is worse: silent, then with GPUs that do not answer, then near to slowing down, then the hotter; not by
    every degree, or rows would never stand still."""
    if it.error:
        return 3e6 if it.error.kind != STARTS else -1.0
    if it.down:
        return _ILL + it.down
    return (1e6 if mark("gpu-hot", it.margin) else 0.0) + (it.temperature or 0.0) // _STEP_CELSIUS


def _state(it: Summary) -> Cell:
    if it.error:
        return cell(it.error.kind, "dim" if it.error.kind == STARTS else "crit")
    if it.down:
        return Cell(f"{it.down} {'GPU' if it.down == 1 else 'GPUs'} down", "crit")
    if it.released:
        return Cell("let go", "warn")
    return Cell("ok", "good") if it.gpus else Cell("no GPU", "dim")


def _cells(it: Summary, histories: Histories, ink: Ink) -> Row:
    bad = "crit" if (it.error and it.error.kind != STARTS) or it.down else ""
    if it.error:
        return [cell(it.node, bad), Cell("?", bad), usage(None, "?", ink), *[BLANK] * 5, _state(it)]
    history = histories.of((it.node, NODE_HISTORY))
    use, memory, heat, power = ("?" if name in it.unread else "-" for name in _SHOWN)
    return [
        cell(it.node, bad),
        Cell(f"{it.gpus - it.down}/{it.gpus}", bad),
        usage(it.use, use, ink),
        Cell(amounts.percent(it.least, use)),
        lambda width: [Cell(ink.history(history, width), "past")],
        Cell(amounts.percent(it.memory, memory)),
        temperature(it.temperature, heat, it.margin),
        Cell(amounts.watts(it.power, power)),
        _state(it),
    ]
