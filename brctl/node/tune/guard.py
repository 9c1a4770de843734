"""The guard: a process of its own that takes a transaction back when nobody is left who would.

It is ready, with all that it needs in memory, before the first write. From then on it waits on a pipe from the one who
makes the changes. The end of the pipe without a word means that he died in the middle; the deadline, that he hangs.
`wait SECONDS` means that the changes are made and have to be confirmed: then it is the journal that it asks, and the
end of the pipe, which may well be the end of the connection, means nothing any more. `done` ends it.

Commit-confirm is one use. Whoever changes a machine for a while can have a guard around his transaction; if that is
longer than the deadline, he says `here` again and again.
"""

import sys
import time
from contextlib import ExitStack, suppress
from importlib import import_module
from typing import Optional

from ..deadline import run_all
from ..host import BusyError, Host, detached
from . import Place, journal, places, undo
from .journal import JournalError

WHO = "brctl's guard"
APPLY_LIMIT_S = 300.0
"""For all writes and what is read back: each has a deadline of some seconds."""
_GLANCE_S = 1.0
_LOCK_LIMIT_S = 10.0
_ATTEMPTS, _REST_S = 5, 2.0


class Guard:
    """The side of the one who makes the changes."""

    def __init__(self, host: Host, transaction: str, limit_s: float = APPLY_LIMIT_S) -> None:
        """Returns when the guard is ready. `limit_s`: after so long without a word it takes the transaction back.
        Raises detached.NotStartedError."""
        arguments = (transaction, repr(limit_s), *host.again)
        self._pipe: Optional[detached.Pipe] = detached.start(host, __name__, arguments)

    def wait_for_confirmation(self, seconds: float) -> None:
        """The changes are made; they are taken back after so long, unless the journal says then that they stay.

        Raises OSError: the guard is gone.
        """
        self._say("wait {!r}".format(seconds))

    def here(self) -> None:
        """The changes are to stay for now. Raises OSError: the guard is gone."""
        if self._pipe:
            self._pipe.say("here")

    def release(self) -> None:
        """There is nothing to take back any more. Raises OSError: the guard is gone."""
        self._say("done")

    def give_back(self) -> None:
        """Take it back, now: the one who made the changes cannot."""
        if self._pipe:
            self._pipe.close()
            self._pipe = None

    def _say(self, word: str) -> None:
        if self._pipe:
            self._pipe.say(word)
            self._pipe.close()
            self._pipe = None


def main() -> None:
    """Arguments: the search path (taken by the one who starts us), the pipe, the transaction, how long the changes may
    take, what makes the Host, and its arguments."""
    path, transaction, limit_s, maker, *arguments = sys.argv[2:]
    module, _, name = maker.partition(":")
    host: Host = getattr(import_module(module), name)(*arguments)
    _load(host)
    if watch(detached.opened(path), host, transaction, float(limit_s)):
        take_back(host, transaction)


def watch(pipe: int, host: Host, transaction: str, limit_s: float) -> bool:
    """Wait, and say whether the transaction has to be taken back."""
    word = _last(detached.heard(pipe, limit_s))
    while word == "here\n":
        word = _last(detached.heard(pipe, limit_s))
    if not word or not word.startswith("wait "):
        return word != "done\n"
    end = time.monotonic() + float(word[len("wait ") :])
    while time.monotonic() < end:
        if not _waits(host, transaction):
            return False
        time.sleep(min(_GLANCE_S, max(0.0, end - time.monotonic())))
    return _waits(host, transaction)


def _last(heard: Optional[str]) -> Optional[str]:
    """Of words that came at once."""
    return heard and heard[heard.rfind("\n", 0, -1) + 1 :]


def take_back(host: Host, transaction: str) -> None:
    """Roll it back; what fails is tried again. Who holds the lock for long hangs, and must not hold us up."""
    for attempt in range(_ATTEMPTS):
        with ExitStack() as stack, suppress(OSError, JournalError):
            _lock(host, stack)
            if not _waits(host, transaction):  # it was confirmed just now
                return
            if undo.rollback(host, transaction, WHO).transaction.state == "rolled back":
                return
        time.sleep(_REST_S * (attempt + 1))


def _lock(host: Host, stack: ExitStack) -> None:
    end = time.monotonic() + _LOCK_LIMIT_S
    while True:
        try:
            stack.enter_context(host.lock(journal.LOCK, WHO))
            return
        except BusyError:
            if time.monotonic() > end:
                return
        except OSError:  # a full disk must not keep a link from coming back
            return
        time.sleep(_GLANCE_S / 10)


def _waits(host: Host, transaction: str) -> bool:
    """Whether it is there to be taken back, or we have tried in vain; yes where that cannot be read."""
    try:
        log = journal.load(host, transaction)
    except (OSError, JournalError):
        return True
    return log.state in ("open", "unconfirmed") or (log.end is not None and (log.state, log.end.who) == ("failed", WHO))


def _load(host: Host) -> None:
    """Do once what a rollback does, so that all its modules are in memory: the files that they came from may be gone by
    then. Of GPUs too, though a driver that hangs must not keep a link from its guard."""
    any_gpu = Place("gpu", "", "persistence_mode")
    run_all([lambda: places.Places(host).read(any_gpu), lambda: import_module("brctl.node.accel.nvml_set")])
    for log in journal.logs(host):
        log.told()
        break
