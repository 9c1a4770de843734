"""`node-manager list`: one sweep over the nodes, or one after another until Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .. import render
from ..fleet.listing import Row, arranged, chosen, row
from .errors import CLEAN, INCOMPLETE, INTERRUPTED, CommandError, tell
from .fleet import FleetSession, compared
from .scheduler import states
from .verdict import exit_code

if TYPE_CHECKING:
    from .session import Session

DEFAULT_INTERVAL_S = 5.0
LEAST_INTERVAL_S = 1.0


class Wanted(NamedTuple):
    """Which rows, in which order."""

    filters: Sequence[str]
    sort: str

    def of(self, rows: Sequence[Row]) -> list[Row]:
        """Raises CommandError: there is no such column, or that is no filter."""
        try:
            return arranged(chosen(rows, self.filters), self.sort)
        except ValueError as error:
            raise CommandError(str(error)) from None


class Sweep(NamedTuple):
    rows: list[Row]
    code: int
    """Not of the findings: a list shows and does not judge."""
    trouble: tuple[str, str | None] | None
    """Why the scheduler does not answer, and what to do."""


def once(run: Session | FleetSession, wanted: Wanted, form: str) -> int:
    """Show the rows; give the exit code."""
    found = _sweep(run, wanted, form)
    if found.trouble:
        tell(*found.trouble)
    render.rows(found.rows, form)
    return found.code


def watch(run: FleetSession, wanted: Wanted, form: str, interval_s: float) -> int:
    """Show the rows again and again, until Ctrl-C: with it the job is done, and well. Raises CommandError."""
    if interval_s < LEAST_INTERVAL_S:
        raise CommandError(f"--interval {interval_s:g}s: {LEAST_INTERVAL_S:g}s at the least")
    with _ending_with_ctrl_c(), render.watched(form) as show:
        while True:
            began = time.monotonic()
            found = _sweep(run, wanted, form)
            if found.code == INTERRUPTED:
                break
            took = time.monotonic() - began
            show(_head(len(run.targets), took, interval_s), found.rows, found.trouble)
            run = run._replace(common=run.common._replace(quiet=True))  # the first table took the place of the progress
            time.sleep(max(0.0, interval_s - took))
    return CLEAN


def _head(nodes: int, took_s: float, interval_s: float) -> str:
    who = f"{nodes} node{'' if nodes == 1 else 's'}"
    return f"{time.strftime('%H:%M:%S')}  {who} asked in {took_s:.1f} s, every {interval_s:g} s"


def _sweep(run: Session | FleetSession, wanted: Wanted, form: str) -> Sweep:
    known, error = states(run.common, run.config)
    reports = run.ask("check", meanwhile=lambda: render.prepare(form))
    verdict = exit_code(reports, "crit", strict=False)
    code = max(INCOMPLETE if error else CLEAN, verdict if verdict in (INCOMPLETE, INTERRUPTED) else CLEAN)
    rows = [row(report, known) for report in compared(run.config, run.targets, reports)]
    return Sweep(wanted.of(rows), code, (error.message, error.hint) if error else None)


@contextlib.contextmanager
def _ending_with_ctrl_c() -> Iterator[None]:
    """What is inside ends with Ctrl-C, and the process does not count it as one that was interrupted."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGINT, before)
