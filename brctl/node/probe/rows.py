"""What a machine has several of is read one by one: one that fails or hangs costs its own values, and no other's."""

import errno
from functools import partial
from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Tuple

from ..deadline import HungError, run_all
from ..facts import Problem


class Reading(NamedTuple):
    """A part of the machine of which some may be missing."""

    facts: Any
    """The field of Inventory."""
    problems: Tuple[Problem, ...] = ()


class Row:
    """One row of a part, filled step by step: what was read before a call failed, or never came back, remains."""

    def __init__(self, part: str, subject: Optional[str] = None) -> None:
        self.part = part
        self.subject = subject
        self.value: Any = None
        """A NamedTuple of facts; None: not even the least could be read, or it was taken away just now."""
        self.problems: List[Problem] = []
        self.is_read = False
        """`run` has come back."""

    def fill(self, **reads: Callable[[], Any]) -> None:
        """Read these fields, in this order. One that fails keeps its value; after one that hangs nothing more is asked.

        Raises HungError.
        """
        for field, read in reads.items():
            self._fill(field, read)

    def _fill(self, field: str, read: Callable[[], Any]) -> None:
        try:
            self.value = self.value._replace(**{field: read()})
        except (OSError, ValueError) as error:
            self.note(error, field)

    def note(self, error: Exception, field: Optional[str] = None) -> None:
        """That `field`, or else whatever the row lacks, could not be read."""
        self.problems.append(problem(self.part, error, self.subject, field))

    def run(self, read: Callable[["Row"], None]) -> None:
        """Let `read` fill the row. Never raises."""
        self.is_read = False
        try:
            read(self)
        except Exception as error:
            self.note(error)
        self.is_read = True


def run_groups(groups: Sequence[Sequence[Row]], read: Callable[[Row], None]) -> None:
    """Fill the rows, group by group in one thread, as starting one takes longer than reading a row.

    Where one hangs, those after it in its group are not read any more, and each group that is left gets a thread of
    its own: however many hang, the second deadline is the last.
    """
    left = list(groups)
    (outcome,) = run_all([partial(_run_while_left, left, read)])
    if not isinstance(outcome, HungError) or not left:
        return
    stuck, *others = left
    left.clear()  # should its call come back, the thread finds nothing more to do
    outcomes = run_all([partial(_run_all_of, group, read) for group in others])
    for group, late in zip([stuck, *others], [outcome, *outcomes]):
        if isinstance(late, HungError):
            next((row for row in group if not row.is_read), group[-1]).note(late)


def collected(rows: Sequence[Row]) -> Reading:
    found = tuple(row.value for row in rows if row.value is not None)
    return Reading(found, tuple(problem for row in rows for problem in row.problems))


def problem(part: str, error: Exception, subject: Optional[str] = None, field: Optional[str] = None) -> Problem:
    """Why `part`, or `field` of its row `subject`, could not be read."""
    reason = "error"
    if isinstance(error, HungError):
        reason = "hung"
    elif isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EPERM):
        reason = "permission"
    text = _text(error)
    named = subject is None or subject in text
    return Problem(part, reason, text if named else "{}: {}".format(subject, text), subject, field)


def first_line(stderr: str) -> str:
    """What a command that failed says of it."""
    return next((line.strip()[:200] for line in stderr.splitlines() if line.strip()), "failed")


def _text(error: Exception) -> str:
    """One line. OSError's own text has its number first."""
    if isinstance(error, OSError) and error.filename:
        return "{}: {}".format(error.filename, error.strerror)
    return " ".join(str(error).split()) or type(error).__name__


def _run_while_left(left: List[Sequence[Row]], read: Callable[[Row], None]) -> None:
    while left:
        _run_all_of(left[0], read)
        del left[:1]


def _run_all_of(group: Sequence[Row], read: Callable[[Row], None]) -> None:
    for row in group:
        row.run(read)
