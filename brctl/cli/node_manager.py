"""brctl node-manager: what the nodes are, and whether they are what the config declares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING

import typer

from .common import Command, Common, FleetCommand, Group, common, completion
from .errors import CLEAN, INCOMPLETE, INTERRUPTED, CommandError, tell

if TYPE_CHECKING:
    from ..config.resolve import Config
    from ..fleet.discover import Discovery
    from ..fleet.drain import Book
    from ..node.report import Report
    from .fleet import FleetSession
    from .session import Session

app = typer.Typer(cls=Group, help="What the nodes are, and whether they are what the config declares.")


class FailOn(str, Enum):
    """From which finding on the exit code is 1."""

    info = "info"
    warn = "warn"
    crit = "crit"


REQUIRE_GPU = typer.Option(False, "--require-gpu", help="Exit 3 where no GPU answers.")
STRICT = typer.Option(
    False, "--strict", help="Exit 3 also for what could not be read for want of permission or the like."
)
FAIL_ON = typer.Option(None, "--fail-on", help="From which finding on the exit code is 1; else as configured.")
MAX_NODES = typer.Option(8, "--max-nodes", metavar="N", min=1, help="Touch no node where there are more.")


@app.command(cls=FleetCommand)
def show(ctx: typer.Context, require_gpu: bool = REQUIRE_GPU) -> None:
    """Show this host: GPUs with their links and the nearest NIC of each, NICs, CPU, memory, kernel."""
    from .. import render
    from .session import session
    from .verdict import exit_code

    form = common(ctx).form("table", "json", "yaml")
    with session(ctx) as run:
        reports = run.ask("show", meanwhile=lambda: render.prepare(form))
    render.show(reports, form, run.common.verbose)
    raise typer.Exit(finish(run.common, reports, form, exit_code(reports, "crit", strict=False), require_gpu))


@app.command(cls=FleetCommand)
def capabilities(ctx: typer.Context) -> None:
    """Show by what each vendor's GPUs are read, whether that was found, and what each GPU does not support."""
    from .. import render
    from .session import session
    from .verdict import exit_code

    form = common(ctx).form("table", "json", "yaml")
    with session(ctx) as run:
        reports = run.ask("show", meanwhile=lambda: render.prepare(form))
    render.capabilities(reports, form)
    raise typer.Exit(finish(run.common, reports, form, exit_code(reports, "crit", strict=False)))


@app.command(cls=FleetCommand)
def check(
    ctx: typer.Context,
    fail_on: FailOn | None = FAIL_ON,
    strict: bool = STRICT,
    require_gpu: bool = REQUIRE_GPU,
    act: bool = typer.Option(False, "--act", help="Drain nodes with a critical finding through the scheduler."),
    max_nodes: int = MAX_NODES,
    discover: bool = typer.Option(False, "--discover", help="Also say what `discover` does."),
) -> None:
    """Check this host against the config, and many nodes against each other too; the odd one is named."""
    from .. import render
    from .fleet import compared
    from .session import session
    from .verdict import exit_code, silent

    form = common(ctx).form("table", "json", "yaml")
    with session(ctx) as run:
        drain_critical = _drain_critical(run.common, run.config, max_nodes) if act else None
        reports = run.ask("check", meanwhile=lambda: render.prepare(form))
    reports = compared(run.config, run.targets, reports)
    code = exit_code(reports, fail_on.value if fail_on else run.fail_on, strict)
    if code == INTERRUPTED:  # nothing is done to nodes after Ctrl-C
        drain_critical, discover = None, False
    book, acted = drain_critical(reports) if drain_critical else ({}, CLEAN)
    found, discovered = _discovered(run, reports) if discover else (None, CLEAN)
    ended = max(finish(run.common, reports, form, code, require_gpu), acted, discovered)
    if book or not silent(run.common, form, ended):
        render.check(reports, form, run.common.quiet, run.common.verbose, tuple(book.values()), found)
    raise typer.Exit(ended)


def _drain_critical(
    given: Common, config: Config | None, max_nodes: int
) -> Callable[[Sequence[Report]], tuple[Book, int]]:
    """What --act does; that there is no scheduler is said before anybody is asked."""
    from . import scheduler

    chosen = scheduler.scheduler(given, config)
    return lambda reports: scheduler.act(chosen, reports, max_nodes)


def _discovered(run: Session | FleetSession, reports: Sequence[Report]) -> tuple[Discovery, int]:
    from .discover import beside

    return beside(run, reports)


def finish(given: Common, reports: Sequence[Report], form: str, code: int, require_gpu: bool = False) -> int:
    """Say what goes to stderr, and add what --require-gpu asks."""
    from .verdict import tell_reports

    tell_reports(reports, form, given.quiet)
    for report in reports:
        gpus = (report.inventory.gpus if report.inventory else None) or ()
        if require_gpu and not report.errors and all(gpu.fault for gpu in gpus):
            tell(f"{report.node}: no GPU answers, and --require-gpu was given")
            code = max(code, INCOMPLETE)
    return code


