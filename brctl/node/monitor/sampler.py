"""The sampler: runs every collector on its cadence, each GPU and each collector of the host in a lane of its own, and
tells at each tick what there is.

A tick begins at its deadline or is left out; none is ever made up for. What hangs is waited for once, for a moment, and
from then on it costs its own values alone.
"""

import math
import threading
import time
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

from ..deadline import CALL_LIMIT_S, STALL_S, Crew, Lane
from ..host import Host
from ..report import Series
from ..request import Sampling
from . import Collector, Readings, own, registry
from .gpus import GpuLane, LibraryLane
from .previous import Previous
from .release import released_until
from .stream import Block
from .unit import PATIENCE_S, Unit


class Tick(NamedTuple):
    at: float
    """Seconds since the epoch."""
    blocks: Tuple[Block, ...]
    notes: Tuple[str, ...]
    """What has gone wrong since the last tick, each thing once."""


class _HostLane:
    """One collector of the host."""

    def __init__(self, unit: Unit, lane: Lane, collect: Callable[[Previous], Readings]) -> None:
        self.unit, self.lane, self._collect = unit, lane, collect

    def due(self, now_s: float) -> bool:
        return self.unit.due_s <= now_s

    def start(self, now_s: float) -> None:
        self.unit.put_off(now_s)
        self.lane.start(lambda: self.unit.run(self._collect))


