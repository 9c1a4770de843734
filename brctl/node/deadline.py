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


class _Worker(threading.Thread, Generic[T]):
    def __init__(self, work: Callable[[], T]) -> None:
        super().__init__(daemon=True)
        self.work = work
        self.outcome: List[Union[T, Exception]] = []
        self.state = ("start", CALL_LIMIT_S, time.monotonic())
        """The call that this thread is in, its limit, and since when; one tuple, so that it is read as one."""

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


def calling(name: str, limit_s: Optional[float] = None) -> None:
    """Note that this thread enters `name`, which may take `limit_s` seconds, else CALL_LIMIT_S."""
    worker = threading.current_thread()
    if isinstance(worker, _Worker):
        worker.state = (name, CALL_LIMIT_S if limit_s is None else limit_s, time.monotonic())


def run_all(works: Sequence[Callable[[], T]]) -> List[Union[T, Exception]]:
    """Run all at once; give for each, in order, its result, its exception, or HungError."""
    calling("threads of its own", math.inf)  # each has its deadline; who waits for this thread must wait for theirs
    workers = [_Worker(work) for work in works]
    for worker in workers:
        worker.start()
    return [worker.wait() for worker in workers]
