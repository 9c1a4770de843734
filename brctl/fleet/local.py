"""The local transport: the agent of this host, or of a mocked machine, as a child.

It is forked, not started: what both need is imported once, an eighth of the time of `diagnose run`. It has a session
and pipes of its own, and nothing else that was open here: a child that held our stdout, or the lock of a caller's
`flock`, would hold them for as long as a driver hangs. We give up on it after the time limit and never wait for it: a
process stuck in a driver cannot be killed.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

from ..node.codec import InvalidReportError, loads, wire
from ..node.frame import HERE, Frame, FrameError, Unpacker, pack
from ..node.host import Host
from ..node.report import NodeError, Report
from ..node.request import Request

_CHUNK = 65536
_COMPLAINT_KEPT = 2000
_LONGEST_WAIT_S = 86400.0
"""At one go: epoll counts milliseconds in 32 bits, which is 24 days."""
_GRACE_S = 0.1
"""For the child to notice the end of its stdin; killing it then loses nothing, as it only reads."""
_WRITE_GRACE_S = 5.0
"""For one that writes to finish what it has begun (node/agent.py)."""
_LOOK_S = 0.001
"""Between two looks whether the child has ended."""
_WRITES = ("tune-apply", "tune-rollback", "tune-confirm")


class _NoAnswerError(Exception):
    def __init__(self, error: NodeError) -> None:
        super().__init__(error.message)
        self.error = error


def _serve(machine: Host | None) -> None:
    """Be the agent, which ends the process. What it needs beyond what this side needs is imported here."""
    from ..node import agent

    if machine is None:
        agent.main()
    else:
        agent.run(lambda: machine)


def _be_the_agent(machine: Host | None, ends: tuple[int, int, int], mask: set[int | signal.Signals]) -> NoReturn:
    """What the child does: it forgets what it was, and never returns. `mask`: the signals to block."""
    try:
        os.setsid()
        for number, end in enumerate(ends):
            os.dup2(end, number)
        _close_from(len(ends))
        for handled in filter(lambda number: callable(signal.getsignal(number)), signal.valid_signals()):
            signal.signal(handled, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        sys.path[:] = filter(None, sys.path)  # nothing is imported from the folder that the caller happens to be in
        _serve(machine)
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode(errors="replace"))
    finally:
        os._exit(1)


def _close_from(first: int) -> None:
    """As subprocess does: to try all numbers takes minutes where a container may open 2^30 files."""
    try:
        there = [int(path.name) for path in Path("/proc/self/fd").iterdir()]
    except OSError:
        return os.closerange(first, os.sysconf("SC_OPEN_MAX"))
    for number in there:
        if number >= first:
            with contextlib.suppress(OSError):  # the listing's own
                os.close(number)
    return None


def _pipe(opened: contextlib.ExitStack) -> tuple[int, int]:
    ends = os.pipe()
    for end in ends:
        opened.callback(os.close, end)
    return ends


class LocalAgent:
    """Starts at once, so that it loads while the caller does other things; `ask` sends a request and waits."""

    def __init__(self, machine: Host | None = None) -> None:
        """Of `machine`, a mocked one; None: of this host. Raises OSError: there is no room for one more."""
        with contextlib.ExitStack() as opened:
            (stdin, to_child), (self._stdout, stdout), (self._stderr, stderr) = (_pipe(opened) for _ in range(3))
            # What signals do here the child must not do once more.
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            try:
                self._pid = os.fork()
                if not self._pid:
                    _be_the_agent(machine, (stdin, stdout, stderr), mask)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            opened.pop_all()
        for end in (stdin, stdout, stderr):
            os.close(end)
        self._stdin = os.fdopen(to_child, "wb", buffering=0)
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
        self._stdin.close()
        os.close(self._stdout)
        os.close(self._stderr)
        end = time.monotonic() + self._grace_s
        while not os.waitpid(self._pid, os.WNOHANG)[0]:
            if time.monotonic() > end:
                return self._kill()
            time.sleep(_LOOK_S)
        return None

    def _kill(self) -> None:
        try:
            os.killpg(self._pid, signal.SIGKILL)
        except ProcessLookupError:  # so busy is this host that it has not come to its `setsid`
            os.kill(self._pid, signal.SIGKILL)

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
        self._say(wire(request))

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
        with selectors.PollSelector() as selector:  # one for epoll takes four calls more
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
                    elif key.fd == self._stdout:
                        yield chunk
                    else:
                        self._complaint = (self._complaint + chunk)[-_COMPLAINT_KEPT:]
