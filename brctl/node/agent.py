"""The agent: serves requests that come framed on stdin, with Reports that go framed to stdout.

One runs for every machine that is looked at, this host included. It lives as long as its stdin is open. Each request
has a thread of its own, so that one that hangs holds up neither the next one nor the end.
"""

import os
import threading
import time
from typing import Callable, Tuple

from .diagnose import engine
from .frame import Frame, Unpacker, pack
from .host import Host
from .probe import inventory
from .report import Finding, InvalidReportError, NodeError, Report, dumps, loads
from .request import Request

_CHUNK = 65536


def answer(host: Host, request: Request) -> Report:
    """Do what is asked, here and now."""
    began, clock = time.time(), time.monotonic()
    if request.action == "clean":  # where there is a cache, this comes to the door in front of it (fleet/door.py)
        return Report(request.node, began, 0.0, host.mock, notes=("nothing was left",))
    seen = inventory(host)
    findings: Tuple[Finding, ...] = ()
    if request.action == "check":
        findings = engine.run(seen, request.expected, request.overrides, tags=("inventory",))
    return Report(request.node, began, time.monotonic() - clock, host.mock, seen, findings)


def serve(host: Host, source: int, sink: int) -> None:
    """Answer frames from the file descriptor `source` on `sink`, until `source` ends. Raises FrameError."""
    lock = threading.Lock()

    def handle(frame: Frame) -> None:
        payload = dumps(_answer_text(host, frame.payload)).encode("ascii")
        with lock:
            _write_all(sink, pack(Frame(frame.id, payload)))

    unpacker = Unpacker()
    for chunk in iter(lambda: os.read(source, _CHUNK), b""):
        for frame in unpacker.feed(chunk):
            threading.Thread(target=handle, args=(frame,), daemon=True).start()


def _answer_text(host: Host, text: bytes) -> Report:
    """Answer a request in JSON; whatever goes wrong comes back as a Report too."""
    began = time.time()
    try:
        return answer(host, loads(Request, text))
    except InvalidReportError as error:
        problem = NodeError("invalid-request", str(error))
    except Exception as error:  # the one who waits must hear of it
        problem = NodeError("agent-error", "{}: {}".format(type(error).__name__, error))
    return Report("", began, time.time() - began, host.mock, errors=(problem,))


def _write_all(sink: int, text: bytes) -> None:
    view = memoryview(text)
    while view:
        view = view[os.write(sink, view) :]


def run(make_host: Callable[[], Host], at_end: Callable[[], None] = lambda: None) -> None:
    """Serve on this process's own pipes and end it at once: a thread stuck in a driver must not keep it alive."""
    try:
        serve(make_host(), 0, 1)
    finally:
        at_end()
        os._exit(0)


def main() -> None:
    """The agent of this host."""
    from .host.local import Local, kill_commands

    run(Local, kill_commands)
