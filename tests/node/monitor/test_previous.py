from typing import Any

import pytest

from brctl.node.monitor.previous import Grown, Previous


def reading(previous: Previous, now_s: float, value: Any, bits: int = 0) -> Any:
    previous.now_s = now_s
    return previous.grown("x", value, bits)


def test_two_readings_make_a_rate() -> None:
    previous = Previous()
    assert reading(previous, 10.0, 100) is None
    assert reading(previous, 12.0, 300) == Grown(200, 2.0)
    assert Grown(200, 2.0).per_s == 100


def test_a_counter_that_goes_back_was_reset_and_counts_anew() -> None:
    previous = Previous()
    assert [reading(previous, s, value) for s, value in ((1, 100), (2, 40), (3, 50))] == [None, None, Grown(10, 1)]


@pytest.mark.parametrize(
    ("before", "after", "grown"), [(250, 4, 10), (100, 4, None), (255, 0, 1)], ids=["wrapped", "reset", "edge"]
)
def test_a_wrap_is_told_from_a_reset_by_where_it_was(before: int, after: int, grown: Any) -> None:
    previous = Previous()
    reading(previous, 1.0, before, bits=8)
    found = reading(previous, 2.0, after, bits=8)
    assert found == (grown and Grown(grown, 1.0))


def test_a_gap_is_no_reading() -> None:
    """What happened while it could not be read is not made a rate of the moment."""
    previous = Previous()
    reading(previous, 1.0, 100)
    assert reading(previous, 2.0, None) is None
    assert reading(previous, 3.0, 500) is None
    assert reading(previous, 4.0, 510) == Grown(10, 1.0)


def test_two_readings_at_one_time_are_no_rate() -> None:
    previous = Previous()
    reading(previous, 1.0, 100)
    assert reading(previous, 1.0, 200) is None


def test_shares_and_ratios() -> None:
    previous = Previous()
    for now_s, spent, part, whole in ((1.0, 0.0, 0, 0), (3.0, 1.0, 5, 50)):
        previous.now_s = now_s
        found = previous.share("s", spent), previous.ratio("r", part, whole, least=50)
    assert found == (0.5, 0.1)
    previous.now_s = 4.0
    assert previous.share("s", 9.0) == 1, "never more than all of the time"
    assert previous.ratio("r", 6, 99, least=50) is None
    previous.now_s = 5.0
    assert previous.ratio("r", None, 999, least=50) is None


def test_what_hardly_changes_is_looked_at_now_and_then() -> None:
    previous, looks = Previous(), iter(range(1, 9))
    found = []
    for now_s in (0.0, 59.0, 60.0, 61.0, 120.0):
        previous.now_s = now_s
        found.append(previous.kept("nodes", lambda: next(looks)))
    assert found == [1, 1, 2, 2, 3]
    assert previous.kept("other", lambda: next(looks)) == 4


def test_that_nothing_was_found_is_not_kept() -> None:
    previous, looks = Previous(), iter(([], [0], [1]))
    assert [previous.kept("nodes", lambda: next(looks)) for _ in range(3)] == [[], [0], [0]]
