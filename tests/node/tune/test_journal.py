"""The journal: what a record is, and what becomes of one that was cut short or is broken."""

import errno
import time
from typing import Any, List, Optional, Tuple

import pytest

from brctl.node.host.machine import Machine
from brctl.node.report import HOST, Change, Outcome
from brctl.node.request import Request, Tuning
from brctl.node.tune import Place, journal

ENTRY = journal.Entry(0, "sysctl", HOST, "a", Place("knob", "/proc/sys/a"), "1\t2\n\x00\xff", "3")


@pytest.fixture
def machine(memory: Any) -> Machine:
    files = {"/proc/sys/kernel/random/boot_id": "b-1\n"}
    return Machine({"name": "m", "recorded": False, "sources": [], "files": files}, "m", lambda: None, memory)


def begin(machine: Machine) -> journal.Journal:
    return journal.begin(machine, Request("n", "tune-apply", tune=Tuning(who="op", config_hash="c")))


def opened_id(machine: Machine) -> Optional[str]:
    log = journal.opened(machine)
    return log.begin.id if log else None


def text(machine: Machine, name: str) -> str:
    return machine.read("{}/{}.jsonl".format(journal.FOLDER, name)) or ""


def test_what_is_written_reads_back(machine: Machine) -> None:
    record = begin(machine)
    assert opened_id(machine) == record.id
    assert [record.write(ENTRY).number, record.write(ENTRY._replace(key="b")).number] == [0, 1]
    log = journal.load(machine, record.id)
    assert (log.state, log.in_flight, [entry.key for entry in log.entries]) == ("open", 1, ["a", "b"])
    assert log.entries[0] == ENTRY
    record.undone(1)
    record.end("done", "op", ())
    log = journal.load(machine, record.id)
    assert (log.state, log.in_flight, log.entries) == ("done", None, (ENTRY,))
    assert (log.told().who, log.told().boot_id, log.told().config_hash) == ("op", "b-1", "c")
    assert journal.opened(machine) is None


def test_of_one_that_was_cut_short_the_writes_are_told(machine: Machine) -> None:
    record = begin(machine)
    record.write(ENTRY._replace(before="1\t2"))
    record.write(ENTRY._replace(key="b", before=None))
    told = journal.load(machine, record.id).told()
    assert told.state == "open"
    assert [(change.key, change.before, change.live, change.reason) for change in told.changes] == [
        ("a", "1 2", "3", None),
        ("b", "absent", "3", "this may be done, in part, or not at all"),
    ]


def told(machine: Machine, *entries: journal.Entry) -> List[Tuple[str, Optional[str], Optional[str], Any]]:
    record = begin(machine)
    for entry in entries:
        record.write(entry)
    changes = journal.load(machine, record.id).told().changes
    return [(change.key, change.live, change.reason, change.effects) for change in changes]


def test_what_came_along_is_told_with_what_it_was_for(machine: Machine) -> None:
    along = ENTRY._replace(place=Place("knob", "/sys/vlan"), before="1", after="2", along=True)
    doubt = "this may be done, in part, or not at all"
    assert told(machine, along, ENTRY) == [("a", "3", doubt, ("/sys/vlan: 1 -> 2",))]
    assert told(machine, along) == [("/sys/vlan", "2", doubt, ())]  # its own turn never came
    assert told(machine, along, along._replace(place=Place("knob", "/sys/b"))) == [
        ("/sys/vlan", "2", "/sys/b: " + doubt, ("/sys/b: 1 -> 2",))
    ]


def test_what_has_many_places_is_one_change(machine: Machine) -> None:
    """Of each group of CPUs one; and a file is told by its path, as it serves many."""
    many = [ENTRY._replace(place=Place("knob", "/sys/cpu{}".format(n)), after=str(n % 2)) for n in range(4)]
    done = ENTRY._replace(place=Place("file", "/etc/x"), before=None, after="x\ny\n")
    assert told(machine, *many, done) == [
        ("a", "0, 1", None, ()),
        ("/etc/x", "4 bytes", "this may be done, in part, or not at all", ()),
    ]


RESTORED, CONFLICT = Outcome.RESTORED, Outcome.CONFLICT


@pytest.mark.parametrize(
    ("outcomes", "outcome", "reason"),
    [
        ([(RESTORED, False), (RESTORED, True)], RESTORED, None),
        ([(Outcome.OK, False), (RESTORED, True)], RESTORED, None),
        ([(RESTORED, False), (CONFLICT, True), (RESTORED, True)], CONFLICT, "/1: why 1"),
        ([(RESTORED, False), (CONFLICT, False)], CONFLICT, "/1: why 1"),
        ([(CONFLICT, False), (Outcome.REFUSED, True)], Outcome.REFUSED, "/1: why 1"),
        ([(CONFLICT, False), (RESTORED, True)], CONFLICT, "why 0"),
    ],
)
def test_the_worst_of_a_part_is_told(outcomes: Any, outcome: Outcome, reason: Optional[str]) -> None:
    found = []
    for number, (each, along) in enumerate(outcomes):
        why = "why {}".format(number) if each in (CONFLICT, Outcome.REFUSED) else None
        entry = ENTRY._replace(place=Place("knob", "/{}".format(number)), along=along)
        found.append((entry, Change("sysctl", HOST, "a", each, before="2", live="1", reason=why)))
    (change,) = journal.one_for_each_part(found)
    assert (change.outcome, change.reason) == (outcome, reason)