class Sampler:
    def __init__(
        self,
        host: Host,
        sampling: Sampling = Sampling(),  # noqa: B008  # it is a value
        expected_gpus: int = 0,
        collectors: Optional[Sequence[Collector]] = None,
    ) -> None:
        """`expected_gpus`: how many the config declares. `collectors`: those to run; all where nothing is said."""
        chosen = registry() if collectors is None else tuple(collectors)
        self._every_s = {each.id: each.every_s for each in chosen}
        self._every_s.update((given.collector, given.every_s) for given in sampling.cadences)
        self._of_gpu = tuple(each for each in chosen if each.of_gpu)
        self._expected = expected_gpus
        self._host = host
        self._ended = threading.Condition()
        self._crew = Crew(self._end)
        self._clockwork = own.Clockwork()
        self._released = False
        self._given_up: Dict[int, float] = {}
        """Lanes that are not waited for any more, by the time at which what they hang in began."""
        now_s = time.monotonic()
        works = [(each, _collecting(each, host, sampling.peers)) for each in chosen]
        self._of_host = [_HostLane(self._unit(each, (), now_s), Lane(self._crew), work) for each, work in works if work]
        self._said: Set[str] = set()
        self._libraries: Tuple[LibraryLane, ...] = ()
        if self._of_gpu:
            self._libraries = tuple(
                LibraryLane(host, library, self._crew, self._units_of_gpu) for library in host.accelerators()
            )
        self.series: Tuple[Series, ...] = own.SERIES + tuple(one for each in chosen for one in each.series)

    def ticks(self, interval_s: float, stop: threading.Event) -> Iterator[Tick]:
        """At once, then every `interval_s`, until `stop` is set."""
        began, number = time.monotonic(), 0
        while not stop.is_set():
            late_s = time.monotonic() - began - number * interval_s
            self._clockwork.lateness_s = max(self._clockwork.lateness_s, late_s)
            yield self.tick(first=number == 0, most_s=_patience_s(interval_s))
            passed = math.ceil((time.monotonic() - began) / interval_s)
            self._clockwork.skipped += max(0, passed - number - 1)
            number = max(number + 1, passed)
            stop.wait(max(0.0, began + number * interval_s - time.monotonic()))

    def tick(self, first: bool, most_s: float = PATIENCE_S) -> Tick:
        """Run what is due and tell what there is. The first one waits for all that is within its limits, as nothing is
        known yet; any other for `most_s` seconds."""
        began_s = time.monotonic()
        self._clockwork.ticks += 1
        self._look_for_release()
        self._start(self._libraries if not self._released else ())
        self._start(self._of_host)
        # A library is closed while nothing is asked of its GPUs, and what waits to be asked counts.
        self._wait([library.lane for library in self._libraries], None if first else STALL_S)
        gpus = self._gpus()
        self._start(gpus if not self._released else ())
        lanes = [one.lane for one in self._of_host] + [gpu.lane for gpu in gpus]
        self._wait(lanes, None if first else most_s)
        return Tick(time.time(), self._blocks(began_s), tuple(self._news()))

    def _start(self, each: Sequence[Union["_HostLane", GpuLane, LibraryLane]]) -> None:
        now_s = time.monotonic()
        for one in each:
            if not one.lane.busy and one.due(now_s):
                one.start(now_s)

    def _wait(self, lanes: Sequence[Lane], most_s: Optional[float]) -> None:
        """For the work in hand, but for what is given up; `most_s` None: for all that is within its own limit."""
        end_s = math.inf if most_s is None else time.monotonic() + most_s
        with self._ended:
            while True:
                self._crew.look()
                waited = [lane for lane in lanes if lane.busy and self._given_up.get(id(lane)) != lane.since_s]
                if not waited:
                    return
                left_s = end_s - time.monotonic()
                if left_s <= 0:
                    self._given_up.update((id(lane), lane.since_s) for lane in waited)
                    return
                self._given_up.update((id(lane), lane.since_s) for lane in waited if most_s is None and lane.late)
                self._ended.wait(min(left_s, STALL_S))

    def _end(self) -> None:
        with self._ended:
            self._ended.notify()

    def _blocks(self, began_s: float) -> Tuple[Block, ...]:
        now, now_s = time.time(), time.monotonic()
        units = [lane.unit for lane in self._of_host] + [unit for gpu in self._gpus() for unit in gpu.units]
        blocks = [unit.block(now, now_s, began_s) for unit in units]
        of_gpus = own.block(now, self._libraries, self._released, self._expected)
        return (of_gpus, self._clockwork.block(now, now_s, units), *(block for block in blocks if block))

    def _news(self) -> Iterator[str]:
        """What fails now and was not told before."""
        now: Set[str] = set()
        for library in self._libraries:
            if library.error and not library.absent:
                now.add("{}: {}".format(library.vendor, library.error))
            for gpu in library.gpus:
                wrong = gpu.error or gpu.lane.late
                if wrong:
                    now.add("GPU {}: {}".format(gpu.index, wrong))
                    continue
                now.update(
                    "GPU {}: {}: {}".format(gpu.index, unit.collector.id, unit.error)
                    for unit in gpu.units
                    if unit.error
                )
        for lane in self._of_host:
            error = lane.lane.late or lane.unit.error
            if error:
                now.add("{}: {}".format(lane.unit.collector.id, error))
        yield from sorted(now - self._said)
        self._said = now

    def _gpus(self) -> List[GpuLane]:
        return [gpu for library in self._libraries for gpu in library.gpus]

    def _units_of_gpu(self, labels: Tuple[str, str]) -> List[Unit]:
        now_s = time.monotonic()
        return [self._unit(each, labels, now_s) for each in self._of_gpu]

    def _unit(self, collector: Collector, labels: Tuple[str, ...], now_s: float) -> Unit:
        return Unit(collector, self._every_s[collector.id], labels, now_s)

    def _look_for_release(self) -> None:
        self._released = bool(self._libraries) and released_until(self._host) is not None
        for library in self._libraries if self._released else ():
            library.let_go()


def _patience_s(interval_s: float) -> float:
    """How long a tick waits. At long intervals a hung call is told in the tick that finds it: the next one is far."""
    return min(interval_s / 2, max(PATIENCE_S, min(interval_s / 10, CALL_LIMIT_S + 0.1)))


def _collecting(collector: Collector, host: Host, peers: Sequence[str]) -> Optional[Callable[[Previous], Readings]]:
    """None for one of GPUs, and for one of peers where there are none."""
    of_host, of_peers = collector.of_host, collector.of_peers
    if of_host:
        return lambda previous: of_host(host, previous)
    if of_peers and peers:
        return lambda previous: of_peers(host, previous, peers)
    return None
