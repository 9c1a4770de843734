import io
import os
import sys

import pytest
from rich.console import Console
from rich.text import Text

from brctl.render.terminal import Column, Terminal, clean, columns


class Screen(Terminal):
    """A terminal of a given width that keeps what is printed."""

    def __init__(self, width: int) -> None:
        self.console = Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False)

    @property
    def text(self) -> str:
        file = self.console.file
        assert isinstance(file, io.StringIO)
        return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("plain é", "plain é"),
        ("\x1b[31mred\x1b[0m", "\N{REPLACEMENT CHARACTER}[31mred\N{REPLACEMENT CHARACTER}[0m"),
        ("a\r\nb\tc\x00", "a\ufffd\ufffdb\ufffdc\ufffd"),
        ("\x9b2J", "\ufffd2J"),
        ("gpu\u202e001", "gpu\ufffd001"),
    ],
)
def test_nothing_that_a_terminal_obeys_gets_through(hostile: str, shown: str) -> None:
    assert clean(hostile) == shown


def test_markup_is_text() -> None:
    screen = Screen(40)
    screen.line("[red]NIC[/red] :warning: [link=http://x]x[/link]")
    screen.table([Column("[b]A[/b]")], [["[bold]b"]])
    assert screen.text == "[red]NIC[/red] :warning:\n[link=http://x]x[/link]\n[b]A[/b]\n[bold]b"


def test_a_line_of_one_style_has_it() -> None:
    """rich's `Text.render` leaves out what is not a span; a mock's warning was plain."""
    screen = Screen(40)
    screen.console = Console(file=io.StringIO(), width=40, force_terminal=True, color_system="standard")
    screen.line(Text("mock machine", style="yellow"))
    screen.line(Text("under it", style="dim"), indent=2)
    screen.line("plain")
    assert screen.text == "\x1b[33mmock machine\x1b[0m\n  \x1b[2munder it\x1b[0m\nplain"


@pytest.mark.parametrize(("given", "width"), [("", 40), ("60", 60), ("wide", 40)])
def test_a_dumb_terminal_is_as_wide_as_it_says(monkeypatch: pytest.MonkeyPatch, given: str, width: int) -> None:
    """A width that the terminal has not breaks every line of a table in two."""
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", given)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr(sys.stdout, "fileno", lambda: 1)
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((40, 24)))
    assert Terminal().console.width == width


def test_a_dumb_terminal_that_does_not_say_has_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: int) -> os.terminal_size:
        raise OSError(25, "Inappropriate ioctl for device")

    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(os, "get_terminal_size", unknown)
    assert columns(Console(file=io.StringIO(), force_terminal=True)) == 80


COLUMNS = (Column("NIC"), Column("MTU", right=True), Column("Driver", rank=2), Column("Firmware", rank=1))
ROWS = [["ens1np0", "9000", "mlx5_core", "28.41.1000"], ["eth0", "1500", None, None]]


def test_what_fits_is_shown() -> None:
    screen = Screen(40)
    screen.table(COLUMNS, ROWS)
    assert screen.text == (
        "NIC       MTU  Driver     Firmware\n"
        "ens1np0  9000  mlx5_core  28.41.1000\n"
        "eth0     1500  -          -"
    )  # fmt: skip


def test_what_does_not_fit_is_left_out_and_said() -> None:
    screen = Screen(26)
    screen.table(COLUMNS, ROWS)
    assert screen.text == (
        "NIC       MTU  Firmware\n"
        "ens1np0  9000  28.41.1000\n"
        "eth0     1500  -\n"
        "not shown at 26 columns:\n"
        "Driver"
    )  # fmt: skip


def test_the_first_columns_stay_on_the_narrowest_terminal() -> None:
    screen = Screen(10)
    screen.table(COLUMNS, ROWS)
    assert screen.text.splitlines()[0].startswith("NIC")
    assert "Firmware" not in screen.text.splitlines()[0]


def test_a_paragraph_wraps_beside_its_head_or_under_it() -> None:
    wide, narrow = Screen(36), Screen(20)
    for screen in (wide, narrow):
        screen.hanging(Text("CRIT  "), "GPU 3 is lost: nvmlDeviceGetUUID", 6)
    assert wide.text == "CRIT  GPU 3 is lost:\n      nvmlDeviceGetUUID"
    assert narrow.text == "CRIT\n    GPU 3 is lost:\n    nvmlDeviceGetUUI\n    D"


def test_a_pipe_gets_wide_tables_without_colour(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal()
    terminal.line(Text("x", style="red"))
    assert terminal.console.width == 160
    assert capsys.readouterr().out == "x\n"


def test_the_width_can_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "77")
    assert Terminal().console.width == 77


@pytest.mark.parametrize("columns", ["0", "3"])
def test_a_terminal_that_claims_no_width_gets_the_usual_one(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert Terminal().console.width == 80


def test_whatever_gets_in_is_cleaned() -> None:
    screen = Screen(40)
    evil = "\x1b[2J\rx\n"
    screen.line(evil)
    screen.line(Text(evil, style="red"), indent=4)
    screen.hanging(Text(evil), evil, 12)
    screen.table([Column("A")], [[evil], [Text(evil)]])
    assert not set("\x1b\r") & set(screen.text)
    assert screen.text.count("[2J") == 6
