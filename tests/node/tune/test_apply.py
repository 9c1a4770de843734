"""The engine, with Settings that are made for it: order, refusals, half writes, what lasts, the way back."""

import errno
import os
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import pytest

from brctl.node import deadline
from brctl.node.host.machine import Machine
from brctl.node.report import HOST, Change, Outcome, Report
from brctl.node.request import Request
from brctl.node.tune import Place, Scene, Setting, Step, Write, apply, engine, file_value, journal

Ask = Callable[..., Report]  # the fixture of conftest.py
FILES = {"/sys/a": "1\n", "/sys/b": "1\n", "/sys/t": "1\t2\t3\n", "/proc/sys/kernel/random/boot_id": "b\n"}


def knob(path: str, value: str) -> Write:
    return Write(Place("knob", path), value)


def file(path: str, text: Optional[str]) -> Write:
    return Write(Place("file", path), None if text is None else file_value(text))


def step(name: str, key: str, live: Sequence[Write] = (), host: Any = None, **more: Any) -> Step:
    """Pending until its writes are done."""
    held = [host.read(write.place.name) for write in live] if host else []
    left = [write for write, now in zip(live, held) if (now or "").split() != (write.value or "").split()]
    change = Change(name, HOST, key, Outcome.OK, wanted="w", live=" ".join(filter(None, held)).strip() or None)
    return Step(change, tuple(left), **more)


Plan = Callable[[Scene], Sequence[Step]]


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """These Settings, and no others: `use(one=plan, two=plan)`, in that order."""

    def used(**plans: Plan) -> None:
        found = tuple(Setting(name, "A test", number, (), plan) for number, (name, plan) in enumerate(plans.items()))
        monkeypatch.setattr(engine, "registry", lambda: found)

    return used


class Machines:
    """One machine that is loaded anew each time, as the agent of every command does."""

    def __init__(self, overlay: Any) -> None:
        self.overlay = overlay
        self.calls: List[str] = []
        self.refusing: Dict[str, int] = {}
        self.half: Dict[str, str] = {}
        self.deaf: List[str] = []
        self.commands: Dict[str, Any] = {}

    def load(self) -> Machine:
        plain = {"name": "m", "recorded": False, "sources": [], "files": dict(FILES), "commands": self.commands}
        machine = Machine(plain, "m", lambda: None, self.overlay)
        write, append, replace, run = machine.write, machine.append, machine.replace, machine.run

        def writing(path: str, text: str) -> None:
            self.calls.append("write {} {}".format(path, text.strip()))
            if path in self.half:
                write(path, self.half.pop(path) + "\n")
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
            if path in self.refusing:
                raise OSError(self.refusing[path], os.strerror(self.refusing[path]), path)
            if path not in self.deaf:
                write(path, text)

        def appending(path: str, data: bytes) -> None:
            self.calls.append("journal " + data.decode()[2:].partition('"')[0])
            append(path, data)

        def replacing(path: str, data: bytes, mode: int = 0o644) -> None:
            self.calls.append("replace " + path)
            replace(path, data, mode)

        def running(argv: Sequence[str], limit_s: float = 1.0) -> Any:
            self.calls.append("run " + " ".join(argv))
            return run(argv, limit_s)

        machine.write, machine.append = writing, appending  # type: ignore[method-assign]
        machine.replace, machine.run = replacing, running  # type: ignore[method-assign]
        machine.accelerators = lambda: ()  # type: ignore[method-assign]
        return machine

    def written(self) -> List[str]:
        return [call for call in self.calls if call.startswith(("write", "replace /etc"))]


@pytest.fixture
def machines(memory: Any) -> Machines:
    return Machines(memory)


@pytest.fixture
def tell(ask: Ask, machines: Machines) -> Ask:
    """`tell("tune-apply")`"""
    return lambda action, **values: ask(machines.load(), action, **values)


def outcomes(report: Report) -> List[Tuple[str, str]]:
    return [(change.key, change.outcome.value) for change in report.changes]


