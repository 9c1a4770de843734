import contextlib
import io
import sys

import pytest

from brctl.fleet.order import Progress
from brctl.node.report import HOST, Finding, Report, Status
from brctl.render import progress
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


def _crit(node: str) -> Report:
    return Report(node, 0, 0, findings=(Finding("nic-speed", Status.CRIT, HOST, "ens3np0: no\x1blink"),))


CRIT = "ens3np0: no\N{REPLACEMENT CHARACTER}link\n"


def test_what_is_wrong_stands_above_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = _stderr(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE_S", 0.0)
    with ProgressLine(quiet=False) as tell:
        tell(BEGUN)
        tell.hear(Report("gpu001", 0, 0))
        tell.hear(_crit("gpu002"))
        tell(HALF)
    assert stderr.getvalue() == (f"\r\x1b[K{line(BEGUN)}\r\x1b[Kgpu002: CRIT  {CRIT}\r\x1b[K{line(HALF)}\r\x1b[K")


def test_what_the_table_shows_soon_is_not_told_before(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = _stderr(monkeypatch)
    with ProgressLine(quiet=False, verbose=True) as tell:
        tell.hear(_crit("gpu002"))
        tell(HALF)
    assert "CRIT" not in stderr.getvalue()
    monkeypatch.setattr(progress, "PATIENCE_S", 0.0)
    with ProgressLine(quiet=False, verbose=True) as tell:
        tell.hear(_crit("gpu002"))
        tell(HALF._replace(running=0))
    assert "CRIT" not in stderr.getvalue()


def test_of_many_the_first_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = _stderr(monkeypatch)
    monkeypatch.setattr(stderr, "isatty", lambda: False)
    monkeypatch.setattr(progress, "PATIENCE_S", 0.0)
    for verbose, told in ((False, 0), (True, 20)):
        with ProgressLine(quiet=False, verbose=verbose) as tell:
            for number in range(30):
                tell.hear(_crit(f"gpu{number:03}"))
            tell(HALF)
        assert stderr.getvalue().count("CRIT") == told
    assert stderr.getvalue().startswith(f"gpu000: CRIT  {CRIT}gpu001: ")


def test_that_nobody_reads_it_changes_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = _stderr(monkeypatch)

    def full(_: str) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(stderr, "write", full)
    with ProgressLine(quiet=False) as tell:
        tell(HALF)


def test_an_error_leaves_no_line_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = _stderr(monkeypatch)
    with contextlib.suppress(KeyboardInterrupt), ProgressLine(quiet=False) as tell:
        tell(HALF)
        raise KeyboardInterrupt
    assert stderr.getvalue().endswith("\r\x1b[K")
