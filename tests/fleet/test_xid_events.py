from __future__ import annotations

from brctl.fleet.xid_events import COUNT, SEEN, XidEvent, XidEvents
from brctl.node.report import Report, Sample, State


def a_tick(node: str, at: float, *counts: tuple[str, float]) -> Report:
    samples = [Sample(COUNT, ("3", "GPU-a", xid), count, State.MEASURED, at) for xid, count in counts]
    seen = [Sample(SEEN, ("3", "GPU-a", xid), at - 0.5, State.MEASURED, at) for xid, _ in counts]
    return Report(node, at, 0.0, samples=(*samples, *seen))


def test_each_is_told_once_and_the_same_again_when_it_comes_again() -> None:
    events = XidEvents()
    assert events.of(a_tick("a", 10)) == ()
    assert events.of(a_tick("a", 20, ("31", 1))) == (XidEvent("3", "GPU-a", 31, 1, 19.5),)
    assert events.of(a_tick("a", 30, ("31", 1))) == ()
    assert events.of(a_tick("a", 40, ("31", 3), ("79", 1))) == (
        XidEvent("3", "GPU-a", 31, 2, 39.5),
        XidEvent("3", "GPU-a", 79, 1, 39.5),
    )
    assert events.of(a_tick("b", 40, ("31", 1))) == (XidEvent("3", "GPU-a", 31, 1, 39.5),), "of another node"


def test_a_sampler_that_began_anew_counts_from_nothing() -> None:
    events = XidEvents()
    events.of(a_tick("a", 10, ("31", 5)))
    assert events.of(a_tick("a", 20, ("31", 2))) == (XidEvent("3", "GPU-a", 31, 2, 19.5),)


def test_what_is_no_number_or_unknown_is_no_event() -> None:
    odd = a_tick("a", 10, ("31\x1b[2J", 1))
    unknown = Report("a", 0, 0, samples=(Sample(COUNT, ("3", "GPU-a", "31"), None, State.STALE, 0.0),))
    assert XidEvents().of(odd) == XidEvents().of(unknown) == ()