def test_each_write_is_journalled_first_and_read_back(use: Any, tell: Ask, machines: Machines) -> None:
    use(one=lambda scene: [step("one", "a", [knob("/sys/a", "2"), knob("/sys/b", "3")], scene.host)])
    done = tell("tune-apply", config_hash="abc")
    assert machines.calls == [
        "journal begin",
        "replace /var/lib/brctl/tune/open",
        "journal write",
        "write /sys/a 2",
        "journal write",
        "write /sys/b 3",
        "journal end",
    ]
    (change,) = done.changes
    assert (change.outcome, change.before, change.live) == (Outcome.CHANGED, "1\n 1", "2\n 3")
    (transaction,) = done.transactions
    assert (transaction.state, transaction.who, transaction.boot_id) == ("done", "op@admin", "b")
    assert (transaction.config_hash, transaction.changes) == ("abc", done.changes)
    assert tell("tune-history").transactions == (transaction,)
    assert tell("tune-history", transaction=transaction.id).transactions == (transaction,)


def test_what_waits_for_a_reboot_is_written_once(use: Any, tell: Ask, machines: Machines) -> None:
    """As of a GPU's ECC or MIG mode: the call succeeds, the mode of now stays, and the other waits. No run after that
    tries again (NVIDIA/gpu-operator#118, #2833)."""

    def plan(scene: Scene) -> Sequence[Step]:
        mode = Change("one", HOST, "mode", Outcome.OK, wanted="2", live="1")
        if (scene.host.read("/sys/a") or "").strip() == "2":
            return [Step(mode._replace(outcome=Outcome.PENDING_REBOOT, reason="it waits for a reboot"))]
        return [Step(mode, (knob("/sys/a", "2"),))]

    use(one=plan)
    done = tell("tune-apply")
    assert outcomes(done) == [("mode", "pending reboot")]
    assert (done.changes[0].live, done.changes[0].reason) == ("1", "it waits for a reboot")
    assert done.transactions[0].state == "done"
    written = machines.written()
    assert written == ["write /sys/a 2"]
    for action in ("tune-plan", "tune-apply", "tune-apply"):
        again = tell(action)
        assert outcomes(again) == [("mode", "pending reboot")]
        assert again.transactions == ()
    assert machines.written() == written
    assert outcomes(tell("tune-rollback")) == [("mode", "restored")]
    assert machines.load().read("/sys/a") == "1\n"


def test_nothing_pending_opens_no_transaction(use: Any, tell: Ask, machines: Machines) -> None:
    use(one=lambda scene: [step("one", "a", [knob("/sys/a", "1")], scene.host)])
    done = tell("tune-apply")
    assert (outcomes(done), done.transactions, machines.calls) == ([("a", "ok")], (), [])
    assert tell("tune-history").transactions == ()
    assert tell("tune-rollback").errors[0].message == "there is nothing to roll back"


def test_what_is_impossible_touches_nothing(use: Any, tell: Ask, machines: Machines) -> None:
    impossible = Step(Change("two", HOST, "b", Outcome.REFUSED, reason="no"))
    use(one=lambda scene: [step("one", "a", [knob("/sys/a", "2")], scene.host)], two=lambda _: [impossible])
    done = tell("tune-apply")
    assert outcomes(done) == [("a", "not attempted"), ("b", "refused")]
    assert done.changes[0].reason == "nothing was touched: b of host is impossible here"
    assert machines.calls == []


def test_a_setting_that_breaks_is_refused_by_name(use: Any, tell: Ask, machines: Machines) -> None:
    def breaks(scene: Scene) -> Iterator[Step]:
        yield step("two", "b")
        scene.host.write("/sys/b", "2")

    use(one=lambda scene: [step("one", "a", [knob("/sys/a", "2")], scene.host)], two=breaks)
    done = tell("tune-plan")
    assert outcomes(done) == [("a", "pending"), ("two", "refused")]
    assert done.changes[1].reason == "the setting itself failed: RuntimeError: a Setting plans, and never writes"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(errno.ENODATA, "is not in this recording", "/etc/x"), "/etc/x: is not in this recording"),
        (OSError(errno.EROFS, "Read-only file system"), "read-only here: in a container it is set on the host"),
    ],
)
def test_a_setting_that_cannot_look_says_at_what(use: Any, tell: Ask, error: OSError, reason: str) -> None:
    def fails(scene: Scene) -> Iterator[Step]:
        raise error

    use(one=fails)
    (change,) = tell("tune-plan").changes
    assert (change.outcome, change.reason) == (Outcome.REFUSED, reason)


