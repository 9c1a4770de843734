"""Tables and lines in so many columns."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from brctl.render.live.ink import BLANK, Cell, Column, Line
from brctl.render.live.layout import flowed, laid_out, wrapped


def _text(line: Line) -> str:
    return "".join(each.text for each in line)


COLUMNS = (Column("A"), Column("BB", rank=2, right=True), Column("C", rank=1, least=2, most=4))


def _rows() -> "list[list[Cell]]":
    return [[Cell("x"), Cell("123"), lambda width: [Cell("c" * width)]], [Cell("yy"), Cell("4"), BLANK]]  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("width", "lines", "hidden"),
    [
        (80, ["A    BB  C   ", "x   123  cccc", "yy    4      "], []),
        (12, ["A    BB  C  ", "x   123  ccc", "yy    4     "], []),
        (10, ["A   C   ", "x   cccc", "yy      "], ["BB"]),
        (3, ["A ", "x ", "yy"], ["BB", "C"]),
        (1, ["A ", "x ", "yy"], ["BB", "C"]),
    ],
)
def test_columns_go_by_rank_and_drawings_take_what_is_left(width: int, lines: "list[str]", hidden: "list[str]") -> None:
    table = laid_out(COLUMNS, _rows(), width)
    assert [_text(table.titles), *(_text(line) for (line,) in table.rows)] == lines
    assert table.hidden == hidden


def test_wide_letters_take_two_cells() -> None:
    table = laid_out((Column("A"), Column("B")), [[Cell("漢字"), Cell("x")]], 80)
    assert [_text(table.titles), _text(table.rows[0][0])] == ["A     B", "漢字  x"]


def _drawn(columns: "list[Column]", row: "list[Cell]", width: int) -> "list[str]":
    (lines,) = laid_out(columns, [row], width).rows
    return [_text(line).rstrip() for line in lines]


EVENTS = [Column("WHEN"), Column("WHAT")]


def test_the_end_of_a_row_goes_on_under_itself() -> None:
    row = [Cell("14:32:05", "dim"), Cell("GPU 3: nvmlDeviceGetHandleByIndex_v2: GPU is lost", "warn")]
    assert _drawn(EVENTS, row, 40) == [
        "14:32:05  GPU 3:",
        "          nvmlDeviceGetHandleByIndex_v2:",
        "          GPU is lost",
    ]
    assert len(_drawn(EVENTS, row, 80)) == 1


def test_it_goes_on_below_where_there_is_no_room_beside() -> None:
    columns = [Column("ALERT"), Column("SEVERITY"), Column("OF")]
    row = [Cell("gpu-nvlink-errors", "crit"), Cell("critical"), Cell("mlx5_0 port 1 priority 3")]
    assert _drawn(columns, row, 40) == ["gpu-nvlink-errors  critical", "  mlx5_0 port 1 priority 3"]


def test_a_row_of_one_text_goes_on_too() -> None:
    columns = [Column("GPU", right=True), Column("USE", least=9), Column("TEMP", right=True)]
    row = [Cell("3", "crit"), Cell("LOST  nvmlDeviceGetHandleByIndex_v2: GPU is lost", "crit")]
    assert _drawn(columns, row, 40) == ["  3  LOST", "     nvmlDeviceGetHandleByIndex_v2: GPU", "     is lost"]


def test_a_column_in_which_something_is_wrong_stays() -> None:
    columns = [Column("NAME"), Column("RX", rank=1, right=True), Column("LOSS", rank=2, right=True)]
    fine = [Cell("ens1np0"), Cell("12.4 GB/s"), Cell("0%")]
    wrong = [Cell("ens2np0"), Cell("12.4 GB/s"), Cell("1.2%", "crit")]
    assert laid_out(columns, [fine], 20).hidden == ["LOSS"]
    assert laid_out(columns, [fine, wrong], 20).hidden == ["RX"]


def test_a_long_name_gives_way_to_what_stands_behind_it() -> None:
    columns = [Column("MOUNT"), Column("USED", least=9), Column("AVAILABLE", right=True)]
    row = [Cell("/var/lib/kubelet/pods/volumes"), Cell("98% "), Cell("1.0 GiB")]
    assert _drawn(columns, row, 40) == ["/var/lib/kubelet/~  98%          1.0 GiB"]


def test_a_row_is_not_endless() -> None:
    assert wrapped("x" * 1000, 10, "~", 3) == ["x" * 10, "x" * 10, "x" * 9 + "~"]
    assert wrapped("", 10) == [""]


def test_what_is_wrong_is_told_before_the_rest_where_not_all_has_room() -> None:
    pieces = [[Cell("8 GPUs")], [Cell("use 50%")], [Cell("waiting for io 30%", "warn")]]
    assert [_text(line) for line in flowed(pieces, "   ", 40, 1)] == ["8 GPUs   use 50%   waiting for io 30%"]
    assert [_text(line) for line in flowed(pieces, "   ", 30, 2)] == ["8 GPUs   use 50%", "waiting for io 30%"]
    assert [_text(line) for line in flowed(pieces, "   ", 30, 1)] == ["waiting for io 30%   8 GPUs"]
    told = [[Cell("unreachable: no route to host", "crit")]]
    assert [_text(line) for line in flowed(told, "   ", 20, 3)] == ["unreachable: no", "route to host"]


@settings(max_examples=25, deadline=None)
@given(st.text("ab c漢", max_size=60), st.integers(10, 30))
def test_wrapped_loses_no_letter_and_keeps_to_its_width(text: str, width: int) -> None:
    lines = wrapped(text, width, most=60)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(cell_len(line) <= width for line in lines)
