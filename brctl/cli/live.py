"""The live view: a terminal, a keyboard and ticks, whichever comes next."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..node.report import Report
from ..render.live.frame import Frame, Scene, frame
from ..render.live.ink import Ink
from ..render.live.screen import Screen, pen
from ..render.live.text import Printer
from ..render.live.view import View, press
from ..render.live.watch import Watch, patience_s
from .errors import CLEAN, say
from .feed import Feed
from .keys import Keyboard
from .processes import parents, send
from .signals import TerminatedError, ending_in_order

_PAUSE_S = 0.25
"""Between two frames for ticks: nobody reads faster. A key is answered at once."""


class Watching(NamedTuple):
    """What `brctl monitor` was asked for."""

    interval_s: float
    read_only: bool = False
    """No process is signalled."""
    here: str | None = None
    """The node that this host is, on which processes can be signalled; None: not among those that are looked at, or a
    mock."""


def watch_or_print(ticks: Iterable[Sequence[Report]], asked: Watching, quiet: bool = False) -> int:
    """Show ticks where there is a terminal to draw on; else print a table of each, as long as they come."""
    ink = pen()
    if ink:
        return watch(ticks, asked, ink)
    if not quiet:
        say("no terminal to draw on: one table for each tick; for programs there is --output jsonl")
    return print_ticks(ticks, asked.interval_s)


def print_ticks(ticks: Iterable[Sequence[Report]], interval_s: float) -> int:
    """Print a table of each tick until they end, ^C, SIGTERM or SIGHUP comes: 0.

    Raises what ended the ticks, OSError: nobody reads any more.
    """
    printer = Printer(interval_s)
    try:
        with ending_in_order():
            for reports in ticks:
                printer.show(reports, time.monotonic())
    except TerminatedError:
        pass
    return CLEAN


def watch(ticks: Iterable[Sequence[Report]], asked: Watching, ink: Ink) -> int:
    """Show ticks until `q` or ^C is pressed (0), they end (0; 3 where the only node broke off), SIGTERM or SIGHUP comes
    (0).

    The terminal is given back as it was in any case. Raises what ended the ticks, OSError: the terminal is gone.
    """
    screen, keyboard = Screen(), Keyboard()
    with contextlib.suppress(TerminatedError), contextlib.ExitStack() as stack:
        alarm = stack.enter_context(_Alarm())
        stack.callback(keyboard.leave)
        stack.callback(screen.leave)  # first: it writes, and the other makes that readable
        stack.enter_context(_stopping(screen, keyboard))
        stack.enter_context(ending_in_order())
        keyboard.enter()
        screen.enter()
        feed = Feed(ticks, alarm.ring)
        _Show(asked, ink, screen, keyboard).run(feed, alarm)
        stack.close()  # before anything is told
        return feed.outcome() if feed.ended else CLEAN
    return CLEAN


class _Alarm:
    """Wakes the one who waits for keys: a tick has come, or a signal, such as that the terminal has another size."""

    def __enter__(self) -> _Alarm:
        self.descriptor, self._bell = os.pipe()
        os.set_blocking(self.descriptor, False)
        os.set_blocking(self._bell, False)
        self._wakeup = signal.set_wakeup_fd(self._bell, warn_on_full_buffer=False)
        self._resized = signal.signal(signal.SIGWINCH, lambda *_: None)
        return self

    def ring(self) -> None:
        with contextlib.suppress(OSError):  # it rings already
            os.write(self._bell, b".")

    def silence(self) -> None:
        with contextlib.suppress(OSError):
            os.read(self.descriptor, 1024)

    def __exit__(self, *_: object) -> None:
        """The pipe stays open: the thread of the feed may ring after us."""
        signal.signal(signal.SIGWINCH, self._resized)
        signal.set_wakeup_fd(self._wakeup)


@contextlib.contextmanager
def _stopping(screen: Screen, keyboard: Keyboard) -> Iterator[None]:
    """^Z: the shell gets its terminal as it was, and when it gives it back all is drawn anew."""

    def stop(*_: object) -> None:
        screen.leave()
        keyboard.leave()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, stop)
        keyboard.enter()
        screen.enter()

    before = signal.getsignal(signal.SIGTSTP)
    if before is signal.SIG_DFL:  # else there is no shell to stop for
        signal.signal(signal.SIGTSTP, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTSTP, before)


class _Show:
    """The view, and what is shown in it."""

    def __init__(self, asked: Watching, ink: Ink, screen: Screen, keyboard: Keyboard) -> None:
        self._asked, self._ink, self._screen, self._keyboard = asked, ink, screen, keyboard
        self._watch = Watch(asked.interval_s, asked.here, parents)
        self._view = View()
        self._scene: Scene | None = None
        self._frame = Frame([], 1)

    def run(self, feed: Feed, alarm: _Alarm) -> None:
        """Until somebody quits, the terminal is gone, or the ticks end."""
        count = 0
        while not self._view.quit:
            tick = None if self._view.paused and count else feed.wait(count, 0)  # the first is waited for in any case
            if tick:
                count = tick.number
                self._watch.take(tick.reports, tick.at)
            if feed.ended:
                return
            self._draw()
            drawn = time.monotonic()
            pressed = self._wait(alarm, patience_s(self._asked.interval_s))
            while not pressed and count and time.monotonic() - drawn < _PAUSE_S:
                pressed = self._wait(alarm, _PAUSE_S - (time.monotonic() - drawn)) or pressed

    def _wait(self, alarm: _Alarm, limit_s: float) -> bool:
        """For a key, a tick, a signal; whether it was a key."""
        sources = [alarm.descriptor]
        if self._keyboard.descriptor is not None:
            sources.append(self._keyboard.descriptor)
        ready = select.select(sources, [], [], max(0.0, limit_s))[0]
        if alarm.descriptor in ready:
            alarm.silence()
        if self._keyboard.descriptor not in ready:
            return False
        pressed = self._keyboard.read()
        if pressed is None:
            self._view = self._view._replace(quit=True)
        for key in pressed or ():
            self._press(key)
        return True

    def _press(self, key: str) -> None:
        scene = self._scene
        sections = scene.sections if scene else ()
        refused = "--read-only was given" if self._asked.read_only else self._watch.refusal(self._view)
        self._view = press(self._view, key, sections, self._frame.page, refused)
        if self._view.order:
            self._view = self._view._replace(said=send(self._view.order), order=None)
        self._scene = self._watch.scene(self._view, self._ink, time.monotonic())  # the next key may need its rows

    def _draw(self) -> None:
        size = self._screen.size()
        self._scene = self._watch.scene(self._view, self._ink, time.monotonic())
        self._frame = frame(self._scene, self._view, *size, self._ink)
        self._screen.draw(self._frame.lines, size)