def test_a_failure_stops_what_needs_it_alone(use: Any, tell: Ask, machines: Machines) -> None:
    machines.refusing["/sys/a"] = errno.EACCES
    use(
        one=lambda scene: [step("one", "a", [knob("/sys/a", "2")], scene.host)],
        two=lambda scene: [
            step("two", "b", [knob("/sys/b", "2")], scene.host, needs=("one  a",)),
            step("two", "t", [knob("/sys/t", "2 2 3")], scene.host),
        ],
    )
    done = tell("tune-apply")
    assert outcomes(done) == [("a", "refused"), ("b", "not attempted"), ("t", "changed")]
    assert done.changes[0].reason == (
        "permission denied: run as root; in a container or network namespace it is set on the host"
    )
    assert done.changes[1].reason == "a of host failed, without which it cannot be"
    assert done.transactions[0].state == "failed"
    assert [(change.key, change.live) for change in tell("tune-rollback").changes] == [("t", "1 2 3")]


def test_atomic_takes_the_others_back(use: Any, tell: Ask, machines: Machines) -> None:
    machines.refusing["/sys/b"] = errno.EINVAL
    use(
        one=lambda scene: [
            step("one", "a", [knob("/sys/a", "2")], scene.host),
            step("one", "b", [knob("/sys/b", "2")], scene.host),
        ]
    )
    done = tell("tune-apply", atomic=True)
    assert outcomes(done) == [("a", "restored"), ("b", "refused")]
    assert done.changes[0].reason == "another change failed, and --atomic was given"
    assert done.changes[1].reason == "the kernel refuses this value (EINVAL)"
    assert done.transactions[0].state == "rolled back"
    assert machines.load().read("/sys/a") == "1\n"
    assert tell("tune-rollback").errors[0].message == "there is nothing to roll back"


def test_what_the_kernel_took_half_is_put_back(use: Any, tell: Ask, machines: Machines) -> None:
    machines.half["/sys/t"] = "4\t2\t3"
    use(one=lambda scene: [step("one", "t", [knob("/sys/t", "4 5 9999999999")], scene.host)])
    done = tell("tune-apply")
    assert outcomes(done) == [("t", "refused")]
    assert machines.load().read("/sys/t") == "1\t2\t3\n"


def test_a_second_write_of_a_step_that_fails_takes_the_first_back(use: Any, tell: Ask, machines: Machines) -> None:
    machines.refusing["/sys/b"] = errno.EBUSY
    use(one=lambda scene: [step("one", "a", [knob("/sys/a", "2"), knob("/sys/b", "2")], scene.host)])
    assert tell("tune-apply").changes[0].reason == "in use (EBUSY)"
    assert machines.load().read("/sys/a") == "1\n"


def test_what_does_not_read_back_is_not_done(use: Any, tell: Ask, machines: Machines) -> None:
    machines.deaf.append("/sys/a")
    use(one=lambda scene: [step("one", "a", [knob("/sys/a", "2")], scene.host)])
    done = tell("tune-apply")
    assert (outcomes(done), done.changes[0].reason) == ([("a", "refused")], "it was set to 2, but reads 1")


def test_a_setting_that_still_wants_it_afterwards_is_told(use: Any, tell: Ask, machines: Machines) -> None:
    use(one=lambda _: [Step(Change("one", HOST, "a", Outcome.OK, "2", "1"), (knob("/sys/a", "2"),))])
    done = tell("tune-apply")
    assert (outcomes(done), done.changes[0].reason) == (
        [("a", "refused")],
        "it was written, and is not so: it reads 1",
    )
    assert done.transactions[0].state == "failed"


def test_a_part_that_is_gone_afterwards_is_told(use: Any, tell: Ask, machines: Machines) -> None:
    use(one=lambda scene: [step("one", "a", [knob("/sys/a", "2")], scene.host)][: scene.host.read("/sys/a") == "1\n"])
    assert tell("tune-apply").changes[0].reason == "it is not there any more"


# ---------------------------------------------------------------------------------------------------------------------
# What lasts


def adds(name: str, line: str, path: str = "/etc/x.conf", **more: Any) -> Plan:
    """Makes a line stand in a file that others write to as well."""

    def plan(scene: Scene) -> Sequence[Step]:
        text = scene.host.read(path) or ""
        wanted = text if line in text.splitlines() else text + line + "\n"
        assert scene.host.listdir("/etc") == (("x.conf",) if text else None)
        return [Step(Change(name, HOST, line, Outcome.OK, boot=text or None), boot=(file(path, wanted),), **more)]

    return plan


