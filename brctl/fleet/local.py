"""The local transport: the agent of this host, or of a mocked machine, as a child.

It has a session and pipes of its own: a child that held our stdout would hold up `brctl | cat` for as long as a driver
hangs. We give up on it after the time limit and never wait for it: a process stuck in a driver cannot be killed.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator

from ..node.codec import InvalidReportError, dumps, loads
from ..node.frame import HERE, Frame, FrameError, Unpacker, pack
from ..node.report import NodeError, Report
from ..node.request import Request

_START = "import sys; sys.path[:0] = sys.argv[1].split(':'); from {} import main; main()"
_CHUNK = 65536
_COMPLAINT_KEPT = 2000
_LONGEST_WAIT_S = 86400.0
"""At one go: epoll counts milliseconds in 32 bits, which is 24 days."""
_GRACE_S = 0.1
"""For the child to notice the end of its stdin; killing it then loses nothing, as it only reads."""
_WRITE_GRACE_S = 5.0
"""For one that writes to finish what it has begun (node/agent.py)."""
_WRITES = ("tune-apply", "tune-rollback", "tune-confirm")


def agent_command(mock: str | None, node: str) -> tuple[str, ...]:
    """What starts the agent of this host, or of a mocked machine, which then goes by the name `node`."""
    module = "brctl.mock.agent" if mock else "brctl.node.agent"
    # -I and -S: nothing in the caller's folder or environment is imported, and no start-up file runs (10 ms).
    command = (sys.executable, "-I", "-S", "-c", _START.format(module), ":".join(filter(None, sys.path)))
    return (*command, mock, node) if mock else command


class _NoAnswerError(Exception):
    def __init__(self, error: NodeError) -> None:
        super().__init__(error.message)
        self.error = error


class LocalAgent:
    """Starts at once, so that it loads while the caller does other things; `ask` sends a request and waits."""

    def __init__(self, mock: str | None = None, node: str = "") -> None:
        self._child = subprocess.Popen(
            agent_command(mock, node),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        assert self._child.stdin and self._child.stdout and self._child.stderr  # noqa: PT018, S101  # for the type checker
        self._stdin, self._stdout, self._stderr = self._child.stdin, self._child.stdout, self._child.stderr
        self._complaint = b""
        self._unpacker = Unpacker()
        self._grace_s = _GRACE_S
        self._frames: deque[Frame] = deque()
        self._asked = 0
        """Requests so far. Its number is a request's id: an answer that comes too late is not taken for the next."""

    def __enter__(self) -> LocalAgent:
        return self

    def __exit__(self, *_: object) -> None:
        """End the child: at the end of its stdin it stops by itself; what does not is killed, and not waited for."""
        for pipe in (self._stdin, self._stdout, self._stderr):
            pipe.close()
        try:
            self._child.wait(self._grace_s)
        except subprocess.TimeoutExpired:
            os.killpg(self._child.pid, signal.SIGKILL)
            self._child.returncode = -signal.SIGKILL  # tells Popen that nobody will wait

    def ask(self, request: Request, limit_s: float, meanwhile: Callable[[], None] = lambda: None) -> Report:
        """The agent's Report, or one whose `errors` say why there is none. Never raises for what the agent does.

        `meanwhile` is done while the agent works.
        """
        began = time.time()
        self._asked += 1
        self._grace_s = _WRITE_GRACE_S if request.action in _WRITES else _GRACE_S
        self._frames.clear()
        self._send(request)
        meanwhile()
        try:
            return self._receive(limit_s)._replace(node=request.node)
        except _NoAnswerError as failure:
            return Report(request.node, began, time.time() - began, errors=(failure.error,))

    def ticks(self, request: Request, first_s: float, limit_s: float) -> Iterator[Report]:
        """The agent's samples, a Report each tick. It ends with a Report whose `errors` say why there are no more: the
        first tick took longer than `first_s`, a later one longer than `limit_s`, or what the agent says is none."""
        from ..node.monitor.stream import Follower  # who asks once has no use for it

        self._asked += 1
        self._grace_s = _WRITE_GRACE_S if request.acting.rules else _GRACE_S
        self._send(request)
        began = time.time()
        follower: Follower | None = None
        try:
            while True:
                payload = self._payload(limit_s if follower else first_s)
                if follower:
                    if payload[:1] == b"{":  # the end, or why it comes
                        yield loads(Report, payload)
                        return
                    yield follower.follow(payload)._replace(node=request.node)
                    if request.acting.rules:
                        self._say(HERE)
                    continue
                head = loads(Report, payload)
                if head.errors:
                    yield head._replace(node=request.node)
                    return
                follower = Follower(head)
        except (FrameError, InvalidReportError) as error:
            problem = NodeError("invalid-report", f"what the agent says is no sample: {error}")
            yield Report(request.node, began, time.time() - began, errors=(problem,))
        except _NoAnswerError as failure:
            yield Report(request.node, began, time.time() - began, errors=(failure.error,))

    def _send(self, request: Request) -> None:
        self._say(dumps(request).encode("ascii"))

    def _say(self, payload: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # it died; its stderr, read next, says why
            self._stdin.write(pack(Frame(str(self._asked), payload)))

    def _receive(self, limit_s: float) -> Report:
        try:
            return loads(Report, self._payload(limit_s))
        except (FrameError, InvalidReportError) as error:
            raise _NoAnswerError(NodeError("invalid-report", f"the agent's answer is no Report: {error}")) from None

    def _payload(self, limit_s: float) -> bytes:
        """What the agent says next to what was asked last. Raises _NoAnswerError, FrameError."""
        while not self._frames:
            for chunk in self._chunks(limit_s):
                self._frames.extend(frame for frame in self._unpacker.feed(chunk) if frame.id == str(self._asked))
                if self._frames:
                    break
            else:
                raise self._died()
        return self._frames.popleft().payload

    def _died(self) -> _NoAnswerError:
        last = self._complaint.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return _NoAnswerError(NodeError("agent-died", f"the agent ended without an answer: {last or 'no message'}"))

    def _chunks(self, limit_s: float) -> Iterator[bytes]:
        """What comes on the child's stdout, until its end; the end of its stderr is kept aside."""
        end = time.monotonic() + limit_s
        with selectors.DefaultSelector() as selector:
            for pipe in (self._stdout, self._stderr):
                selector.register(pipe, selectors.EVENT_READ)
            while selector.get_map():
                left_s = end - time.monotonic()
                ready = selector.select(min(max(0, left_s), _LONGEST_WAIT_S))
                if not ready and left_s <= _LONGEST_WAIT_S:
                    message = f"the agent did not answer within {limit_s:g} s"
                    raise _NoAnswerError(NodeError("timeout", message, "raise --timeout"))
                for key, _ in ready:
                    chunk = os.read(key.fd, _CHUNK)
                    if not chunk:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is self._stdout:
                        yield chunk
                    else:
                        self._complaint = (self._complaint + chunk)[-_COMPLAINT_KEPT:]
