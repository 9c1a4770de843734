"""The guard takes a transaction back when nobody is left who would, and leaves alone what was confirmed."""

import contextlib
import os
import sys
import threading
import time
from typing import Any, Callable, Iterator, List

import pytest

from brctl.mock.machines import load
from brctl.node.host import BusyError, detached
from brctl.node.host.machine import Machine
from brctl.node.report import Subject
from brctl.node.request import Request, Tuning
from brctl.node.tune import Place, guard, journal, undo
from brctl.node.tune.guard import Guard
from brctl.node.tune.journal import Entry

MTU = "/sys/class/net/ens1np0/mtu"


@pytest.fixture
def host() -> Machine:
    return load("dgx-h100", "gpu001")


@pytest.fixture
def begun(host: Machine) -> journal.Journal:
    """A transaction that has lowered an MTU from 9000 to 1500."""
    record = journal.begin(host, Request("gpu001", "tune-apply", tune=Tuning(who="me")))
    subject = Subject("nic", "ens1np0", "ens1np0")
    record.write(Entry(0, "nic-mtu", subject, "mtu", Place("knob", MTU), "9000", "1500"))
    host.write(MTU, "1500\n")
    return record


@pytest.fixture
def pipe() -> Iterator[List[int]]:
    ends = list(os.pipe())
    yield ends
    for end in ends:
        with contextlib.suppress(OSError):
            os.close(end)


def watched(host: Machine, record: journal.Journal, ends: List[int], word: str, limit_s: float = 1) -> bool:
    os.write(ends[1], word.encode())
    os.close(ends[1])
    return guard.watch(ends[0], host, record.id, limit_s)


def test_the_end_without_a_word(host: Machine, begun: journal.Journal, pipe: List[int]) -> None:
    assert watched(host, begun, pipe, "")


def test_the_deadline(host: Machine, begun: journal.Journal, pipe: List[int]) -> None:
    assert guard.watch(pipe[0], host, begun.id, 0.01)


def test_all_is_done(host: Machine, begun: journal.Journal, pipe: List[int]) -> None:
    assert not watched(host, begun, pipe, "done\n")


def test_nobody_confirms(host: Machine, begun: journal.Journal, pipe: List[int]) -> None:
    began = time.monotonic()
    assert watched(host, begun, pipe, "wait 0.05\n")
    assert time.monotonic() - began >= 0.05


@pytest.mark.parametrize("state", ["done", "failed", "rolled back"])
def test_it_was_ended(host: Machine, begun: journal.Journal, pipe: List[int], state: str) -> None:
    begun.end(state, "me", ())
    assert not watched(host, begun, pipe, "wait 60\n")


def test_a_journal_that_cannot_be_read_says_nothing(host: Machine, pipe: List[int]) -> None:
    os.write(pipe[1], b"wait 0.01\n")
    assert guard.watch(pipe[0], host, "20260101-000000", 1)


def test_it_is_taken_back(host: Machine, begun: journal.Journal) -> None:
    guard.take_back(host, begun.id)
    log = journal.load(host, begun.id)
    assert (host.read(MTU), log.state, log.end and log.end.who) == ("9000\n", "rolled back", "brctl's guard")
    assert journal.opened(host) is None


def test_what_was_confirmed_at_the_last_moment_stays(host: Machine, begun: journal.Journal) -> None:
    begun.end("done", "me", ())
    guard.take_back(host, begun.id)
    assert (host.read(MTU), journal.load(host, begun.id).state) == ("1500\n", "done")


