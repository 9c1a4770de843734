import contextlib
import io
import sys

import pytest

from brctl.fleet.order import Progress
from brctl.render.progress import ProgressLine, line

BEGUN = Progress(128, 0, 0, 64, None, 0)
HALF = Progress(128, 12, 1, 64, "gpu044", 12.4)


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def _stderr(monkeypatch: pytest.MonkeyPatch) -> Tty:
    """Put in place by the test itself: pytest exchanges it after the fixtures."""
    tty = Tty()
    monkeypatch.setattr(sys, "stderr", tty)
    monkeypatch.setenv("TERM", "xterm")
    return tty


def test_the_words() -> None:
    assert line(BEGUN) == "0 of 128 done, 64 running"
    assert line(HALF) == "12 of 128 done, 1 failed, 64 running, slowest gpu044 (12 s)"
    failed = HALF._replace(failure="gpu007: refused")
    assert line(failed) == "12 of 128 done, 1 failed (gpu007: refused), 64 running, slowest gpu044 (12 s)"
    assert line(Progress(2, 2, 0, 0, None, 0)) == "2 of 2 done"


def test_one_line_is_written_over_and_gone_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = _stderr(monkeypatch)
    with ProgressLine(quiet=False) as tell:
        tell(BEGUN)
        tell(BEGUN)
        tell(HALF)
    assert stderr.getvalue() == f"\r\x1b[K{line(BEGUN)}\r\x1b[K{line(HALF)}\r\x1b[K"


def test_it_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = _stderr(monkeypatch)
    monkeypatch.setattr("os.get_terminal_size", lambda _: type("S", (), {"columns": 10})())
    monkeypatch.setattr(stderr, "fileno", lambda: 2)
    with ProgressLine(quiet=False) as tell:
        tell(HALF)
    assert stderr.getvalue() == "\r\x1b[K12 of 128\r\x1b[K"


@pytest.mark.parametrize("why", ["quiet", "dumb", "no terminal", "nothing to tell"])
def test_elsewhere_nothing_is_printed(monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    stderr = _stderr(monkeypatch)
    if why == "dumb":
        monkeypatch.setenv("TERM", "dumb")
    if why == "no terminal":
        monkeypatch.setattr(stderr, "isatty", lambda: False)
    with ProgressLine(quiet=why == "quiet") as tell:
        if why != "nothing to tell":
            tell(HALF)
    assert stderr.getvalue() == ""


def test_an_error_leaves_no_line_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = _stderr(monkeypatch)
    with contextlib.suppress(KeyboardInterrupt), ProgressLine(quiet=False) as tell:
        tell(HALF)
        raise KeyboardInterrupt
    assert stderr.getvalue().endswith("\r\x1b[K")
