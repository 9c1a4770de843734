"""What a host is reached by is changed with leave alone, under guard, and lasts once it was confirmed."""

import time
from typing import Any, Callable, List, Optional, Tuple

import pytest

from brctl.node import deadline
from brctl.node.host import detached
from brctl.node.host.machine import Machine
from brctl.node.report import Change, Outcome, Report, Subject
from brctl.node.tune import apply, engine, journal, management
from brctl.node.tune.places import Places

Ask = Callable[..., Report]
Load = Callable[[str], Machine]
LINK, OTHER = "ens2f0np0", "ens2f1np1"
MTU = "/sys/class/net/{}/mtu"
FILE = "/etc/netplan/90-brctl-{}.yaml".format(LINK)
WANTED = {"settings": ("nic-mtu",), "mtu": 9000, "interfaces": LINK}
HERE = "10.0.0.7 51234 10.0.0.1 22"


class Guards:
    """Stands in for the process: what it heard."""

    def __init__(self) -> None:
        self.heard: List[str] = []
        self.failure: Optional[Exception] = None
        self.dead = False

    def __call__(self, host: Any, transaction: str) -> "Guards":  # noqa: ARG002
        if self.failure:
            raise self.failure
        self.heard.append("start")
        return self

    def wait_for_confirmation(self, seconds: float) -> None:
        if self.dead:
            raise BrokenPipeError(32, "Broken pipe")
        self.heard.append("wait {:g}".format(seconds))

    def release(self) -> None:
        if self.dead:
            raise BrokenPipeError(32, "Broken pipe")
        self.heard.append("done")


@pytest.fixture
def guards(monkeypatch: pytest.MonkeyPatch) -> Guards:
    it = Guards()
    monkeypatch.setattr(apply, "Guard", it)
    return it


@pytest.fixture
def host(load: Load) -> Machine:
    return load("cpu-only")


def told(report: Report) -> List[Tuple[str, Outcome, Optional[str]]]:
    return [(change.subject.name, change.outcome, change.reason) for change in report.changes]


def states(host: Machine) -> List[str]:
    return [log.state for log in journal.logs(host)]


def test_without_leave_nothing_is_touched(ask: Ask, host: Machine, guards: Guards) -> None:
    report = ask(host, "tune-apply", **dict(WANTED, interfaces="{},{}".format(LINK, OTHER)))
    assert told(report) == [
        (LINK, Outcome.REFUSED, "this host is reached by it: give --allow-mgmt"),
        (OTHER, Outcome.NOT_ATTEMPTED, "nothing was touched: another change needs --allow-mgmt"),
    ]
    assert (guards.heard, states(host), host.read(MTU.format(OTHER))) == ([], [], "1500\n")


def test_other_links_need_neither_leave_nor_guard(ask: Ask, host: Machine, guards: Guards) -> None:
    report = ask(host, "tune-apply", **dict(WANTED, interfaces=OTHER))
    assert (told(report), guards.heard, states(host)) == ([(OTHER, Outcome.CHANGED, None)], [], ["done"])


def test_where_no_guard_could_live(ask: Ask, host: Machine, guards: Guards, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detached, "dies_with_us", lambda _: "it runs in a pod, which ends all that is in it")
    (error,) = ask(host, "tune-apply", allow_mgmt=True, **WANTED).errors
    assert error.message == (
        "what this host is reached by is left alone here: nothing would be left to take the change back, as "
        "it runs in a pod, which ends all that is in it"
    )
    assert (error.hint, guards.heard, states(host)) == ("come by ssh or the console", [], [])


def test_a_guard_that_does_not_start(ask: Ask, host: Machine, guards: Guards) -> None:
    guards.failure = detached.NotStartedError("systemd-run: no bus")
    (error,) = ask(host, "tune-apply", allow_mgmt=True, **WANTED).errors
    words = "nothing was touched: the guard that would take the change back does not start: systemd-run: no bus"
    assert (error.message, host.read(MTU.format(LINK))) == (words, "1500\n")
    assert (states(host), journal.opened(host)) == (["rolled back"], None)