def test_two_settings_write_one_file_once(use: Any, tell: Ask, machines: Machines) -> None:
    use(one=adds("one", "a"), two=adds("two", "b"))
    assert outcomes(tell("tune-plan")) == [("a", "ok"), ("b", "ok")]
    assert outcomes(tell("tune-plan", persist=True)) == [("a", "pending"), ("b", "pending")]
    assert outcomes(tell("tune-apply", persist=True)) == [("a", "changed"), ("b", "changed")]
    assert machines.load().read_bytes("/etc/x.conf") == b"a\nb\n"
    assert machines.written() == ["replace /etc/x.conf"]
    assert outcomes(tell("tune-plan", persist=True)) == [("a", "ok"), ("b", "ok")]
    (back,) = tell("tune-rollback").changes
    assert (back.subject.name, back.key, back.before, back.live) == ("host", "/etc/x.conf", "4 bytes", "absent")
    assert machines.load().read("/etc/x.conf") is None


def test_what_failed_does_not_last(use: Any, tell: Ask, machines: Machines) -> None:
    machines.refusing["/sys/a"] = errno.ERANGE

    def one(scene: Scene) -> Sequence[Step]:
        return [step("one", "a", [knob("/sys/a", "2")], scene.host), *adds("one", "a = 2")(scene)]

    use(one=one, two=adds("two", "b"))
    done = tell("tune-apply", persist=True)
    assert outcomes(done) == [("a", "refused"), ("a = 2", "not attempted"), ("b", "changed")]
    assert done.changes[1].reason == "not made to last, as a failed"
    assert machines.load().read("/etc/x.conf") == "b\n"


def test_the_owner_of_a_file_is_told_once_and_again_at_rollback(use: Any, tell: Ask, machines: Machines) -> None:
    machines.commands = {"owner reload": {"stdout": ""}}
    use(one=adds("one", "a", after=(("owner", "reload"),)), two=adds("two", "b", after=(("owner", "reload"),)))
    tell("tune-apply", persist=True)
    assert [call for call in machines.calls if call.startswith("run owner")] == ["run owner reload"]
    machines.calls.clear()
    machines.commands = {"owner reload": {"returncode": 1, "stderr": "a\nis masked\n"}}
    (back,) = tell("tune-rollback").changes
    assert (back.outcome, back.reason) == (Outcome.REFUSED, "put back, but `owner reload` failed: is masked")
    assert machines.load().read("/etc/x.conf") is None
    machines.commands = {}
    assert outcomes(tell("tune-rollback")) == []
    assert tell("tune-rollback").errors


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"returncode": 3}, "written, but `owner reload` failed: exit status 3"),
        ({"errno": "EBUSY"}, "written, but `owner reload` failed: in use (EBUSY)"),
        ({"hung": 10.0}, "written, but `owner reload` failed: owner reload did not return within 10 s"),
    ],
)
def test_an_owner_that_does_not_listen(
    use: Any, tell: Ask, machines: Machines, answer: Dict[str, Any], reason: str
) -> None:
    machines.commands = {"owner reload": answer}
    use(one=adds("one", "a", after=(("owner", "reload"),)))
    (change,) = tell("tune-apply", persist=True).changes
    assert (change.outcome, change.reason) == (Outcome.REFUSED, reason)


def test_atomic_holds_for_what_lasts_too(use: Any, tell: Ask, machines: Machines) -> None:
    machines.commands = {"owner reload": {"returncode": 1, "stderr": "no\n"}}
    lasting = adds("two", "b", after=(("owner", "reload"),))
    use(one=lambda scene: [step("one", "a", [knob("/sys/a", "2")], scene.host)], two=lasting)
    done = tell("tune-apply", persist=True, atomic=True)
    assert outcomes(done) == [("a", "restored"), ("b", "refused")]
    assert done.transactions[0].state == "rolled back"
    assert (machines.load().read("/sys/a"), machines.load().read("/etc/x.conf")) == ("1\n", None)
    assert [call for call in machines.calls if call.startswith("run owner")] == ["run owner reload"] * 2


