"""Work that may take long, done beside the ticks: commands, webhooks, calls of the scheduler.

Each has a limit of time, some tries, and a place in a queue that is bounded; whoever hangs holds up nobody but those
behind him.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import queue
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from ..node.alert_facts import Outcome

_WORKERS, _MOST_WAITING = 4, 64
LIMIT_S = 10.0
"""For one try. Our own: what is not answered by then hangs, and others wait behind it."""
_PAUSES_S = (1.0, 4.0)
"""Before the second and the third try."""


class Result(NamedTuple):
    outcome: Outcome
    text: str


class RetryError(Exception):
    """It did not work, and may if it is tried again."""


Work = Callable[[float], Result]
"""Given the time that it has; it raises RetryError."""


class _Job(NamedTuple):
    id: str
    work: Work


class Courier:
    def __init__(
        self, pauses_s: Sequence[float] = _PAUSES_S, limit_s: float = LIMIT_S, workers: int = _WORKERS
    ) -> None:
        self._pauses_s, self._limit_s, self._workers = pauses_s, limit_s, workers
        self._jobs: queue.Queue[_Job] = queue.Queue(_MOST_WAITING)
        self._done: queue.SimpleQueue[tuple[str, Result]] = queue.SimpleQueue()
        self._threads = 0
        self._ended = threading.Event()

    def send(self, name: str, work: Work) -> Result:
        """At once: BEGUN, or FAILED where too many wait."""
        if self._threads < self._workers:
            self._threads += 1
            threading.Thread(target=self._run, name="courier", daemon=True).start()
        try:
            self._jobs.put_nowait(_Job(name, work))
        except queue.Full:
            return Result(Outcome.FAILED, f"{_MOST_WAITING} wait already: this one was dropped")
        return Result(Outcome.BEGUN, "")

    def results(self) -> dict[str, Result]:
        """What has ended since this was last asked, by its name."""
        found: dict[str, Result] = {}
        with contextlib.suppress(queue.Empty):
            while True:
                name, result = self._done.get_nowait()
                found[name] = result
        return found

    def close(self, limit_s: float = 3.0) -> None:
        """Wait so long for what is under way; nothing new is begun."""
        end = time.monotonic() + limit_s
        while self._jobs.unfinished_tasks and time.monotonic() < end:
            time.sleep(0.02)
        self._ended.set()

    def _run(self) -> None:
        while not self._ended.is_set():
            job = self._jobs.get()
            self._done.put((job.id, self._tried(job.work)))
            self._jobs.task_done()

    def _tried(self, work: Work) -> Result:
        trouble = ""
        for pause_s in (0.0, *self._pauses_s):
            if self._ended.wait(pause_s):
                return Result(Outcome.FAILED, f"{trouble}; brctl ended before it was tried again")
            try:
                return work(self._limit_s)
            except RetryError as error:
                trouble = str(error)
            except Exception as error:  # whatever it is, it is of this one alone
                return Result(Outcome.FAILED, f"{type(error).__name__}: {error}")
        return Result(Outcome.FAILED, f"{trouble}, {len(self._pauses_s) + 1} times")


def command(argv: Sequence[str], environment: Mapping[str, str], text: bytes) -> Work:
    """Runs a program with `environment` added to a bare one and `text` on its stdin. Its output is read by nobody: it
    may hold secrets."""

    def work(limit_s: float) -> Result:
        bare = {name: os.environ[name] for name in ("PATH", "HOME", "USER") if name in os.environ}
        try:
            process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env={**bare, "LC_ALL": "C", **environment}, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            return Result(Outcome.FAILED, error.strerror or str(error))
        try:
            process.communicate(text, limit_s)
        except subprocess.TimeoutExpired:
            raise RetryError(f"it ran for more than {limit_s:g} s") from None
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # what it left behind too
            process.wait()
        if process.returncode:
            raise RetryError(f"exit status {process.returncode}")
        return Result(Outcome.DONE, "exit status 0")

    return work


def post(url: str, text: bytes) -> Work:
    """Posts JSON. Redirects are not followed."""

    def work(limit_s: float) -> Result:
        at = urlsplit(url)
        kind = http.client.HTTPSConnection if at.scheme == "https" else http.client.HTTPConnection
        connection = kind(at.hostname or "", at.port, timeout=limit_s)
        late = threading.Event()
        cut = threading.Timer(limit_s, _cut, (connection, late))
        cut.daemon = True
        cut.start()
        status, trouble = 0, ""
        try:
            path = (at.path or "/") + ("?" + at.query if at.query else "")
            connection.request("POST", path, text, {"Content-Type": "application/json", "User-Agent": "brctl"})
            status = connection.getresponse().status  # what follows it may have no end
        except (OSError, http.client.HTTPException) as error:
            trouble = "timed out" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
        finally:
            cut.cancel()
            connection.close()
        if late.is_set() or trouble == "timed out":
            raise RetryError(f"no answer within {limit_s:g} s")
        if trouble or status >= 500 or status == 429:
            raise RetryError(trouble or f"HTTP {status}")
        return Result(Outcome.DONE if status < 300 else Outcome.FAILED, f"HTTP {status}")

    return work


def _cut(connection: http.client.HTTPConnection, late: threading.Event) -> None:
    """The time is over, however lively it trickles."""
    late.set()
    with contextlib.suppress(OSError, AttributeError):
        connection.sock.shutdown(socket.SHUT_RDWR)
