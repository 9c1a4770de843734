from collections.abc import Callable
from typing import Any

import pytest

from brctl.config import units
from brctl.config.units import CLOCK, DURATION, LEVEL, POWER, RATE, SIZE, Amount, Kind, RefusedError

GOOD = [
    (DURATION, "5s", 5.0),
    (DURATION, "2m", 120.0),
    (DURATION, "100ms", 0.1),
    (DURATION, "1.5h", 5400.0),
    (DURATION, "1 d", 86400.0),
    (SIZE, "64MiB", 64 << 20),
    (SIZE, "81559 MiB", 81559 << 20),
    (SIZE, "2TiB", 2 << 40),
    (SIZE, "7B", 7),
    (RATE, "400Gb/s", 400_000),
    (RATE, "1.6Tb/s", 1_600_000),
    (CLOCK, "1980MHz", 1980),
    (POWER, "0.7kW", 700),
]


@pytest.mark.parametrize(("kind", "text", "worth"), GOOD)
def test_quantities(kind: Kind, text: str, worth: float) -> None:
    assert units.base(kind, text) == pytest.approx(worth)


def test_a_level_may_be_a_count_and_keeps_its_unit() -> None:
    assert units.parse(LEVEL, 85) == Amount(85.0, "")
    assert units.parse(LEVEL, "1%") == Amount(1.0, "%")
    assert units.parse(LEVEL, "85C") == Amount(85.0, "C")


def said(call: Callable[..., Any], *arguments: Any) -> tuple[str, str | None]:
    with pytest.raises(RefusedError) as caught:
        call(*arguments)
    return str(caught.value), caught.value.hint


SIZES = "B, KiB, MiB, GiB, TiB"
BAD = [
    (DURATION, 5, "5 has no unit", "write a number and one of ms, s, m, h, d: 5s"),
    (DURATION, "5", "5 has no unit", "write a number and one of ms, s, m, h, d: 5s"),
    (DURATION, "5 sec", "unknown unit 'sec'", "did you mean 5s?"),
    (DURATION, "5min", "unknown unit 'min'", "did you mean 5m?"),
    (DURATION, "5msec", "unknown unit 'msec'", "did you mean 5ms?"),
    (DURATION, "-5s", "'-5s' is no duration", "write a number and one of ms, s, m, h, d: 5s"),
    (DURATION, True, "true is no duration", "write a number and one of ms, s, m, h, d: 5s"),
    (DURATION, [5], "a list is no duration", "write a number and one of ms, s, m, h, d: 5s"),
    (SIZE, 64, "64 has no unit", f"for bytes write 64B; else write a number and one of {SIZES}: 64MiB"),
    (SIZE, "64M", "'M' may be powers of 1000 or of 1024", "write 64MiB, or the exact number with B"),
    (SIZE, "64GB", "'GB' may be powers of 1000 or of 1024", "write 64GiB, or the exact number with B"),
    (SIZE, "64mib", "unknown unit 'mib'", "did you mean 64MiB?"),
    (SIZE, "64 feet", "unknown unit 'feet'", f"write a number and one of {SIZES}: 64MiB"),
    (RATE, "400Gbps", "unknown unit 'Gbps'", "did you mean 400Gb/s?"),
    (RATE, "400Gbit/s", "unknown unit 'Gbit/s'", "did you mean 400Gb/s?"),
    (RATE, "50GB/s", "'GB/s' would be bytes", "network rates count bits: 50Gb/s"),
    (CLOCK, "1200mhz", "unknown unit 'mhz'", "did you mean 1200MHz?"),
    (POWER, 300, "300 has no unit", "write a number and one of W, kW, %: 650W"),
    (POWER, "300watts", "unknown unit 'watts'", "did you mean 300W?"),
    (LEVEL, "85F", "unknown unit 'F'", "write a number and one of %, C, W: 85"),
]


@pytest.mark.parametrize(("kind", "value", "message", "hint"), BAD)
def test_what_could_be_misread(kind: Kind, value: Any, message: str, hint: str) -> None:
    assert said(units.base, kind, value) == (message, hint)


def test_parts_of_a_byte() -> None:
    assert units.whole(SIZE, "1.5KiB") == 1536
    assert said(units.whole, SIZE, "1.3B") == ("1.3B is no whole number of B", None)


def test_seconds_refuse_with_a_value_error() -> None:
    assert units.seconds("2m") == 120.0
    with pytest.raises(ValueError, match="5 has no unit"):
        units.seconds("5")


def test_out_of_range() -> None:
    assert said(units.seconds, "0s") == ("0s is out of range", "more than 0: 5s")
    assert units.seconds("0s", zero=True) == 0.0
    assert units.seconds("366d") == 366 * 86400
    assert said(units.seconds, "8785h") == ("8785h is out of range", "at most 366d")