def test_it_waits_and_lasts_once_it_is_confirmed(ask: Ask, host: Machine, guards: Guards) -> None:
    report = ask(host, "tune-apply", allow_mgmt=True, persist=True, confirm_within_s=90.0, **WANTED)
    assert told(report) == [(LINK, Outcome.CHANGED, None)]
    assert (report.transactions[0].state, guards.heard) == ("unconfirmed", ["start", "wait 90"])
    assert (host.read(MTU.format(LINK)), host.read(FILE)) == ("9000\n", None)
    (blocked,) = ask(host, "tune-apply", allow_mgmt=True, **WANTED).errors
    assert "waits for its confirmation" in blocked.message

    confirmed = ask(host, "tune-confirm")
    assert (confirmed.errors, confirmed.transactions[0].state, states(host)) == ((), "done", ["done"])
    assert "mtu: 9000" in (host.read(FILE) or "")
    assert told(ask(host, "tune-plan", persist=True, **WANTED)) == [(LINK, Outcome.OK, None)]
    (again,) = ask(host, "tune-confirm").errors
    assert again.message == "nothing waits for a confirmation"
    (named,) = ask(host, "tune-confirm", transaction=report.transactions[0].id).errors
    assert named.message == "{} is done".format(report.transactions[0].id)

    assert ask(host, "tune-rollback").transactions[0].state == "rolled back"
    assert (host.read(MTU.format(LINK)), host.read(FILE)) == ("1500\n", None)


def test_a_guard_that_has_died_takes_the_change_along(ask: Ask, host: Machine, guards: Guards) -> None:
    guards.dead = True
    report = ask(host, "tune-apply", allow_mgmt=True, **WANTED)
    words = "the guard, which would take it back unless it is confirmed, has ended"
    assert told(report) == [(LINK, Outcome.RESTORED, words)]
    assert (host.read(MTU.format(LINK)), states(host)) == ("1500\n", ["rolled back"])


def test_who_asked_is_gone(ask: Ask, host: Machine, guards: Guards, monkeypatch: pytest.MonkeyPatch) -> None:
    """The link may have been cut by what was just written."""
    write = host.write

    def ending(path: str, text: str) -> None:
        write(path, text)
        monkeypatch.setattr(apply, "_stopping", Stopped())

    monkeypatch.setattr(host, "write", ending)
    report = ask(host, "tune-apply", allow_mgmt=True, **WANTED)
    assert told(report) == [(LINK, Outcome.RESTORED, "the run was ended, and nobody is there to confirm it")]
    assert (host.read(MTU.format(LINK)), guards.heard, states(host)) == ("1500\n", ["start", "done"], ["rolled back"])


class Stopped:
    def is_set(self) -> bool:
        return True


@pytest.mark.parametrize("atomic", [False, True])
def test_what_fails_needs_no_confirmation(
    ask: Ask, host: Machine, guards: Guards, monkeypatch: pytest.MonkeyPatch, atomic: bool
) -> None:
    def refuse(path: str, text: str) -> None:
        raise OSError(16, "Device or resource busy", path)

    monkeypatch.setattr(host, "write", refuse)
    report = ask(host, "tune-apply", allow_mgmt=True, atomic=atomic, **WANTED)
    assert told(report) == [(LINK, Outcome.REFUSED, "in use (EBUSY)")]
    assert (guards.heard, journal.opened(host)) == (["start", "done"], None)


