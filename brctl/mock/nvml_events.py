"""The event sets of the mocked NVML: what happens to a GPU, told to whoever waits for it."""

import time
from itertools import count
from typing import Any, Dict, List, NamedTuple, Sequence, Set, Tuple

from .nvml_answer import INVALID_ARGUMENT, TIMEOUT, RefusedError, plain

XID_CRITICAL = 8
"""nvmlEventTypeXidCriticalError"""
_NO_INSTANCE = 0xFFFFFFFF


def _sleep(seconds: float) -> None:
    if seconds > 0:  # else it still is a call of the system
        time.sleep(seconds)


class Event(NamedTuple):
    at_s: float
    """On the monotonic clock."""
    handle: int
    xid: int


class _Set:
    def __init__(self) -> None:
        self.handles: Set[int] = set()
        self.given: Set[int] = set()


class EventSets:
    def __init__(self, events: Sequence[Event]) -> None:
        self._events: List[Event] = sorted(events)
        self._sets: Dict[int, _Set] = {}
        self._numbers = count(1)

    def create(self) -> int:
        """The number of a new set."""
        number = next(self._numbers)
        self._sets[number] = _Set()
        return number

    def register(self, number: int, handle: int, types: Any) -> None:
        if plain(types) & ~XID_CRITICAL:
            raise RefusedError(INVALID_ARGUMENT)
        self._set(number).handles.add(handle)

    def free(self, number: int) -> None:
        self._set(number)
        del self._sets[number]

    def wait(self, number: int, data: Any, timeout_ms: Any) -> int:
        """Fills `data`, and gives the handle of the GPU that it happened to. Raises RefusedError: nothing happened."""
        events, now_s, wait_s = self._set(number), time.monotonic(), plain(timeout_ms) / 1000.0
        due = self._next(events)
        if due is None or due[1].at_s > now_s + wait_s:
            _sleep(wait_s)
            raise RefusedError(TIMEOUT)
        place, event = due
        _sleep(event.at_s - now_s)
        events.given.add(place)
        data.eventType, data.eventData = XID_CRITICAL, event.xid
        data.gpuInstanceId = data.computeInstanceId = _NO_INSTANCE
        return event.handle

    def _next(self, events: _Set) -> "Tuple[int, Event] | None":
        waiting = (
            (place, event)
            for place, event in enumerate(self._events)
            if place not in events.given and event.handle in events.handles
        )
        return next(waiting, None)

    def _set(self, number: int) -> _Set:
        if number not in self._sets:
            raise RefusedError(INVALID_ARGUMENT)
        return self._sets[number]
