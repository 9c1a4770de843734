"""The scheduler of the config, and what is done to nodes through it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..fleet.command import CommandFailedError
from ..fleet.drain import Book, NodeState, Outcome, Scheduler, complete, drain, reason
from ..fleet.kubernetes import Kubernetes
from ..fleet.slurm import Slurm
from ..node.report import Report, Status
from .common import Common
from .errors import CLEAN, INCOMPLETE, CommandError, no_config, tell
from .session import mocked, named, this_node

if TYPE_CHECKING:
    from ..config.resolve import Config


def scheduler(given: Common, config: Config | None, delete_emptydir_data: bool = False) -> Scheduler:
    """Raises CommandError: there is none, or machines are mocked that it does not know."""
    if any(mocked(given)):
        raise CommandError("no scheduler is asked about mocked machines", "leave out --mock and $BRCTL_MOCK")
    kind = config.settings.scheduler.kind if config else "none"
    if kind == "none":
        where = f"scheduler.kind is none in {config.path}" if config else "there is no config that names a scheduler"
        raise CommandError(where, "say `scheduler: {kind: slurm}` there, or kubernetes")
    return Slurm() if kind == "slurm" else kubernetes(config, delete_emptydir_data)


def kubernetes(config: Config | None, delete_emptydir_data: bool = False) -> Kubernetes:
    """As the config names it."""
    if config is None:
        return Kubernetes(delete_emptydir_data=delete_emptydir_data)
    given = config.settings.scheduler
    return Kubernetes(given.context, given.namespace, delete_emptydir_data)


def states(given: Common, config: Config | None) -> tuple[Mapping[str, NodeState] | None, CommandFailedError | None]:
    """What the scheduler says of all nodes, None where none is configured or asked; and why it does not answer."""
    if any(mocked(given)) or config is None or config.settings.scheduler.kind == "none":
        return None, None
    try:
        return scheduler(given, config).states(), None
    except CommandFailedError as error:
        return None, error


def worded(text: str) -> str:
    """The reason as the scheduler will show it. Raises CommandError."""
    try:
        return reason(text)
    except ValueError as error:
        raise CommandError(f"--reason: {error}") from None


def nodes(given: Common, config: Config | None, most: int) -> tuple[str, ...]:
    """The nodes that are meant: those of --nodes, else this host. Raises CommandError, ConfigError."""
    if config is None:
        raise no_config()
    names = named(given, config) or (this_node(given, config),)
    if len(names) > most:
        raise CommandError(f"{len(names)} nodes at once; at most {most}", f"if you mean it: --max-nodes {len(names)}")
    return names


def act(chosen: Scheduler, reports: Sequence[Report], most: int) -> tuple[Book, int]:
    """Drain the nodes with a critical finding, without waiting and without force; what came of it, and an exit code."""
    critical = {report.node: why for report in reports for why in _verdict(report)}
    book: Book = {}
    if len(critical) > most:
        hint = f"look first, as so many at once have one cause; then --max-nodes {len(critical)}"
        tell(f"{len(critical)} nodes are critical, and none is drained: at most {most}", hint)
        return book, INCOMPLETE
    if not critical:
        return book, CLEAN
    return book, done(lambda: drain(chosen, critical, force=False, wait_s=None, book=book), book, waited=False)


def done(work: Callable[[], None], book: Mapping[str, Outcome], waited: bool) -> int:
    """Do it, say what hinders it, and give the exit code."""
    try:
        work()
    except CommandFailedError as error:
        tell(error.message, error.hint)
        return INCOMPLETE
    return CLEAN if complete(book.values(), waited) else INCOMPLETE


def _verdict(report: Report) -> list[str]:
    """The reason to drain a node: its first critical finding; a node's own text is not put before another program."""
    found = [finding for finding in report.findings if finding.status is Status.CRIT]
    return [reason(f"{finding.check}: {_plain(finding.subject.name)}") for finding in found[:1]]


def _plain(text: str) -> str:
    return "".join(letter if letter.isalnum() or letter in " ._:-" else "?" for letter in text)
