import pytest

from brctl.node.units import rate, size


@pytest.mark.parametrize(
    ("mbps", "words"),
    [(100, "100 Mb/s"), (999, "999 Mb/s"), (1000, "1 Gb/s"), (2500, "2.5 Gb/s"), (400000, "400 Gb/s")],
)
def test_rates(mbps: int, words: str) -> None:
    assert rate(mbps) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1000 B"),
        (1024, "1 KiB"),
        (81559 << 20, "79.6 GiB"),
        (999 << 30, "999 GiB"),
        (int(999.7 * 2**30), "1000 GiB"),
        (1008 << 30, "1008 GiB"),
        (2015 << 30, "1.97 TiB"),
        (2 << 40, "2 TiB"),
        (5 << 50, "5 PiB"),
    ],
)
def test_sizes(number: int, words: str) -> None:
    assert size(number) == words
