"""Ticks -> /metrics and FILE.prom. The text is made once a tick and served as it is, by whoever and however often."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence

from ..node.report import Report
from ..render import dcgm, plain, prometheus
from ..render.prometheus import Health
from .errors import CLEAN, INCOMPLETE, CommandError, tell
from .feed import Feed
from .httpd import Answer, Server
from .outlet import DEFAULT_LISTEN, Serving
from .signals import TerminatedError, ending_in_order
from .textfile import TextFile


class Page:
    """The texts of the newest tick. Each is made when it is first asked for, once, and then served as it is."""

    def __init__(self, dcgm_hostname: str | None) -> None:
        self._dcgm_hostname = dcgm_hostname
        self._lock = threading.Lock()
        self._exposition = prometheus.Exposition()
        self._last_success: dict[str, float] = {}
        """Of every node that there was, by the wall clock."""
        self._said: tuple[Sequence[Report], Sequence[Health]] = ((), ())
        self._texts: dict[bool, bytes] = {}

    def show(self, reports: Sequence[Report]) -> None:
        """A tick has come."""
        now = time.time()
        self._last_success.update((report.node, now) for report in reports if not report.errors)
        asked = [report for report in reports if not report.errors or report.errors[0].kind != "not-asked"]
        self._say(reports, [(report.node, not report.errors) for report in asked])

    def expire(self) -> None:
        """No tick has come for too long: the values of before are no values; that the nodes are silent is one."""
        self._say((), [(health.node, False) for health in self._said[1]])

    def _say(self, reports: Sequence[Report], up: Iterable[tuple[str, bool]]) -> None:
        healths = [Health(node, answers, self._last_success.get(node)) for node, answers in up]
        with self._lock:
            self._said, self._texts = (reports, healths), {}

    def text(self, open_metrics: bool = False) -> bytes:
        with self._lock:
            if open_metrics not in self._texts:
                self._texts[open_metrics] = self._format(open_metrics)
            return self._texts[open_metrics]

    def _format(self, open_metrics: bool) -> bytes:
        reports, healths = self._said
        ours = self._exposition.write(reports, healths, time.process_time(), open_metrics)
        return ours + dcgm.exposition(reports, self._dcgm_hostname) if self._dcgm_hostname else ours

    def answer(self, path: str, headers: Mapping[str, str]) -> Answer:
        """What is served."""
        if path == "/metrics":
            wanted = "application/openmetrics-text" in headers.get("accept", "")
            open_metrics = wanted and not self._dcgm_hostname  # whose counters are no OpenMetrics
            return Answer(
                "200 OK", prometheus.OPEN_METRICS if open_metrics else prometheus.TEXT, self.text(open_metrics)
            )
        if path == "/-/healthy":
            return Answer("200 OK", "text/plain; charset=utf-8", b"brctl monitor is up\n")
        return Answer("404 Not Found", "text/plain; charset=utf-8", b"here are /metrics and /-/healthy\n")


def serve(ticks: Iterable[Sequence[Report]], asked: Serving) -> int:
    """Serve until the ticks end (0; 3 where the only node broke off), or ^C, SIGTERM or SIGHUP comes (0: as a service
    ends). 3 where the file could not be written once.

    Nothing of `ticks` is taken before all that may be refused is there. Raises CommandError.
    """
    page = Page(asked.dcgm_hostname)
    file = TextFile(asked.textfile) if asked.textfile else None
    server = Server(*endpoint(asked.listen), asked.tls) if asked.listen is not None else None
    try:
        with ending_in_order():
            if server:
                server.start(page.answer)
                announce(f"{server.url}/metrics")
            code = _follow(Feed(ticks), page, file, asked.interval_s)
    except TerminatedError:
        code = CLEAN
    finally:
        if file:
            file.remove()
        if server:
            server.close()
    return INCOMPLETE if file and file.never else code


def announce(text: str) -> None:
    """Where to look. Nobody may be reading: a service goes on all the same."""
    with contextlib.suppress(OSError):
        plain(f"{text}\n")
        sys.stdout.flush()


def endpoint(text: str) -> tuple[str, int]:
    """Address and port of `127.0.0.1:9836`, `[::1]:9836`, `:9836`. Raises CommandError."""
    address, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port[:6]) > 65535:
        raise CommandError(f"--listen {text}: write ADDRESS:PORT", f"the default is {DEFAULT_LISTEN}")
    return address.strip("[]") or "0.0.0.0", int(port)  # noqa: S104  # asked for by name


def _follow(feed: Feed, page: Page, file: TextFile | None, interval_s: float) -> int:
    """Each tick to its page and file, until there are no more; then the exit code. Raises what ended the ticks."""
    patience_s = 2 * interval_s + 1  # one tick may be late, and a start takes its time
    count, trouble = 0, ""
    while not (feed.ended and feed.wait(count, 0) is None):
        tick = feed.wait(count, patience_s)
        if tick:
            count = tick.number
            page.show(tick.reports)
        elif not feed.ended:
            page.expire()
        if file:
            trouble = _written(file, page.text(), trouble)
    return feed.outcome()


def _written(file: TextFile, text: bytes, before: str) -> str:
    """Write it; give what hinders that, which is told when it begins: a full disk is no reason to end."""
    try:
        file.write(text)
    except OSError as error:
        trouble = error.strerror or str(error)
        if trouble != before:
            tell(f"cannot write {file}: {trouble}", "it is tried again in every tick")
        return trouble
    return ""
