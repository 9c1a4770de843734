"""Every piece of work that may hang runs in a daemon thread of its own, and says which call it is in.

A call stuck in the kernel cannot be killed, and a thread stuck there cannot be joined. So the one who waits gives up,
names the call, and goes on; the thread is left behind and dies with the process.
"""

import math
import threading
import time
from typing import Callable, Generic, List, Optional, Sequence, TypeVar, Union

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


class Lane:
    """A thread for work that comes again and again: one piece after the other, none while it is at one.

    It is not waited for: the one who hands it work is told at the end of it, and sees in `late` that none comes.
    """

    def __init__(self, at_end: Callable[[], None]) -> None:
        """`at_end` is called in the lane's thread after each piece of work, whatever came of that."""
        self._at_end = at_end
        self._work: Optional[Callable[[], object]] = None
        self._begin = threading.Semaphore(0)
        self._thread: Optional[_Watched] = None
        self.busy = False
        self.since_s = 0.0
        """When the last work was begun, by the monotonic clock."""

    def start(self, work: Callable[[], object]) -> None:
        """Do `work`, which raises nothing; the lane must not be busy."""
        self.busy, self.since_s, self._work = True, time.monotonic(), work
        if self._thread is None:  # the first work: a lane without any costs no thread
            self._thread = _LaneThread(self)
            self._thread.start()
        self._thread.state = ("start", CALL_LIMIT_S, self.since_s)
        self._begin.release()

    @property
    def late(self) -> Optional[HungError]:
        """Why this lane is not to be waited for any longer; None while its call is within its limit."""
        if not self.busy or self._thread is None:
            return None
        call, limit_s, since = self._thread.state
        return HungError(call, limit_s) if time.monotonic() > since + limit_s else None

    @property
    def call(self) -> str:
        """What it is in, or was last in."""
        return self._thread.state[0] if self._thread else ""

    def serve(self) -> None:
        """The life of its thread."""
        while True:
            self._begin.acquire()
            try:
                if self._work:
                    self._work()
            finally:
                self._work, self.busy = None, False
                self._at_end()


class _LaneThread(_Watched):
    def __init__(self, lane: Lane) -> None:
        super().__init__()
        self._lane = lane

    def run(self) -> None:
        self._lane.serve()


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
