"""Letters and colours, as far as a terminal has them."""

import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from brctl.node.report import State
from brctl.render.live import amounts
from brctl.render.live.ink import Cell, Ink, cell, ink, joined


def _text(line: "list[Cell]") -> str:
    return "".join(each.text for each in line)


@pytest.mark.parametrize(
    ("share", "drawn"),
    [(0.0, "────"), (0.5, "━━──"), (1.0, "━━━━"), (1 / 8, "╸───"), (0.25 + 1 / 8, "━╸──"), (7.0, "━━━━"),
     (-1, "────"), (None, "····")],
)  # fmt: skip
def test_a_bar(pen: Ink, share: "float | None", drawn: str) -> None:
    assert _text(pen.meter(share, 4, "busy")) == drawn


def test_a_bar_of_ascii(ascii_pen: Ink) -> None:
    assert _text(ascii_pen.meter(0.5, 4, "busy")) == "##--"
    assert _text(ascii_pen.meter(None, 4, "busy")) == "    "


def test_a_history_is_right_aligned_and_keeps_its_gaps(pen: Ink, ascii_pen: Ink) -> None:
    shares = [0.0, 0.5, None, 1.0]
    assert pen.history(shares, 6) == "  ▁▄·▇"
    assert pen.history(shares, 2) == "·▇"
    assert pen.history(shares, 0) == ""
    assert ascii_pen.history(shares, 4) == "_- #"


def test_what_a_machine_sends_is_no_command_to_the_terminal() -> None:
    assert cell("a\x1b[31mb\n").text == "a\N{REPLACEMENT CHARACTER}[31mb\N{REPLACEMENT CHARACTER}"


def test_colours_only_where_there_are_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    line = [Cell("a", "crit")]
    coloured = ink(Console(file=io.StringIO(), force_terminal=True, color_system="truecolor"), "utf-8")
    assert coloured.paint(line, 9) == "\x1b[1;31ma\x1b[0m"
    without = ink(Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", no_color=True), "utf-8")
    assert without.paint(line, 9) == "\x1b[1ma\x1b[0m"
    assert ink(Console(file=io.StringIO()), "utf-8").paint(line, 9) == "a"


def test_an_encoding_that_nobody_knows_is_ascii() -> None:
    assert ink(Console(file=io.StringIO()), "no-such").bar == "-#"


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(max_size=6), max_size=5), st.integers(0, 12))
def test_no_line_is_wider_than_the_terminal(texts: "list[str]", width: int) -> None:
    pen = Ink("-#", "_#", " ", "~", {}, "-")
    assert cell_len(pen.paint([cell(text) for text in texts], width)) <= width


def test_the_line_under_the_cursor_reaches_to_the_edge_and_keeps_its_colours() -> None:
    pen = Ink("-#", "_#", " ", "~", {"@": ("<", ">"), "crit@": ("(", ")"), "head": ("{", "}")}, "-")
    assert pen.paint([Cell("ab", "crit"), Cell("c")], 5, "@") == "(ab)<c><  >"
    assert pen.paint([Cell("ab", "crit")], 4, "head") == "{ab}{  }"


def test_eight_colours_have_no_quiet_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    few = ink(Console(file=io.StringIO(), force_terminal=True, color_system="standard"), "utf-8")
    many = ink(Console(file=io.StringIO(), force_terminal=True, color_system="256"), "utf-8")
    assert few.paint([Cell("a")], 1, "@") == "\x1b[7ma\x1b[0m"
    assert re.fullmatch(r"\x1b\[48;[25;\d]+ma\x1b\[0m", many.paint([Cell("a")], 1, "@"))


def test_joined() -> None:
    assert _text(list(joined([[Cell("a"), Cell("b")], [Cell("c")]], " - "))) == "ab - c"
    assert joined([], " - ") == []


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (amounts.percent(0.985), "98%"),
        (amounts.percent(None), "-"),
        (amounts.rate(0.0), "0 B/s"),
        (amounts.rate(999.6), "1.0 kB/s"),
        (amounts.rate(12.44e9), "12.4 GB/s"),
        (amounts.rate(None), "-"),
        (amounts.size(61.25 * 2**30), "61.2 GiB"),
        (amounts.size(1023.9), "1.0 KiB"),
        (amounts.size(None), "-"),
        (amounts.filled(61 * 2**30, 80 * 2**30), "61/80 GiB"),
        (amounts.filled(0.5 * 2**40, 2 * 2**40), "0.5/2 TiB"),
        (amounts.filled(None, 80 * 2**30), "-"),
        (amounts.filled(2**30, None), "1.0 GiB"),
        (amounts.filled(2**30, 0.0), "1.0 GiB"),
        (amounts.watts(412.4), "412 W"),
        (amounts.watts(380_123), "380.1 kW"),
        (amounts.watts(None), "-"),
        (amounts.celsius(61.0), "61C"),
        (amounts.celsius(None), "-"),
        (amounts.hertz(1.98e9), "1980 MHz"),
        (amounts.hertz(None), "-"),
        (amounts.lasting(12.3), "12 s"),
        (amounts.lasting(180), "3 min"),
        (amounts.lasting(7200), "2 h"),
        (amounts.absent(State.STALE), "?"),
        (amounts.absent(State.TIMEOUT), "?"),
        (amounts.absent(State.UNSUPPORTED), "-"),
        (amounts.absent(None), "-"),
    ],
)
def test_amounts(said: str, words: str) -> None:
    assert said == words