def refuses(machines: Machines, monkeypatch: pytest.MonkeyPatch, method: str, when: Callable[[Any, Any], bool]) -> None:
    """The disk is full for these calls."""
    load = machines.load

    def loaded() -> Machine:
        machine = load()
        call = getattr(machine, method)

        def calling(path: str, data: bytes, *more: Any) -> None:
            if when(path, data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
            call(path, data, *more)

        monkeypatch.setattr(machine, method, calling)
        return machine

    monkeypatch.setattr(machines, "load", loaded)


@pytest.mark.parametrize("atomic", [False, True])
def test_a_file_that_is_refused_after_its_live_value(
    use: Any, tell: Ask, machines: Machines, monkeypatch: pytest.MonkeyPatch, atomic: bool
) -> None:
    refuses(machines, monkeypatch, "replace", lambda path, _: path == "/etc/x.conf")

    def plan(scene: Scene) -> Sequence[Step]:
        live = [(key, (scene.host.read("/sys/" + key) or "").strip()) for key in "ab"]
        shared = (file("/etc/x.conf", "a b\n"),)
        steps = [(Change("one", HOST, key, Outcome.OK, "2", now), key, now) for key, now in live]
        return [Step(change, (knob("/sys/" + key, "2"),) if now != "2" else (), shared) for change, key, now in steps]

    use(one=plan)
    done = tell("tune-apply", persist=True, atomic=atomic)
    assert [change.live for change in done.changes] == (["1", "1"] if atomic else ["2", "2"])
    assert sorted(filter(None, (change.reason for change in done.changes))) == sorted(
        ["another change failed, and --atomic was given", "no space left on the device"]
        if atomic
        else ["it is so now, and will not last: no space left on the device", "no space left on the device"]
    )


def test_a_journal_that_cannot_take_the_end(
    use: Any, tell: Ask, machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuses(machines, monkeypatch, "append", lambda _, data: data.startswith(b'{"end"'))
    use(one=lambda scene: [step("one", "a", [knob("/sys/a", "2")], scene.host)])
    (error,) = tell("tune-apply").errors
    assert error.message == (
        "what was written stands, and the journal cannot take how it ended: no space left on the device"
    )
    assert error.hint == "make room; then `tune rollback` takes it back"
    monkeypatch.undo()


def test_a_folder_that_is_not_there_is_no_setting(
    use: Any, ask: Ask, machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: Any) -> Any:
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), "/proc/x")

    machine = machines.load()
    monkeypatch.setattr(machine, "lock", gone)
    assert ask(machine, "tune-apply").errors[0].message == "/proc/x: No such file or directory"


# ---------------------------------------------------------------------------------------------------------------------
# The way back


def test_where_the_newest_cannot_be_read_no_older_one_is_taken_back(use: Any, tell: Ask, machines: Machines) -> None:
    use(one=lambda scene: [step("one", "a", [knob("/sys/a", "2")], scene.host)])
    name = tell("tune-apply").transactions[0].id
    machines.overlay.write(journal.FOLDER + "/99990101-000000.jsonl", "broken\n")
    (error,) = tell("tune-rollback").errors
    assert error.message.startswith("/var/lib/brctl/tune/99990101-000000.jsonl cannot be read: ")
    assert error.hint == "an older one is taken back by its ID: `brctl tune rollback ID`"
    assert machines.load().read("/sys/a") == "2\n"
    history = tell("tune-history")
    assert [it.id for it in history.transactions] == [name]
    assert history.errors[0].message.startswith("/var/lib/brctl/tune/99990101-000000.jsonl cannot be read: ")
    assert outcomes(tell("tune-rollback", transaction=name)) == [("a", "restored")]


def test_what_somebody_else_changed_is_shown_and_left(use: Any, tell: Ask, machines: Machines) -> None:
    use(one=lambda scene: [step("one", "a", [knob("/sys/a", "2"), knob("/sys/b", "2")], scene.host)])
    name = tell("tune-apply").transactions[0].id
    machines.overlay.write("/sys/a", "7\n")
    back = tell("tune-rollback", transaction=name)
    assert outcomes(back) == [("a", "conflict")]
    assert (back.changes[0].before, back.changes[0].live, back.changes[0].wanted) == ("2", "7", "1")
    assert back.changes[0].reason == "/sys/a: changed since: we set 2, it is 7, before us it was 1"
    assert machines.load().read("/sys/b") == "1\n"
    assert machines.load().read("/sys/a") == "7\n"
    assert tell("tune-rollback").errors[0].message == "there is nothing to roll back"
    assert outcomes(tell("tune-rollback", transaction=name)) == [("a", "conflict")]
    machines.overlay.write("/sys/a", "2\n")  # as where a later transaction is rolled back
    assert outcomes(tell("tune-rollback", transaction=name)) == [("a", "restored")]
    assert machines.load().read("/sys/a") == "1\n"
    assert tell("tune-rollback", transaction=name).errors[0].message == "{} was rolled back already".format(name)


