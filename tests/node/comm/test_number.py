"""strtoll(text, NULL, 0), as C has it."""

import pytest

from brctl.node.comm.number import rest, strtoll


@pytest.mark.parametrize(
    ("text", "value", "left"),
    [
        ("1G", 1, "G"),
        ("4M", 4, "M"),
        ("4194304", 4194304, ""),
        ("0x400000", 4194304, ""),
        ("0X10", 16, ""),
        ("010", 8, ""),
        ("08", 0, "8"),
        ("0x", 0, "x"),
        ("  12", 12, ""),
        ("+5", 5, ""),
        ("-1", -1, ""),
        ("", 0, ""),
        ("auto", 0, "auto"),
        ("1e6", 1, "e6"),
        ("1.5", 1, ".5"),
        ("9" * 30, 2**63 - 1, ""),
        ("-" + "9" * 30, -(2**63), ""),
    ],
)
def test_strtoll(text: str, value: int, left: str) -> None:
    assert strtoll(text) == value
    assert rest(text) == left


@pytest.mark.real
def test_as_the_c_library_does() -> None:
    import ctypes

    strtoll_of_c = ctypes.CDLL(None).strtoll
    strtoll_of_c.restype = ctypes.c_longlong
    for text in ("1G", "0x1f", "0xg", "017", "019", "\t-7x", "+", "-0x10", "12 34", "99999999999999999999", " 0"):
        assert strtoll_of_c(text.encode(), None, 0) == strtoll(text), text
