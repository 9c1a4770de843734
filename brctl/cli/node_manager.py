"""brctl node-manager: what the nodes are, and whether they are what the config declares."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING

import typer

from .common import Command, Common, Group, common
from .errors import CLEAN, FOUND, INCOMPLETE, tell

if TYPE_CHECKING:
    from ..node.report import Report

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


@app.command(cls=Command)
def show(ctx: typer.Context, require_gpu: bool = REQUIRE_GPU) -> None:
    """Show this host: GPUs with their links and the nearest NIC of each, NICs, CPU, memory, kernel."""
    from .. import render
    from .session import session
    from .verdict import exit_code

    form = common(ctx).form("table", "json", "yaml")
    with session(ctx) as run:
        reports = run.ask("show", meanwhile=lambda: render.prepare(form))
    render.show(reports, form, run.common.verbose)
    raise typer.Exit(_finish(run.common, reports, exit_code(reports, "crit", strict=False), require_gpu))


@app.command(cls=Command)
def capabilities(ctx: typer.Context) -> None:
    """Show by what each vendor's GPUs are read, whether that was found, and what each GPU does not support."""
    from .. import render
    from .session import session
    from .verdict import exit_code

    form = common(ctx).form("table", "json", "yaml")
    with session(ctx) as run:
        reports = run.ask("show", meanwhile=lambda: render.prepare(form))
    render.capabilities(reports, form)
    raise typer.Exit(_finish(run.common, reports, exit_code(reports, "crit", strict=False), require_gpu=False))


@app.command(cls=Command)
def check(
    ctx: typer.Context,
    fail_on: FailOn | None = typer.Option(None, help="From which finding on the exit code is 1; else as configured."),
    strict: bool = STRICT,
    require_gpu: bool = REQUIRE_GPU,
) -> None:
    """Check this host against the config; where that expects nothing, siblings are compared and the odd one named."""
    from .. import render
    from .session import session
    from .verdict import exit_code

    form = common(ctx).form("table", "json", "yaml")
    with session(ctx) as run:
        reports = run.ask("check", meanwhile=lambda: render.prepare(form))
    render.check(reports, form, run.common.quiet, run.common.verbose)
    level = fail_on.value if fail_on else run.fail_on
    raise typer.Exit(_finish(run.common, reports, exit_code(reports, level, strict), require_gpu))


@app.command(cls=Command)
def clean(ctx: typer.Context) -> None:
    """Remove what brctl has left on the nodes: its agent, which it keeps there for the next time."""
    from .. import render
    from .session import fleet
    from .verdict import exit_code

    form = common(ctx).form("table", "json", "yaml")
    run = fleet(ctx)
    reports = run.ask("clean", meanwhile=lambda: render.prepare(form))
    render.notes("node-manager clean", reports, form)
    done = [report._replace(notes=()) for report in reports]  # they are its output
    raise typer.Exit(_finish(run.common, done, exit_code(reports, "crit", strict=False), require_gpu=False))


def _finish(given: Common, reports: Sequence[Report], code: int, require_gpu: bool) -> int:
    """Say what goes to stderr, and add what --require-gpu asks."""
    for report in reports:
        for error in report.errors:
            tell(f"{report.node}: {error.message}", error.hint)
        for note in report.notes:
            given.warn(f"warning: {report.node}: {clean(note)}")
        gpus = (report.inventory.gpus if report.inventory else None) or ()
        if require_gpu and code in (CLEAN, FOUND, INCOMPLETE) and all(gpu.fault for gpu in gpus):
            tell(f"{report.node}: no GPU answers, and --require-gpu was given")
            code = INCOMPLETE
    return code