def test_the_connection_that_brought_the_change_proves_nothing(
    ask: Ask, host: Machine, guards: Guards, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(management, "came_by", lambda _: HERE)
    assert ask(host, "tune-apply", allow_mgmt=True, **WANTED).transactions[0].state == "unconfirmed"
    (error,) = ask(host, "tune-confirm").errors
    assert (
        error.message == "this is the connection by which the change was made, and no proof that a new one can be had"
    )
    assert (error.hint, states(host)) == ("log in anew, and confirm there", ["unconfirmed"])
    monkeypatch.setattr(management, "came_by", lambda _: HERE.replace("51234", "51240"))
    assert ask(host, "tune-confirm").transactions[0].state == "done"
    assert guards.heard == ["start", "wait 120"]


def test_a_write_that_hangs_waits_for_the_guard(
    ask: Ask, host: Machine, guards: Guards, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver that starts its channels anew takes longer than the deadline, and comes to its end."""
    write = host.write

    def slow(path: str, text: str) -> None:
        deadline.calling("write " + path)
        time.sleep(0.4)
        write(path, text)

    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.1)
    monkeypatch.setattr(host, "write", slow)
    why = "write {} did not return within 0.1 s, and may be done yet".format(MTU.format(LINK))
    report = ask(host, "tune-apply", allow_mgmt=True, **WANTED)
    assert told(report) == [(LINK, Outcome.REFUSED, why)]
    assert (guards.heard, states(host)) == (["start", "wait 120"], ["unconfirmed"])
    time.sleep(0.6)
    assert host.read(MTU.format(LINK)) == "9000\n"
    monkeypatch.undo()
    assert told(ask(host, "tune-rollback")) == [(LINK, Outcome.RESTORED, None)]
    assert host.read(MTU.format(LINK)) == "1500\n"


def test_what_cannot_be_taken_back_is_left_to_the_guard(
    ask: Ask, host: Machine, guards: Guards, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(path: str, _: str) -> None:
        deadline.calling("write " + path)
        time.sleep(0.3)

    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.1)
    monkeypatch.setattr(host, "write", hang)
    report = ask(host, "tune-apply", allow_mgmt=True, atomic=True, **WANTED)
    assert (report.changes[0].outcome, report.transactions[0].state) == (Outcome.REFUSED, "open")
    assert (guards.heard, journal.open_id(host)) == (["start", "wait 30"], report.transactions[0].id)


def test_what_does_not_last_in_the_end_is_taken_back_where_all_or_nothing_was_asked(
    ask: Ask, host: Machine, guards: Guards, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(host, "tune-apply", allow_mgmt=True, persist=True, atomic=True, **WANTED)
    replace = host.replace

    def full(path: str, data: bytes, mode: int = 0o644) -> None:
        if path.startswith("/etc"):
            raise OSError(28, "No space left on device", path)
        replace(path, data, mode)

    monkeypatch.setattr(host, "replace", full)
    report = ask(host, "tune-confirm")
    assert (report.changes[0].reason, states(host)) == ("no space left on the device", ["rolled back"])
    assert host.read(MTU.format(LINK)) == "1500\n"


def test_another_one_is_taken_back_meanwhile(ask: Ask, host: Machine, guards: Guards) -> None:
    first = ask(host, "tune-apply", **dict(WANTED, interfaces=OTHER)).transactions[0].id
    waiting = ask(host, "tune-apply", allow_mgmt=True, **WANTED).transactions[0].id
    assert ask(host, "tune-rollback", transaction=first).transactions[0].state == "rolled back"
    assert journal.open_id(host) == waiting
    assert "waits for its confirmation" in ask(host, "tune-apply", **dict(WANTED, interfaces=OTHER)).errors[0].message
    assert ask(host, "tune-confirm").transactions[0].state == "done"


def test_a_confirmation_that_was_cut_short_is_given_again(
    ask: Ask, host: Machine, guards: Guards, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(BaseException): ...

    def killed(*_: Any) -> None:
        assert states(host) == ["confirming"]
        raise KilledError

    ask(host, "tune-apply", allow_mgmt=True, persist=True, **WANTED)
    with monkeypatch.context() as patch:
        patch.setattr(Places, "write", killed)
        with pytest.raises(KilledError):
            ask(host, "tune-confirm")
    assert "waits for its confirmation" in ask(host, "tune-apply", **WANTED).errors[0].message
    assert (ask(host, "tune-confirm").transactions[0].state, states(host)) == ("done", ["done"])
    assert "mtu: 9000" in (host.read(FILE) or "")


def test_a_boot_ends_the_wait(ask: Ask, host: Machine, guards: Guards, monkeypatch: pytest.MonkeyPatch) -> None:
    name = ask(host, "tune-apply", allow_mgmt=True, **WANTED).transactions[0].id
    monkeypatch.setattr(journal, "boot_id", lambda _: "another")
    (error,) = ask(host, "tune-confirm").errors
    assert error.message == "{} is of an earlier boot, with which it went: `tune rollback` ends it".format(name)
    assert ask(host, "tune-rollback").transactions[0].state == "rolled back"


def test_what_is_said_of_a_step(host: Machine) -> None:
    """Of a plan without leave, what is so already stays so."""
    change = Change("nic-mtu", Subject("nic", "e0", "e0"), "mtu", Outcome.OK)
    step = engine.Step(change, management=True)
    assert apply._kept_off(step) == change