def test_what_fails_is_tried_again(host: Machine, begun: journal.Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    write, calls = host.write, []

    def refuse_once(path: str, text: str) -> None:
        calls.append(path)
        if len(calls) == 1:
            raise OSError(16, "Device or resource busy")
        write(path, text)

    monkeypatch.setattr(host, "write", refuse_once)
    monkeypatch.setattr(guard, "_REST_S", 0.0)
    guard.take_back(host, begun.id)
    assert (host.read(MTU), calls) == ("9000\n", [MTU, MTU])


@pytest.mark.parametrize("state", ["confirming", "done", "failed"])
def test_what_is_confirmed_between_two_tries_stays(
    host: Machine, begun: journal.Journal, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    def refuse(path: str, text: str) -> None:
        raise OSError(16, "Device or resource busy")

    def confirm(_: float) -> None:
        monkeypatch.undo()
        begun.end(state, "me", ())

    monkeypatch.setattr(host, "write", refuse)
    monkeypatch.setattr(time, "sleep", confirm)
    guard.take_back(host, begun.id)
    assert (host.read(MTU), journal.load(host, begun.id).state) == ("1500\n", state)


def test_a_full_disk_does_not_hold_it_up(
    host: Machine, begun: journal.Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(guard, "_REST_S", 0.0)
    with monkeypatch.context() as patch:
        for name in ("lock", "append", "replace", "remove"):
            patch.setattr(host, name, full)
        guard.take_back(host, begun.id)
    assert host.read(MTU) == "9000\n"
    assert undo.rollback(host, None, "me").transaction.id == begun.id  # nothing is lost of it
    assert journal.load(host, begun.id).state == "rolled back"


def test_it_does_not_try_for_ever(host: Machine, begun: journal.Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: List[str] = []

    def fail(*_: Any) -> None:
        calls.append("rollback")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(undo, "rollback", fail)
    monkeypatch.setattr(guard, "_REST_S", 0.0)
    guard.take_back(host, begun.id)
    assert len(calls) == 5


def test_who_holds_the_lock_for_long_does_not_hold_it_up(
    host: Machine, begun: journal.Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "_LOCK_LIMIT_S", 0.01)
    monkeypatch.setattr(guard, "_GLANCE_S", 0.01)
    with host.lock(journal.LOCK, "one that hangs"):
        with pytest.raises(BusyError), host.lock(journal.LOCK, "another"):
            pass
        guard.take_back(host, begun.id)
    assert host.read(MTU) == "9000\n"


def test_the_process(host: Machine, begun: journal.Journal, pipe: List[int], monkeypatch: pytest.MonkeyPatch) -> None:
    os.close(pipe[1])
    monkeypatch.setattr(sys, "argv", ["-c", "search:path", "/run/pipe", begun.id, "300.0", *host.again])
    monkeypatch.setattr(detached, "opened", lambda path: pipe[0] if path == "/run/pipe" else -1)
    guard.main()
    assert (host.read(MTU), journal.load(host, begun.id).state) == ("9000\n", "rolled back")


# With the process.


def until(true: Callable[[], bool], limit_s: float = 20) -> None:
    end = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.process
def test_a_guard_whose_starter_dies(host: Machine, begun: journal.Journal) -> None:
    it = Guard(host, begun.id)
    assert host.read(MTU) == "1500\n"
    assert it._pipe
    it._pipe.close()
    until(lambda: journal.load(host, begun.id).state == "rolled back")
    assert host.read(MTU) == "9000\n"


@pytest.mark.process
def test_a_guard_that_waits_for_a_confirmation(host: Machine, begun: journal.Journal) -> None:
    it = Guard(host, begun.id)
    begun.end("unconfirmed", "me", ())
    it.wait_for_confirmation(0.5)
    until(lambda: journal.load(host, begun.id).state == "rolled back")
    assert host.read(MTU) == "9000\n"


@pytest.mark.process
def test_a_guard_that_is_not_needed(host: Machine, begun: journal.Journal) -> None:
    it = Guard(host, begun.id)
    it.release()
    it.release()  # nobody is told twice
    begun.end("done", "me", ())
    assert host.read(MTU) == "1500\n"


@pytest.mark.process
def test_no_guard_no_change(host: Machine, begun: journal.Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detached, "_READY_S", 0.1)
    host.again = ("brctl.no_such:thing",)
    with pytest.raises(detached.NotStartedError) as caught:
        Guard(host, begun.id)
    assert str(caught.value) == "it was not ready within 0.1 s"


@pytest.mark.parametrize(
    ("words", "back"),
    [("here\n", True), ("here\nhere\n", True), ("here\ndone\n", False), ("here\nhere\ndone\n", False)],
)
def test_who_says_that_he_is_there_has_time(
    host: Machine, begun: journal.Journal, pipe: List[int], words: str, back: bool
) -> None:
    os.write(pipe[1], words.encode())
    assert guard.watch(pipe[0], host, begun.id, 0.02) is back


def test_each_word_gives_time_anew(host: Machine, begun: journal.Journal, pipe: List[int]) -> None:
    def talk() -> None:
        for word in (b"here\n", b"here\n", b"here\n", b"done\n"):
            time.sleep(0.1)
            os.write(pipe[1], word)

    talking = threading.Thread(target=talk)
    talking.start()
    assert not guard.watch(pipe[0], host, begun.id, 0.3)
    talking.join()
