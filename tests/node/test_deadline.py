import threading
import time

import pytest

from brctl.node import deadline
from brctl.node.deadline import Crew, HungError, Lane, calling, run_all


def test_results_keep_their_order_and_exceptions_stay_apart() -> None:
    def fail() -> str:
        raise OSError("no")

    first, second, third = run_all([lambda: "a", fail, lambda: "c"])
    assert (first, third) == ("a", "c")
    assert isinstance(second, OSError)


def test_the_call_that_hangs_is_named_and_the_others_arrive() -> None:
    forever = threading.Event()

    def hang() -> str:
        calling("quick", 5)
        calling("nvmlDeviceGetUUID", 0.05)
        forever.wait(5)
        return "late"

    began = time.monotonic()
    hung, fine = run_all([hang, lambda: "fine"])
    forever.set()
    assert fine == "fine"
    assert isinstance(hung, HungError)
    assert hung.call == "nvmlDeviceGetUUID"
    assert str(hung) == "nvmlDeviceGetUUID did not return within 0.05 s"
    assert time.monotonic() - began < 4


def test_a_short_limit_after_a_long_one_is_kept() -> None:
    """Who began to wait during the long one must not go on waiting for that."""
    forever = threading.Event()

    def hang() -> None:
        calling("nvmlDeviceGetHandleByIndex_v2", 4)
        time.sleep(0.2)
        calling("nvmlDeviceGetUUID", 0.05)
        forever.wait(5)

    began = time.monotonic()
    (hung,) = run_all([hang])
    forever.set()
    assert str(hung) == "nvmlDeviceGetUUID did not return within 0.05 s"
    assert time.monotonic() - began < 4


def test_many_short_calls_are_no_hang() -> None:
    def work() -> int:
        for i in range(6):
            calling("call {}".format(i), 0.2)
            time.sleep(0.05)
        return 6

    assert run_all([work]) == [6]


def test_the_limit_of_a_call_can_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.02)
    forever = threading.Event()

    def hang() -> None:
        calling("read /sys/x")
        forever.wait(5)

    (outcome,) = run_all([hang])
    forever.set()
    assert str(outcome) == "read /sys/x did not return within 0.02 s"


def test_who_waits_for_a_thread_waits_for_those_that_it_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.5)
    forever = threading.Event()

    def hang() -> None:
        calling("ethtool -i eth0", 0.7)
        forever.wait(5)

    def work() -> "list[object]":
        calling("list /sys/class/net")
        return [*run_all([hang, lambda: "fine"])]

    (outcome,) = run_all([work])
    forever.set()
    assert isinstance(outcome, list)
    assert [str(each) for each in outcome] == ["ethtool -i eth0 did not return within 0.7 s", "fine"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_dies_without_a_result_is_an_error() -> None:
    def die() -> str:
        raise SystemExit

    died, fine = run_all([die, lambda: "fine"])
    assert isinstance(died, RuntimeError)
    assert str(died) == "its thread ended without a result"
    assert fine == "fine"


def test_outside_of_a_worker_nothing_happens() -> None:
    calling("anything")


def test_lanes_share_one_thread_as_long_as_none_takes_long() -> None:
    rest = threading.Semaphore(0)
    crew = Crew(rest.release)
    lanes, seen = [Lane(crew) for _ in range(3)], []
    for number in range(3):
        for lane in lanes:
            lane.start(lambda number=number: seen.append((number, threading.current_thread().ident)))
        crew.look()
        while any(lane.busy for lane in lanes):
            assert rest.acquire(timeout=3)
        assert [lane.late for lane in lanes] == [None, None, None]
    assert [number for number, _ in seen] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert len({ident for _, ident in seen}) == 1


def test_what_waits_behind_a_lane_that_hangs_is_done_by_another_thread() -> None:
    rest, hold = threading.Semaphore(0), threading.Event()
    crew, seen = Crew(rest.release), []
    hung, hung_too, fine = Lane(crew), Lane(crew), Lane(crew)
    hung.start(lambda: hold.wait(5))
    hung_too.start(lambda: hold.wait(5))
    for number in range(3):
        fine.start(lambda number=number: seen.append(number))
        end = time.monotonic() + 3
        while fine.busy and time.monotonic() < end:
            crew.look()
            time.sleep(0.001)
        assert seen == list(range(number + 1))
    assert hung.busy
    assert hung_too.busy
    hold.set()
    while hung.busy or hung_too.busy:
        assert rest.acquire(timeout=3)
    for number in range(3, 6):  # whoever was held up is of use again
        fine.start(lambda number=number: seen.append(number))
        crew.look()
        while fine.busy:
            assert rest.acquire(timeout=3)
    assert seen == list(range(6))


def test_what_has_waited_for_long_gets_a_thread_each_and_there_are_never_more_than_lanes() -> None:
    hold, seen = threading.Event(), set()
    crew = Crew()
    lanes = [Lane(crew) for _ in range(6)]

    def work() -> None:
        seen.add(threading.current_thread().ident)
        hold.wait(5)

    for lane in lanes:
        lane.start(work)
    end = time.monotonic() + 3
    while len(seen) < len(lanes) and time.monotonic() < end:
        crew.look()
    assert len(seen) == len(lanes)
    for _ in range(100):
        crew.look()
    assert len(crew._at_work) == len(lanes)
    hold.set()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_dies_or_cannot_be_had_is_not_counted_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def die() -> None:
        raise SystemExit

    def none_left(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    crew, seen = Crew(), []
    lane = Lane(crew)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", none_left)
        lane.start(die)
        crew.look()
    assert lane.busy
    for work in (None, lambda: seen.append(1)):
        if work:
            lane.start(work)
        end = time.monotonic() + 3
        while (lane.busy or crew._at_work) and time.monotonic() < end:
            crew.look()
        assert not lane.busy
    assert seen == [1]


def test_a_lane_that_hangs_names_its_call() -> None:
    rest, hold = threading.Semaphore(0), threading.Event()
    crew = Crew(rest.release)
    lane = Lane(crew)
    assert lane.call == ""

    def hang() -> None:
        deadline.calling("nvmlDeviceGetName", 0.0)
        hold.wait(5)

    lane.start(hang)
    assert lane.busy
    assert lane.late is None, "it waits"
    crew.look()
    while lane.call != "nvmlDeviceGetName":
        time.sleep(0.001)
    time.sleep(0.002)
    assert lane.busy
    assert str(lane.late) == "nvmlDeviceGetName did not return within 0 s"
    hold.set()
    assert rest.acquire(timeout=3)
    assert not lane.busy
    assert lane.late is None
    assert lane.call == ""