@app.command(cls=FleetCommand)
def clean(
    ctx: typer.Context,
    force: bool = typer.Option(False, "--force", help="Also where a tuning transaction is open."),
) -> None:
    """Remove what brctl has left on the nodes: its agent, which it keeps there for the next time."""
    from .. import render
    from .session import fleet_session
    from .verdict import exit_code

    given = common(ctx)
    form = given.form("table", "json", "yaml")
    reports = fleet_session(ctx).ask(
        "clean", lambda: render.prepare(form), lambda request: request._replace(force=force)
    )
    render.notes("node-manager clean", reports, form)
    done = [report._replace(notes=()) for report in reports]  # they are its output
    raise typer.Exit(finish(given, done, form, exit_code(reports, "crit", strict=False)))


@app.command(cls=Command)
def discover(
    ctx: typer.Context,
    yes: bool = typer.Option(False, "--yes", help="Write the change into the config."),
) -> None:
    """Ask every source (cluster.sources) which nodes there are, and the nodes whether they answer.

    What the config lacks is printed as a change of cluster.nodes. Nothing is ever taken out of the config.
    """
    from .. import render
    from . import discover as sources
    from .session import fleet, named, opened

    given = common(ctx)
    form = given.form("table", "json", "yaml")
    config = sources.required(opened(given))
    said = sources.ask(given, config)
    run = fleet(given, config, named(given, config) or sources.all_nodes(config, said))
    reports = run.ask("show", meanwhile=lambda: render.prepare(form))
    found, code = sources.settle(config, said, reports, apply=yes)
    render.discovery(found, reports, form)
    raise typer.Exit(code)


SORT = typer.Option(
    "node",
    "--sort",
    metavar="COLUMN",
    help="The column to sort by: worst, driver, ...",
    autocompletion=completion("columns"),
)
FILTERS = typer.Option(
    [],
    "--filter",
    metavar="COLUMN=PATTERN",
    help="Rows to show: state=up, worst!=ok, model=*H100*. Repeatable.",
    autocompletion=completion("filters"),
)


@app.command("list", cls=FleetCommand)
def list_(
    ctx: typer.Context,
    sort: str = SORT,
    filters: list[str] = FILTERS,
    watch: bool = typer.Option(False, "--watch", help="Ask and show again and again, until Ctrl-C."),
    interval: str | None = typer.Option(
        None, "--interval", metavar="TIME", help="With --watch, from one time to the next: 5s (the default), 1m."
    ),
) -> None:
    """List all nodes, one row each: state, the scheduler's state, GPUs, model, driver, worst finding."""
    from . import listing
    from .session import fleet_session, seconds, session

    given = common(ctx)
    form = given.form(*(("table", "json") if watch else ("table", "json", "yaml")))
    wanted = listing.Wanted(filters, sort)
    wanted.of([])  # what is wrong with them is said before anybody is asked
    if interval and not watch:
        raise CommandError("--interval says how often to --watch")
    if watch:
        interval_s = seconds("--interval", interval) if interval else listing.DEFAULT_INTERVAL_S
        raise typer.Exit(listing.watch(fleet_session(ctx, everywhere=True), wanted, form, interval_s))
    with session(ctx, everywhere=True) as run:
        raise typer.Exit(listing.once(run, wanted, form))


FORCE = typer.Option(False, "--force", help="Also where another's drain is in the way.")


@app.command(cls=Command)
def drain(
    ctx: typer.Context,
    reason: str = typer.Option(..., "--reason", metavar="TEXT", help="Why; the scheduler shows it as `brctl: TEXT`."),
    wait: str | None = typer.Option(None, "--wait", metavar="TIME", help="Wait until no job runs there: 30m."),
    force: bool = FORCE,
    max_nodes: int = MAX_NODES,
    delete_emptydir_data: bool = typer.Option(
        False, "--delete-emptydir-data", help="Kubernetes: also evict pods with an emptyDir, whose data is lost."
    ),
) -> None:
    """Take nodes from the scheduler: no new jobs there. Slurm lets jobs end; Kubernetes evicts pods."""
    from ..fleet.drain import drain as work
    from . import scheduler
    from .session import opened, seconds

    given = common(ctx)
    form = given.form("table", "json", "yaml")
    config, why, wait_s = opened(given), scheduler.worded(reason), seconds("--wait", wait) if wait else 0.0
    reasons = dict.fromkeys(scheduler.nodes(given, config, max_nodes), why)
    chosen = scheduler.scheduler(given, config, delete_emptydir_data)
    book: Book = {}
    _carry_out("drain", lambda: work(chosen, reasons, force, wait_s, book), book, form, waited=bool(wait))


@app.command(cls=Command)
def resume(ctx: typer.Context, force: bool = FORCE, max_nodes: int = MAX_NODES) -> None:
    """Give nodes back to the scheduler that `drain` took; what another took stays with them."""
    from ..fleet.drain import resume as work
    from . import scheduler
    from .session import opened

    given = common(ctx)
    form = given.form("table", "json", "yaml")
    config = opened(given)
    names, chosen = scheduler.nodes(given, config, max_nodes), scheduler.scheduler(given, config)
    book: Book = {}
    _carry_out("resume", lambda: work(chosen, names, force, book), book, form, waited=False)


def _carry_out(command: str, work: Callable[[], None], book: Book, form: str, waited: bool) -> None:
    """Do it and show what came of it, of what was done before Ctrl-C too."""
    from .. import render
    from .scheduler import done

    try:
        code = done(work, book, waited)
    except KeyboardInterrupt:
        code = INTERRUPTED
        tell("interrupted; what is listed was done, and stays")
    render.outcomes(f"node-manager {command}", tuple(book.values()), form)
    raise typer.Exit(code)
