"""Ticks, taken in a thread of their own: a source that hangs holds up neither a scrape nor a key."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ..node.report import Report
from .errors import CLEAN, INCOMPLETE, tell

_MOST_NOTES = 100


class Tick(NamedTuple):
    """What all nodes said at once, a Report each; one that is silent has its Report with `errors`."""

    reports: Sequence[Report]
    at: float
    """When it came, by the monotonic clock."""
    number: int
    """Which it is, from 1."""


class Feed:
    """The newest tick; one that nobody looked at in time is passed over, but for its notes: nothing queues up."""

    def __init__(self, ticks: Iterable[Sequence[Report]], wake: Callable[[], None] = lambda: None) -> None:
        """`wake` is called in that thread after each tick, and at the end."""
        self._ticks, self._wake = ticks, wake
        self._changed = threading.Condition()
        self._tick: Tick | None = None
        self._seen = 0
        """The number of the newest tick that somebody looked at."""
        self.ended = False
        """The source gives no more ticks."""
        self.error: BaseException | None = None
        """What ended it, if that was no end in order."""
        self._thread = threading.Thread(target=self._take, name="feed", daemon=True)
        self._thread.start()

    def latest(self) -> Tick | None:
        """The newest tick, None before the first. It does not count as looked at."""
        with self._changed:
            return self._tick

    def wait(self, after: int, limit_s: float) -> Tick | None:
        """The newest tick beyond number `after`; None where none comes within `limit_s`, or the source ends."""
        with self._changed:
            self._changed.wait_for(lambda: self.ended or (self._tick and self._tick.number > after), limit_s)
            if self._tick is None or self._tick.number <= after:
                return None
            self._seen = self._tick.number
            return self._tick

    def outcome(self) -> int:
        """The exit code, once it has ended; why the only node that there was has broken off is told. Raises what ended
        it, if that was no end in order."""
        if self.error:
            raise self.error
        last = self.latest()
        if last and len(last.reports) == 1 and last.reports[0].errors:
            error = last.reports[0].errors[0]
            tell(f"{last.reports[0].node}: {error.message}", error.hint)
            return INCOMPLETE
        return CLEAN

    def _take(self) -> None:
        count = 0
        try:
            for reports in self._ticks:
                count += 1
                with self._changed:
                    missed = self._tick.reports if self._tick and self._tick.number > self._seen else ()
                    self._tick = Tick(_noted(reports, missed), time.monotonic(), count)
                    self._changed.notify_all()
                self._wake()
        except BaseException as error:  # it is told by the one who waits, in the main thread
            self.error = error
        finally:
            with self._changed:
                self.ended = True
                self._changed.notify_all()
            self._wake()


def _noted(reports: Sequence[Report], missed: Sequence[Report]) -> Sequence[Report]:
    """With the notes of those that nobody has seen: each stands in one tick alone."""
    notes = {report.node: report.notes for report in missed if report.notes}
    if not notes:
        return reports
    return [report._replace(notes=(*notes.get(report.node, ()), *report.notes)[-_MOST_NOTES:]) for report in reports]
