import io
import os
import sys
from collections.abc import Callable

import pytest

from brctl.render.terminal import Terminal
from brctl.render.watch import Screen


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def _paint(*lines: str) -> Callable[[Terminal], None]:
    return lambda terminal: [terminal.line(line) for line in lines] and None


@pytest.fixture
def tty(monkeypatch: pytest.MonkeyPatch) -> "Callable[[int, int], Tty]":
    """Make stdout a terminal of so many lines and columns."""

    def make(lines: int, columns: int) -> Tty:
        file = Tty()
        monkeypatch.setattr(sys, "stdout", file)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setattr(os, "get_terminal_size", lambda *_: os.terminal_size((columns, lines)))
        monkeypatch.setenv("LINES", str(lines))
        monkeypatch.setenv("COLUMNS", str(columns))
        return file

    return make


def test_on_a_terminal_the_next_takes_the_place_of_the_last(tty: "Callable[[int, int], Tty]") -> None:
    file = tty(24, 80)
    with Screen() as screen:
        screen.draw(_paint("a", "b"))
        screen.draw(_paint("c"))
    assert file.getvalue() == "\r\x1b[Ja\nb\n\x1b[2F\r\x1b[Jc\n\r\x1b[J"


def test_what_is_higher_than_the_terminal_is_cut_and_that_is_said(tty: "Callable[[int, int], Tty]") -> None:
    file = tty(6, 80)
    with Screen() as screen:
        screen.draw(_paint(*"abcde"))
        screen.draw(_paint(*"abcdef"))
    shown = file.getvalue().partition("\x1b[5F\r\x1b[J")
    assert shown[0] == "\r\x1b[Ja\nb\nc\nd\ne\n"
    more = "and 2 more lines: --sort worst, --filter or a taller terminal"
    assert shown[2] == f"a\nb\nc\nd\n{more}\n\r\x1b[J"


def test_a_terminal_that_became_narrower_has_wrapped_what_stood_there(
    tty: "Callable[[int, int], Tty]", monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tty(24, 80)
    with Screen() as screen:
        screen.draw(_paint("x" * 45, "b"))
        monkeypatch.setenv("COLUMNS", "20")
        screen.draw(_paint("c"))
    assert "\x1b[4F" in file.getvalue()


@pytest.mark.parametrize("why", ["no terminal", "dumb"])
def test_elsewhere_one_follows_the_other(
    tty: "Callable[[int, int], Tty]", monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    file = tty(4, 80)
    if why == "dumb":
        monkeypatch.setenv("TERM", "dumb")
    else:
        monkeypatch.setattr(file, "isatty", lambda: False)
    with Screen() as screen:
        screen.draw(_paint(*"abcdef"))
        screen.draw(_paint("g"))
    assert file.getvalue() == "a\nb\nc\nd\ne\nf\n\ng\n\n"
