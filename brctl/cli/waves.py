"""Which of the nodes that --nodes names are asked, and how many at a time: --retry-failed, --first, --batch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from .common import Common
from .errors import CommandError

if TYPE_CHECKING:
    from ..fleet.order import Order
    from ..fleet.record import Record
    from ..node.report import Report

_BATCH = re.compile("([0-9]{1,9})(%?)")


class Waves(NamedTuple):
    """As given on the command line."""

    first: int | None = None
    batch: str | None = None
    retry_failed: bool = False


class Plan(NamedTuple):
    """Who is asked, in which steps; and where it is kept who failed."""

    names: tuple[str, ...] = ()
    step: int = 0
    """Nodes of a batch; 0: all at once."""
    record: Record | None = None
    part: bool = False
    """Some of these options were given."""

    def batches(self, orders: Sequence[Order]) -> Iterator[Sequence[Order]]:
        """What is asked together."""
        step = self.step or len(orders)
        return (orders[begin : begin + step] for begin in range(0, len(orders), step))

    def note(
        self,
        given: Common,
        reports: Sequence[Report],
        failed: Callable[[Report], bool] = lambda report: bool(report.errors),
    ) -> None:
        """Keep who failed; a folder that cannot be written to hinders nobody."""
        try:
            if self.record:
                self.record.note({report.node: failed(report) for report in reports})
        except OSError as error:
            why = f"{error.filename}: {error.strerror}"
            given.warn(f"warning: which nodes failed is not kept for --retry-failed: {why}")


def plan(ctx: typer.Context, config: Path | None, mocked: bool, names: Sequence[str] | None) -> Plan | None:
    """Of the nodes that are named; None where none are. Raises CommandError: the options leave nobody to ask."""
    given: dict[str, Any] = ctx.find_root().meta
    waves = Waves(**{name: given[name] for name in Waves._fields if name in given})
    if names is None:
        for name in (name for name in Waves._fields if name in given):
            option = f"--{name.replace('_', '-')}"
            raise CommandError(
                f"{option} is about many nodes, and none are named", "name them: --nodes SET, or --nodes @all"
            )
        return None
    if waves.first is not None and waves.first < 1:
        raise CommandError(f"--first {waves.first}: one node at the least")
    from ..fleet.record import Record

    record = Record(ctx.command_path.partition(" ")[2], config, mocked)
    chosen = _failed(names, record) if waves.retry_failed else tuple(names)
    chosen = chosen[: waves.first]
    return Plan(chosen, _step(waves.batch, len(chosen)) if waves.batch else 0, record, waves != Waves())


def _failed(names: Sequence[str], record: Record) -> tuple[str, ...]:
    failed = record.failed()
    chosen = tuple(name for name in names if name in failed)
    if not chosen:
        raise CommandError(
            "--retry-failed: none of these nodes failed when this command last asked it", "ask them all without it"
        )
    return chosen


def _step(text: str, nodes: int) -> int:
    """`8`, or `10%` of the nodes, rounded up."""
    match = _BATCH.fullmatch(text)
    number = int(match.group(1)) if match else 0
    if not match or number == 0 or (match.group(2) and number > 100):
        raise CommandError(f"--batch {text}: how many nodes at a time, 8 or 10%", "1% to 100%, of those that are asked")
    return -(-nodes * number // 100) if match.group(2) else number
