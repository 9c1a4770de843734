"""One attempt at one node: a child process of ours, and what is said over its pipes.

A node is never waited for without a limit: to connect (until there is a shell), to start (until its agent is ready),
to answer. The Report goes on as soon as it is whole; the child then has a moment to end by itself, as the agent does
when its stdin ends.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable
from enum import Enum
from typing import IO, Any

from ClusterShell.Worker.EngineClient import EngineClient
from ClusterShell.Worker.Worker import Worker

from ..node.codec import InvalidReportError, loads, wire
from ..node.frame import FloodError, Frame, FrameError, Unpacker, pack
from ..node.report import NodeError, Report
from . import failure
from .launch import Launch
from .order import Limits, Order

MOST_ANSWER = 4 * 1024 * 1024
"""Bytes of JSON. A Report of 8 GPUs and 224 CPUs has 50 kB; the worst JSON takes 20 times its size as objects."""
MOST_COMPLAINT = 1024 * 1024
GRACE_S = 1.0
"""For a child to end when its stdin has ended: a round trip, and the end of a Python."""
_COMPLAINT_KEPT, _PIPE = 8000, 65536
_STATUS_S = 0.2

Outcome = Report | NodeError


class Phase(Enum):
    CONNECT = "connect"
    START = "start"
    ANSWER = "answer"


class Attempt(Worker):  # type: ignore[misc]  # ClusterShell has no types
    """What ClusterShell schedules; all the work is its one client's."""

    kind: type[Conversation]

    def __init__(self, *arguments: Any) -> None:
        super().__init__(None)
        self.conversation = self.kind(self, *arguments)

    def _engine_clients(self) -> list[Conversation]:
        return [self.conversation]


