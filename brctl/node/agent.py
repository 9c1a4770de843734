"""The agent: serves requests that come framed on stdin, with Reports that go framed to stdout.

One runs for every machine that is looked at, this host included. It lives as long as its stdin is open. Each request
has a thread of its own, so that one that hangs holds up neither the next one nor the end.
"""

import contextlib
import gc
import os
import select
import sys
import threading
import time
from typing import Callable, Dict

from .. import SELDOM
from .actions import answer as answer  # part of what this module offers
from .actions import gpus_declared
from .codec import InvalidReportError, dumps, loads, wire
from .frame import HERE, Frame, Unpacker, pack
from .host import Host, ending
from .report import NodeError, Report
from .request import Request

_CHUNK = 65536
_WRITE_LIMIT_S = 4.0
"""More than one call may take (deadline.CALL_LIMIT_S)."""


class _Ear:
    """What the one who asked says while his request is at work."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.last_s = time.monotonic()
        """When he was last heard."""

    def hear(self, payload: bytes) -> None:
        self.last_s = time.monotonic()
        if payload != HERE:
            self.stop.set()


def _stream(host: Host, request: Request, ear: _Ear, send: Callable[[bytes], None]) -> None:
    """The head, then a tick each `interval_s` until it is to stop, or nobody takes them any more."""
    from .monitor import sampler, stream  # of no use to the others

    samples = sampler.Sampler(host, request.sampling, gpus_declared(request))
    packer = stream.Packer(samples.series)
    send(wire(Report(request.node, time.time(), 0.0, host.mock, series=samples.series)))
    ticks = samples.ticks(request.sampling.interval_s, ear.stop)
    if not request.acting.rules:
        for tick in ticks:
            send(packer.pack(*tick))
        return
    from .tune import acting  # of no use to the others

    with acting.Actor(host, request, samples.series) as actor:
        for tick in ticks:
            send(packer.pack(*tick, actor.take(tick, ear.last_s)))


def serve(host: Host, source: int, sink: int) -> None:
    """Answer frames from the file descriptor `source` on `sink`, until `source` ends. Raises FrameError."""
    lock = threading.Lock()
    ears: Dict[str, _Ear] = {}

    def send(frame_id: str, payload: bytes) -> None:
        packed = pack(Frame(frame_id, payload))
        with lock:
            _write_all(sink, packed)

    def handle(frame: Frame, ear: _Ear) -> None:
        with contextlib.suppress(BrokenPipeError):  # who asked is gone, and our stdin with him
            send(frame.id, _answer_text(host, frame.payload, lambda text: send(frame.id, text), ear))
        del ears[frame.id]

    unpacker = Unpacker()
    for chunk in iter(lambda: os.read(source, _CHUNK), b""):
        for frame in unpacker.feed(chunk):
            heard = ears.get(frame.id)  # one look: the request may come to its end meanwhile
            if heard:
                heard.hear(frame.payload)
                continue
            ear = ears[frame.id] = _Ear()
            threading.Thread(target=handle, args=(frame, ear), daemon=True).start()


def _answer_text(host: Host, text: bytes, send: Callable[[bytes], None], ear: _Ear) -> bytes:
    """Answer JSON with JSON; whatever goes wrong comes back as a Report too. `send` and `ear` are a stream's: its end
    is a Report with nothing in it."""
    began = time.time()
    try:
        request = loads(Request, text)
        if request.action == "monitor":
            _stream(host, request, ear, send)
            return _end(Report(request.node, began, time.time() - began, host.mock))
        return wire(answer(host, request))
    except BrokenPipeError:
        raise
    except InvalidReportError as error:
        problem = NodeError("invalid-request", str(error))
    except Exception as error:  # the one who waits must hear of it
        problem = NodeError("agent-error", "{}: {}".format(type(error).__name__, error))
    return _end(Report("", began, time.time() - began, host.mock, errors=(problem,)))


def _end(report: Report) -> bytes:
    """An object, where a tick is an array."""
    return dumps(report).encode("ascii")


def _write_all(sink: int, text: bytes) -> None:
    view = memoryview(text)
    while view:
        view = view[os.write(sink, view) :]


def _end_with_parent(source: int, loaded: threading.Event) -> None:
    """Who asks may be gone before there is a host to read his requests for: then end this process."""
    poll = select.poll()
    poll.register(source, select.POLLRDHUP)  # of a socket; of a pipe the end is always told
    poll.poll()
    if not loaded.is_set():
        os._exit(0)


def run(make_host: Callable[[], Host], at_end: Callable[[], None] = lambda: None) -> None:
    """Serve on this process's own pipes and end it at once: a thread stuck in a driver must not keep it alive."""
    gc.set_threshold(SELDOM)
    ending.in_order()
    code, loaded = 1, threading.Event()
    threading.Thread(target=_end_with_parent, args=(0, loaded), daemon=True).start()
    try:
        host = make_host()
        loaded.set()
        serve(host, 0, 1)
        code = 0
    except Exception:
        import traceback  # costs more than all else here

        traceback.print_exc()  # to stderr, whose last line the one who waits will tell
    finally:
        _end_writes()
        at_end()
        os._exit(code)


def _end_writes() -> None:
    """What is throttled is given back; a write of `tune` that has begun comes to its end, and no other begins."""
    acting, tune = (sys.modules.get("{}.tune.{}".format(__package__, name)) for name in ("acting", "apply"))
    if acting:
        acting.give_back(_WRITE_LIMIT_S)
    if tune:
        tune.stop(_WRITE_LIMIT_S)


def main() -> None:
    """The agent of this host."""
    from .host.local import Local, kill_commands

    run(Local, kill_commands)
