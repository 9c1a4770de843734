"""Every piece of work that may hang runs in a daemon thread, and says which call it is in.

A call stuck in the kernel cannot be killed, and a thread stuck there cannot be joined. So the one who waits gives up,
names the call, and goes on; the thread is left behind and dies with the process.
"""

import math
import threading
import time
from collections import deque
from typing import Callable, Deque, Generic, List, Optional, Sequence, Set, TypeVar, Union

T = TypeVar("T")

CALL_LIMIT_S = 3.0
"""One call to the machine: a file, an NVML query. nvidia-smi's own slowest query on a healthy board takes 1.5 s."""


_GLANCE_S = 0.05
"""How often the one who waits looks which call it is that he waits for."""


class HungError(Exception):
    """A call did not return in time. `call` names it."""

    def __init__(self, call: str, limit_s: float) -> None:
        super().__init__("{} did not return within {:g} s".format(call, limit_s))
        self.call = call
        self.limit_s = limit_s


class _Watched(threading.Thread):
    """A thread that says which call it is in."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.state = ("start", CALL_LIMIT_S, time.monotonic())
        """The call, its limit, and since when; one tuple, so that it is read as one."""


class _Worker(_Watched, Generic[T]):
    def __init__(self, work: Callable[[], T]) -> None:
        super().__init__()
        self.work = work
        self.outcome: List[Union[T, Exception]] = []

    def run(self) -> None:
        try:
            self.outcome.append(self.work())
        except Exception as error:
            self.outcome.append(error)

    def wait(self) -> Union[T, Exception]:
        while self.is_alive():
            call, limit_s, since = self.state
            left = since + limit_s - time.monotonic()
            if left <= 0:
                return HungError(call, limit_s)
            self.join(min(left, _GLANCE_S))  # it may be in a call of a shorter limit by then
        if not self.outcome:  # what ended it is no Exception, or came before its first line
            return RuntimeError("its thread ended without a result")
        return self.outcome[0]


STALL_S = 0.02
"""So long a piece of work waits for the thread that is at another."""


class Crew:
    """Threads that do the work of many lanes.

    One does all of it, piece after piece, as long as that takes but a moment: to wake a thread for each costs as much
    as most of the pieces. Whatever has waited for longer gets a thread of its own, and the first may stay where it is
    for ever.
    """

    def __init__(self, at_rest: Callable[[], None] = lambda: None) -> None:
        """`at_rest` is called in a thread that finds nothing more to do: whatever ends is followed by that."""
        self._at_rest = at_rest
        self._lock = threading.Lock()
        self._waiting: Deque[Lane] = deque()
        self._idle: List[_Hand] = []
        self._at_work: Set[_Hand] = set()

    def add(self, lane: "Lane") -> None:
        """Its work waits until somebody looks."""
        self._waiting.append(lane)

    def look(self) -> None:
        """See that somebody does what waits; at any time, but best when all is there: a thread that has begun is in the
        way of the one that goes on adding. What hangs holds up the others until the next look."""
        now_s = time.monotonic()
        with self._lock:
            overdue = bool(self._waiting) and now_s - self._waiting[0].since_s >= STALL_S
            if not self._waiting or (not overdue and any(now_s - hand.since_s < STALL_S for hand in self._at_work)):
                return
            coming = sum(not hand.at_a_lane for hand in self._at_work)  # so there are never more threads than lanes
            number = (len(self._waiting) if overdue else 1) - coming
            hands = [self._idle.pop() if self._idle else _Hand(self) for _ in range(number)]
            self._at_work.update(hands)
        for hand in hands:
            hand.go(now_s)

    def lose(self, hand: "_Hand") -> None:
        """It does nothing any more."""
        with self._lock:
            self._at_work.discard(hand)

    def next(self, hand: "_Hand") -> "Lane":
        """Of those that wait the first; not before there is one."""
        while True:
            with self._lock:
                if self._waiting:
                    hand.since_s, hand.at_a_lane = time.monotonic(), True
                    return self._waiting.popleft()
                self._at_work.discard(hand)
                self._idle.append(hand)
            self._at_rest()
            hand.begin.acquire()


class _Hand(_Watched):
    """A thread of a crew."""

    def __init__(self, crew: Crew) -> None:
        super().__init__()
        self._crew = crew
        self.begin = threading.Semaphore(0)
        self.since_s = 0.0
        """When it took what it is at, by the monotonic clock."""
        self.at_a_lane = False
        """Else it was only told to take something up."""

    def go(self, now_s: float) -> None:
        """Take something up; it must be idle, or new."""
        self.since_s, self.at_a_lane = now_s, False
        if self.ident is not None:
            return self.begin.release()
        try:
            return self.start()
        except RuntimeError:  # no threads left: those that there are go on, and it is tried again
            return self._crew.lose(self)

    def run(self) -> None:
        try:
            while True:
                self._crew.next(self).serve(self)
        finally:  # what ends a thread is no Exception; it must not be counted on
            self._crew.lose(self)


class Lane:
    """For work that comes again and again: one piece after the other, none while it is at one.

    It is not waited for: the one who hands it work, and then has the crew look, asks whether it is `busy`, and sees in
    `late` that no end comes.
    """

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._work: Optional[Callable[[], object]] = None
        self._hand: Optional[_Watched] = None
        """The thread that does it; None before it is begun and after its end."""
        self.busy = False
        self.since_s = 0.0
        """When the last work was handed to it, by the monotonic clock."""

    def start(self, work: Callable[[], object]) -> None:
        """Do `work`, which raises nothing; the lane must not be busy."""
        self.busy, self.since_s, self._work = True, time.monotonic(), work
        self._crew.add(self)

    @property
    def late(self) -> Optional[HungError]:
        """Why this lane is not to be waited for any longer; None while its call is within its limit."""
        hand = self._hand
        if hand is None:
            return None
        call, limit_s, since = hand.state
        return HungError(call, limit_s) if time.monotonic() > since + limit_s else None

    @property
    def call(self) -> str:
        """What it is in; empty while it is at no work."""
        hand = self._hand
        return hand.state[0] if hand else ""

    def serve(self, hand: _Watched) -> None:
        """Do the work, in that thread."""
        hand.state = ("start", CALL_LIMIT_S, time.monotonic())
        self._hand = hand
        try:
            if self._work:
                self._work()
        finally:
            self._work = self._hand = None
            self.busy = False


def calling(name: str, limit_s: Optional[float] = None) -> None:
    """Note that this thread enters `name`, which may take `limit_s` seconds, else CALL_LIMIT_S."""
    worker = threading.current_thread()
    if isinstance(worker, _Watched):
        worker.state = (name, CALL_LIMIT_S if limit_s is None else limit_s, time.monotonic())


def run_all(works: Sequence[Callable[[], T]]) -> List[Union[T, Exception]]:
    """Run all at once; give for each, in order, its result, its exception, or HungError."""
    calling("threads of its own", math.inf)  # each has its deadline; who waits for this thread must wait for theirs
    workers = [_Worker(work) for work in works]
    for worker in workers:
        worker.start()
    return [worker.wait() for worker in workers]