def test_one_that_waits_stays_open(machine: Machine) -> None:
    record = begin(machine)
    record.end("unconfirmed", "op", ())
    assert opened_id(machine) == record.id


def test_the_end_of_one_leaves_another_open(machine: Machine) -> None:
    first = begin(machine)
    first.end("done", "op", ())
    second = begin(machine)
    second.end("unconfirmed", "op", ())
    first.open_again("op", ())
    assert (journal.load(machine, first.id).state, opened_id(machine)) == ("open", second.id)
    first.end("rolled back", "op", ())
    assert opened_id(machine) == second.id
    second.end("confirming", "op", ())
    assert opened_id(machine) == second.id
    second.end("done", "op", ())
    assert opened_id(machine) is None


def test_two_in_one_second_have_two_names(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "strftime", lambda *_: "20260102-030405")
    found: List[str] = [begin(machine).id for _ in range(11)]
    assert found[:3] == ["20260102-030405", "20260102-030405-2", "20260102-030405-3"]
    machine.replace(journal.FOLDER + "/odd-a-b.jsonl", b"")
    assert journal.names(machine)[:-1] == tuple(found)  # 10 after 9


def test_a_line_that_was_cut_short_is_taken_away(machine: Machine) -> None:
    record = begin(machine)
    record.write(ENTRY)
    machine.append("{}/{}.jsonl".format(journal.FOLDER, record.id), b'{"write": {"num')
    log = journal.load(machine, record.id)
    assert (log.in_flight, len(log.entries)) == (0, 1)
    again = journal.resumed(machine, log)
    assert text(machine, record.id).endswith("}\n")
    assert again.write(ENTRY).number == 1
    assert len(journal.load(machine, record.id).entries) == 2


def test_one_that_goes_on_gives_no_number_twice(machine: Machine) -> None:
    """Else what is written after the confirmation would count as taken back, as the entry before it was."""
    record = begin(machine)
    record.write(ENTRY)
    record.write(ENTRY)
    record.undone(1)
    again = journal.resumed(machine, journal.load(machine, record.id))
    assert again.write(ENTRY).number == 2
    assert [entry.number for entry in journal.load(machine, record.id).entries] == [0, 2]
    assert [entry.number for entry in again.entries] == [0, 2]


@pytest.mark.parametrize(
    ("name", "lines", "why"),
    [
        ("none", None, "there is no transaction none"),
        ("../../etc/x", None, r"there is no transaction \.\./\.\./etc/x"),
        ("broken", b"{\n", "broken.jsonl cannot be read: "),
        ("broken", b"", "broken.jsonl cannot be read: "),
        ("broken", b'{"undone":{"number":1}}\n', "cannot be read: it does not begin with who and when"),
        ("broken", b'{"begin":{}}\n', "cannot be read: Begin: unknown"),
        ("broken", b'{"what":{}}\n', "cannot be read: 'what'"),
    ],
)
def test_what_is_no_transaction(machine: Machine, name: str, lines: Any, why: str) -> None:
    if lines is not None:
        machine.replace("{}/{}.jsonl".format(journal.FOLDER, name), lines)
    with pytest.raises(journal.JournalError, match=why):
        journal.load(machine, name)
    good = begin(machine).id
    told: List[str] = []
    logs = journal.logs(machine, lambda error: told.append(str(error)))
    assert [log.begin.id for log in logs] == [good]  # a broken one hides no other
    assert len(told) == bool(lines)  # an empty one is of a run that was killed before it began


def test_a_disk_that_is_full_when_it_begins(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(machine, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        begin(machine)
    assert journal.names(machine) == ()


def test_locked_clocks_are_those_of_this_boot(machine: Machine, memory: Any) -> None:
    place = Place("gpu", "GPU-1", "locked_clocks")
    assert journal.locked_clocks(machine, place) is None
    record = begin(machine)
    record.write(ENTRY._replace(place=place, before=None, after="1 2"))
    record.write(ENTRY)
    assert journal.locked_clocks(machine, place) == "1 2"
    assert journal.locked_clocks(machine, place._replace(name="GPU-2")) is None
    memory.write("/proc/sys/kernel/random/boot_id", "b-2\n")
    assert journal.locked_clocks(machine, place) is None


def test_a_long_value_of_ours_is_a_hash(machine: Machine) -> None:
    record = begin(machine)
    record.write(ENTRY._replace(before="y" * 70000, after="x" * 70000))
    (entry,) = journal.load(machine, record.id).entries
    assert entry.before == "y" * 70000
    assert journal.is_ours("x" * 70000, entry.after)
    assert not journal.is_ours("z" * 70000, entry.after)
    assert not journal.is_ours(None, entry.after)
    assert not journal.is_ours("3", "3")