class Conversation(EngineClient):  # type: ignore[misc]
    """Starts the child when the engine has room for it, and gives its outcome once, then its end."""

    def __init__(
        self,
        attempt: Attempt,
        order: Order,
        launch: Launch,
        transfer: Callable[[], bytes],
        limits: Limits,
        on_outcome: Callable[[Conversation, Outcome], None],
        on_end: Callable[[Conversation], None],
    ) -> None:
        self.phase = Phase.ANSWER if launch.direct else Phase.CONNECT
        super().__init__(attempt, order.node, True, limits.answer_s if launch.direct else limits.shell_s, False)
        self.order, self.began = order, 0.0
        self.over = False
        """The outcome is given; what the child still says is not heard."""
        self.process: subprocess.Popen[bytes] | None = None
        self.notes: list[str] = []
        self._launch, self._transfer, self._limits = launch, transfer, limits
        self._on_outcome, self._on_end = on_outcome, on_end
        self._unpacker = Unpacker(MOST_ANSWER)
        self._pipes: dict[str, IO[bytes]] = {}
        self._complaint, self._complained = b"", 0
        self._asked_for_bundle = False

    @property
    def noise(self) -> str:
        """What stood before the frames."""
        return failure.plain(self._unpacker.noise.decode("utf-8", "replace").strip())

    def give_up(self, error: NodeError) -> None:
        """End it from outside."""
        self._conclude(error)
        self.abort()

    # What the engine calls.

    def _start(self) -> Conversation:
        self.began = time.monotonic()
        try:
            self._spawn()
        except OSError as error:
            what = f"{self._launch.argv[0]} cannot be started here: {error.strerror}"
            missing = isinstance(error, FileNotFoundError)
            self._conclude(failure.fail("unreachable", what, "missing" if missing else "here"))
            self.fire_delay = 0.0  # no pipe will tell the engine that this is over
        return self

    def _spawn(self) -> None:
        self.process = subprocess.Popen(
            self._launch.argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,  # Ctrl-C is ours to handle
            env={**os.environ, "LC_ALL": "C"},
        )
        assert self.process.stdin and self.process.stdout and self.process.stderr  # noqa: PT018, S101  # for the type checker
        self._pipes = {"stdin": self.process.stdin, "stdout": self.process.stdout, "stderr": self.process.stderr}
        for name, pipe in self._pipes.items():
            os.set_blocking(pipe.fileno(), False)
            add = self.streams.set_writer if name == "stdin" else self.streams.set_reader
            add(name, pipe.fileno(), retain=name != "stdin", closefd=False)
        self._write("stdin", self._launch.opening)

    def _handle_read(self, sname: str) -> None:
        chunk = self._read(sname)
        if sname == "stderr":
            self._complained += len(chunk)
            self._complaint = (self._complaint + chunk)[-_COMPLAINT_KEPT:]
        if self.over:
            return
        try:
            if self._complained > MOST_COMPLAINT:
                raise FloodError(f"more than {MOST_COMPLAINT} bytes on stderr")
            for frame in self._unpacker.feed(chunk) if sname == "stdout" else ():
                self._hear(frame)
        except FloodError as error:
            self.give_up(failure.fail("too-much-output", failure.plain(str(error))))
        except (FrameError, InvalidReportError) as error:
            self.give_up(failure.fail("invalid-report", f"the answer is no Report: {failure.plain(str(error))}"))

    def _close_stream(self, sname: str, abort: bool = False) -> None:
        super()._close_stream(sname, abort)
        self._pipes.pop(sname).close()
        if sname == "stdout" and "stderr" in self._pipes:
            # An ssh that goes on as the kept connection (before OpenSSH 8.5) holds stderr open.
            self._limit(GRACE_S)

    def _fire(self) -> None:
        if not self.over and "stdout" in self._pipes:
            self._conclude(self._late())
        super()._fire()

    def _close(self, abort: bool, timeout: bool) -> None:  # noqa: ARG002  # the engine's call
        if not self.over:
            self._read_rest_of_complaint()
        for pipe in self._pipes.values():
            pipe.close()
        self.streams.clear()
        self.invalidate()
        if not self.over:
            self._conclude(self._ended())
        self._on_end(self)

    # What is said.

    def _hear(self, frame: Frame) -> None:
        if self.over:
            return
        if frame.id == "1" and self.phase is not Phase.CONNECT:
            self._conclude(loads(Report, frame.payload))
            self._set_write_eof("stdin")
            self._limit(GRACE_S)
        elif frame.id == "shell" and self.phase is Phase.CONNECT:
            self._enter(Phase.START, self._limits.start_s)
        elif frame.id == "absent" and self.phase is Phase.START and not self._asked_for_bundle:
            self._asked_for_bundle = True
            self._write("stdin", self._transfer())
            self._limit(self._limits.start_s)
        elif frame.id == "ready" and self.phase is Phase.START:
            self.notes += [failure.plain(frame.payload.decode("utf-8", "replace"))] if frame.payload else []
            self._write("stdin", pack(Frame("1", wire(self.order.request))))
            self._enter(Phase.ANSWER, self._limits.answer_s)
        else:
            raise FrameError(f"a frame {frame.id!r} that nobody asked for")

    def _enter(self, phase: Phase, limit_s: float) -> None:
        self.phase = phase
        self._limit(limit_s)

    def _limit(self, seconds: float) -> None:
        if self.is_valid():
            self.set_nextfire(seconds)

    def _conclude(self, outcome: Outcome) -> None:
        if not self.over:
            self.over = True
            self._on_outcome(self, outcome)

    # Why nothing was said.

    def _late(self) -> NodeError:
        if self.phase is Phase.CONNECT:
            return failure.fail("timeout", f"no shell on the node within {self._limits.shell_s:g} s")
        if self.phase is Phase.START:
            return failure.fail("timeout", f"the agent did not start within {self._limits.start_s:g} s", "slow start")
        return failure.fail("timeout", f"the agent did not answer within {self._limits.answer_s:g} s", "slow answer")

    def _ended(self) -> NodeError:
        status = 0
        if self.process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = self.process.wait(_STATUS_S)
        complaint = self._complaint.decode("utf-8", "replace")
        self._unpacker.end()
        if self.phase is Phase.CONNECT:
            return failure.unreachable(f"{self.noise}\n{complaint}", status)
        return failure.died(complaint, status, self.phase is Phase.ANSWER)

    def _read_rest_of_complaint(self) -> None:
        """The engine may have seen the end of stdout before what was last written to stderr: a pipe full at most."""
        if "stderr" in self._pipes:
            with contextlib.suppress(BlockingIOError):
                rest = os.read(self._pipes["stderr"].fileno(), _PIPE)
                self._complaint = (self._complaint + rest)[-_COMPLAINT_KEPT:]


Attempt.kind = Conversation