def test_a_disk_that_is_full_at_rollback_loses_nothing(
    use: Any, tell: Ask, machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(one=lambda scene: [step("one", "a", [knob("/sys/a", machines.wanted)], scene.host)])  # type: ignore[attr-defined]
    for value in "23":
        machines.wanted = value  # type: ignore[attr-defined]
        newest = tell("tune-apply").transactions[0].id
    with monkeypatch.context() as patch:
        refuses(machines, patch, "append", lambda _, data: b'{"end"' in data)
        assert tell("tune-rollback").errors[0].message.endswith("no space left on the device")
        assert machines.load().read("/sys/a") == "2\n"
    again = tell("tune-rollback")
    assert (again.transactions[0].id, outcomes(again)) == (newest, [("a", "ok")])
    assert machines.load().read("/sys/a") == "2\n"


def test_a_rollback_that_was_cut_short_knows_its_own_way(use: Any, tell: Ask, machines: Machines) -> None:
    """A place that was written twice, as that of a VLAN: what its first write found is right."""
    both = [knob("/sys/a", "2"), knob("/sys/a", "3")]
    use(one=lambda scene: [step("one", "a", both, scene.host)])
    tell("tune-apply")
    machines.overlay.write("/sys/a", "1\n")
    assert outcomes(tell("tune-rollback")) == [("a", "ok")]


def test_a_write_in_flight_is_written_over(use: Any, tell: Ask, machines: Machines) -> None:
    """Whoever was killed in it may be in it still."""
    record = journal.begin(machines.load(), Request("n", "tune-apply"))
    record.write(journal.Entry(0, "one", HOST, "a", Place("knob", "/sys/a"), "1", "2"))
    use(one=lambda _: [])
    assert outcomes(tell("tune-rollback")) == [("a", "ok")]
    assert machines.written() == ["write /sys/a 1"]


def test_what_may_be_done_yet_is_written_over(use: Any, tell: Ask, machines: Machines) -> None:
    """The kernel lets one in after the other: so the call that hangs does not have the last word."""
    machine = machines.load()
    record = journal.begin(machine, Request("n", "tune-apply"))
    for key in "ab":
        record.write(journal.Entry(0, "one", HOST, key, Place("knob", "/sys/" + key), "1", "2"))
    machine.write("/sys/b", "1\n")
    record.end("failed", "op", (Change("one", HOST, "a", Outcome.REFUSED), Change("one", HOST, "b", Outcome.CHANGED)))
    machines.calls.clear()
    assert outcomes(tell("tune-rollback")) == [("b", "ok"), ("a", "ok")]
    assert machines.written() == ["write /sys/a 1"]


def test_the_end_of_the_process_waits_for_a_rollback(
    use: Any, tell: Ask, machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apply, "_stopping", threading.Event())
    use(one=lambda scene: [step("one", "a", [knob("/sys/a", "2")], scene.host)])
    tell("tune-apply")
    write, began = Machine.write, threading.Event()

    def slow(self: Machine, path: str, text: str) -> None:
        began.set()
        time.sleep(0.2)
        write(self, path, text)

    monkeypatch.setattr(Machine, "write", slow)
    working = threading.Thread(target=tell, args=("tune-rollback",))
    working.start()
    assert began.wait(5)
    apply.stop(5)
    (log,) = journal.logs(machines.load())
    assert (machines.load().read("/sys/a"), log.state) == ("1\n", "rolled back")
    working.join()


def test_what_cannot_be_put_back_is_tried_again(use: Any, tell: Ask, machines: Machines) -> None:
    use(one=lambda scene: [step("one", "a", [knob("/sys/a", "2")], scene.host)])
    tell("tune-apply")
    machines.refusing["/sys/a"] = errno.EROFS
    back = tell("tune-rollback")
    assert back.changes[0].reason == "read-only here: in a container it is set on the host"
    assert back.transactions[0].state == "failed"
    machines.refusing.clear()
    machines.deaf.append("/sys/a")
    assert tell("tune-rollback").changes[0].reason == "it was set to 1, but reads 2"
    machines.deaf.clear()
    assert outcomes(tell("tune-rollback")) == [("a", "restored")]


def test_files_come_back_byte_for_byte(use: Any, tell: Ask, machines: Machines) -> None:
    machines.overlay.write("/etc/x.conf", "\udcff old \r\n")
    use(one=lambda _: [Step(Change("one", HOST, "a", Outcome.OK), boot=(file("/etc/x.conf", None),))])
    assert outcomes(tell("tune-apply", persist=True)) == [("a", "changed")]
    assert machines.load().read_bytes("/etc/x.conf") is None
    tell("tune-rollback")
    assert machines.load().read_bytes("/etc/x.conf") == b"\xff old \r\n"


def test_a_long_file_of_ours_is_known_by_its_hash(use: Any, tell: Ask, machines: Machines) -> None:
    long = "x" * 70000
    use(one=lambda _: [Step(Change("one", HOST, "a", Outcome.OK), boot=(file("/etc/x.conf", long),))])
    tell("tune-apply", persist=True)
    written = [text for path, text in machines.overlay.changed().items() if path.endswith(".jsonl")]
    assert len(written[0]) < 4000
    (back,) = tell("tune-rollback").changes
    assert (back.outcome, (back.before or "")[:7]) == (Outcome.RESTORED, "sha256:")


def test_the_newest_is_taken_back_first_but_not_what_the_boot_did(use: Any, tell: Ask, machines: Machines) -> None:
    values = iter("2345")
    use(one=lambda scene: [step("one", "a", [knob("/sys/a", machines.wanted)], scene.host)])  # type: ignore[attr-defined]
    for who in ("a", "b", "brctl-boot.service"):
        machines.wanted = next(values)  # type: ignore[attr-defined]
        tell("tune-apply", who=who)
    machines.overlay.write("/sys/a", "3\n")  # as if the boot had changed nothing
    assert [(change.before, change.live) for change in tell("tune-rollback").changes] == [("3", "2")]
    assert [(change.before, change.live) for change in tell("tune-rollback").changes] == [("2", "1")]
    assert [(log.who, log.state) for log in tell("tune-history").transactions] == [
        ("brctl-boot.service", "done"),
        ("b", "rolled back"),
        ("a", "rolled back"),
    ]


# ---------------------------------------------------------------------------------------------------------------------
# The lock, the disk, the end of the process


def test_who_holds_the_lock_is_named(use: Any, tell: Ask, machines: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    from brctl.node.host import BusyError

    def busy(path: str, holder: str) -> None:
        raise BusyError("{} for {}".format(path, holder))

    monkeypatch.setattr(machines.overlay, "lock", busy)
    use(one=lambda scene: [step("one", "a", [knob("/sys/a", "2")], scene.host)])
    (error,) = tell("tune-apply").errors
    message = "another brctl is at work: /run/brctl/tune.lock for op@admin: brctl tune apply"
    assert (error.kind, error.message) == ("busy", message)


def test_without_a_journal_nothing_is_written(use: Any, ask: Ask, machines: Machines) -> None:
    use(one=lambda scene: [step("one", "a", [knob("/sys/a", "2")], scene.host)])
    machine = machines.load()
    machine.append = _full  # type: ignore[assignment,method-assign]
    (error,) = ask(machine, "tune-apply").errors
    assert error.message == "the journal cannot be written: no space left on the device"
    assert machines.load().read("/sys/a") == "1\n"


def test_a_journal_that_ends_in_the_middle(use: Any, ask: Ask, machines: Machines) -> None:
    use(one=lambda scene: [step("one", "a", [knob("/sys/a", "2"), knob("/sys/b", "2")], scene.host)])
    machine = machines.load()
    append, left = machine.append, [2]

    def appending(path: str, data: bytes) -> None:
        left[0] -= 1
        if left[0] == -1:
            _full(path, data)
        append(path, data)

    machine.append = appending  # type: ignore[method-assign]
    (change,) = ask(machine, "tune-apply").changes
    assert change.reason == "the journal cannot be written: no space left on the device"
    assert (machines.load().read("/sys/a"), machines.load().read("/sys/b")) == ("1\n", "1\n")


def _full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_read_only_machine_says_so(use: Any, ask: Ask) -> None:
    use(one=lambda _: [])
    plain = {"name": "m", "recorded": False, "sources": [], "files": dict(FILES)}
    (error,) = ask(Machine(plain, "m", lambda: None), "tune-apply").errors
    assert error.message == "/run/brctl/tune.lock: read-only here: in a container it is set on the host"


def test_the_end_of_the_process_waits_for_the_write_and_begins_no_other(
    use: Any, tell: Ask, machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apply, "_stopping", threading.Event())

    def stopping(scene: Scene) -> Sequence[Step]:
        return [step("one", key, [knob("/sys/" + key, "2")], scene.host) for key in ("a", "b")]

    use(one=stopping)
    monkeypatch.setattr(Machines, "load", _stopped(Machines.load))
    done = tell("tune-apply", persist=True)
    assert outcomes(done) == [("a", "changed"), ("b", "not attempted")]
    assert done.changes[1].reason == "the run was ended before its turn"
    assert done.transactions[0].state == "failed"
    assert machines.written() == ["write /sys/a 2"]
    assert outcomes(tell("tune-rollback")) == [("a", "restored")]


def _stopped(load: Callable[[Machines], Machine]) -> Callable[[Machines], Machine]:
    def loaded(self: Machines) -> Machine:
        machine = load(self)
        write = machine.write

        def writing(path: str, text: str) -> None:
            write(path, text)
            apply.stop(0.0)

        machine.write = writing  # type: ignore[method-assign]
        return machine

    return loaded


def test_one_that_is_cut_short_comes_first(use: Any, tell: Ask, machines: Machines) -> None:
    use(one=lambda scene: [step("one", "a", [knob("/sys/a", "2")], scene.host)])
    name = tell("tune-apply").transactions[0].id
    machines.overlay.write(journal.MARKER, "gone\n")
    hint = "look at what it changed by hand, then remove that file"
    why = journal.MARKER + " says that one has not ended, and there is no transaction gone"
    assert tell("tune-plan").notes == (why + ": " + hint,)
    for action in ("tune-rollback", "tune-confirm"):
        assert [(error.message, error.hint) for error in tell(action).errors] == [(why, hint)]
    machines.overlay.write(journal.MARKER, name + "\n")  # it had ended
    assert tell("tune-plan").notes == ()


def test_whoever_plans_needs_no_root(use: Any, ask: Ask, machines: Machines) -> None:
    use(one=lambda scene: [step("one", "a", [knob("/sys/a", "2")], scene.host)])
    machine = machines.load()
    read = machine.read

    def reading(path: str) -> Optional[str]:
        if path.startswith(journal.FOLDER):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return read(path)

    machine.read = reading  # type: ignore[method-assign]
    plan = ask(machine, "tune-plan")
    assert (outcomes(plan), plan.notes, plan.errors) == ([("a", "pending")], (), ())


def test_a_write_that_hangs_is_named(use: Any, tell: Ask, machines: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.5)
    use(one=lambda scene: [step("one", "a", [knob("/sys/a", "2")], scene.host)])
    monkeypatch.setattr(Machines, "load", _hanging(Machines.load))
    why = "write /sys/a did not return within 0.5 s, and may be done yet"
    assert tell("tune-apply").changes[0].reason == why


@pytest.mark.parametrize("atomic", [False, True])
def test_a_write_that_is_done_after_all_is_taken_back(
    use: Any, tell: Ask, machines: Machines, monkeypatch: pytest.MonkeyPatch, atomic: bool
) -> None:
    """A driver that takes longer than the deadline: it holds the old value when it is asked, and the new one then."""
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.1)
    monkeypatch.setattr(Machines, "load", _hanging(Machines.load, 0.4))
    plan = [("a", "/sys/a"), ("b", "/sys/b")]
    use(one=lambda scene: [step("one", key, [knob(path, "2")], scene.host) for key, path in plan])
    done = tell("tune-apply", atomic=atomic)
    assert (outcomes(done)[0], done.transactions[0].state) == (("a", "refused"), "failed")
    monkeypatch.undo()
    use(one=lambda _: [])
    time.sleep(1)
    assert machines.load().read("/sys/a") == "2\n"
    assert outcomes(tell("tune-rollback"))[-1] == ("a", "restored")
    assert (machines.load().read("/sys/a"), machines.load().read("/sys/b")) == ("1\n", "1\n")


def _hanging(load: Callable[[Machines], Machine], seconds: float = 1.5) -> Callable[[Machines], Machine]:
    def loaded(self: Machines) -> Machine:
        machine = load(self)
        write = machine.write

        def writing(path: str, text: str) -> None:
            deadline.calling("write " + path)
            time.sleep(seconds)
            write(path, text)

        machine.write = writing  # type: ignore[method-assign]
        return machine

    return loaded
