import errno
import threading
import time
from typing import Any, Iterator, NamedTuple, Optional

import pytest

from brctl.node import deadline
from brctl.node.deadline import HungError, calling
from brctl.node.facts import Problem
from brctl.node.probe.rows import Reading, Row, collected, problem, run_groups


class Fan(NamedTuple):
    name: str
    rpm: Optional[int] = None
    firmware: Optional[str] = None


@pytest.fixture
def never(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """An event that comes only when the test is over."""
    monkeypatch.setattr(deadline, "CALL_LIMIT_S", 0.5)
    event = threading.Event()
    yield event
    event.set()


def a_row(name: str) -> Row:
    row = Row("fans", name)
    row.value = Fan(name)
    return row


def fail(error: Exception) -> Any:
    raise error


def test_a_value_that_fails_costs_itself_alone() -> None:
    row = a_row("fan1")
    row.run(lambda row: row.fill(rpm=lambda: fail(OSError(errno.EIO, "Input/output error", "/f1/rpm")), firmware=str))
    assert collected([row]) == Reading(
        (Fan("fan1", None, ""),),
        (Problem("fans", "error", "fan1: /f1/rpm: Input/output error", "fan1", "rpm"),),
    )


def test_after_a_call_that_hangs_nothing_more_is_asked() -> None:
    row = a_row("fan1")
    row.run(lambda row: row.fill(rpm=lambda: fail(HungError("fanctl fan1", 3)), firmware=lambda: "1.0"))
    assert collected([row]) == Reading(
        (Fan("fan1"),), (Problem("fans", "hung", "fanctl fan1 did not return within 3 s", "fan1"),)
    )


def test_a_row_that_never_came_to_be_is_a_problem_or_nothing() -> None:
    broken, gone = Row("fans", "fan1"), Row("fans", "fan2")
    broken.run(lambda _: fail(KeyError("rpm")))
    gone.run(lambda _: None)
    assert collected([broken, gone]) == Reading((), (Problem("fans", "error", "fan1: 'rpm'", "fan1"),))


def test_a_thread_that_hangs_costs_its_own_row(never: threading.Event) -> None:
    def read(row: Row) -> None:
        def rpm() -> int:
            calling("read " + row.value.name)
            if row.value.name == "fan2":
                never.wait()
            return 900

        row.fill(firmware=lambda: "1.0", rpm=rpm)

    rows = [a_row("fan{}".format(number)) for number in range(1, 5)]
    run_groups([[row] for row in rows], read)
    assert collected(rows) == Reading(
        (Fan("fan1", 900, "1.0"), Fan("fan2", None, "1.0"), Fan("fan3", 900, "1.0"), Fan("fan4", 900, "1.0")),
        (Problem("fans", "hung", "read fan2 did not return within 0.5 s", "fan2"),),
    )


def test_in_a_thread_of_several_the_one_that_hangs_is_named(never: threading.Event) -> None:
    def read(row: Row) -> None:
        row.fill(rpm=lambda: never.wait() if row.value.name == "fan2" else 900)

    rows = [a_row("fan{}".format(number)) for number in range(1, 5)]
    run_groups([rows[:3], rows[3:]], read)
    reading = collected(rows)
    assert [fan.rpm for fan in reading.facts] == [900, None, None, 900]
    assert [problem.subject for problem in reading.problems] == ["fan2"]


def test_many_that_hang_cost_two_deadlines_and_a_late_one_changes_nothing(never: threading.Event) -> None:
    def read(row: Row) -> None:
        deadline.calling("read " + row.value.name)
        row.fill(rpm=lambda: never.wait(5) if row.value.name != "fan9" else 900)

    rows = [a_row("fan{}".format(number)) for number in range(1, 10)]
    began = time.monotonic()
    run_groups([[row] for row in rows], read)
    assert time.monotonic() - began < 4
    assert [problem.subject for problem in collected(rows).problems] == ["fan{}".format(n) for n in range(1, 9)]
    assert rows[8].value.rpm == 900


@pytest.mark.parametrize(
    ("error", "reason", "message"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "/fan1/rpm"), "permission", "/fan1/rpm: Permission denied"),
        (PermissionError(errno.EPERM, "Not permitted", "/x"), "permission", "fan1: /x: Not permitted"),
        (OSError("broken"), "error", "fan1: broken"),
        (ValueError("no\n number"), "error", "fan1: no number"),
        (RuntimeError(), "error", "fan1: RuntimeError"),
        (HungError("fanctl", 3), "hung", "fan1: fanctl did not return within 3 s"),
    ],
)
def test_problems_name_the_part_the_row_and_the_value(error: Exception, reason: str, message: str) -> None:
    assert problem("fans", error, "fan1", "rpm") == Problem("fans", reason, message, "fan1", "rpm")
    assert problem("fans", ValueError("no")) == Problem("fans", "error", "no")
