"""brctl node-manager: what the nodes are, and whether they are what the config declares."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import typer

from .common import Command, Group, common
from .errors import CLEAN, INCOMPLETE, tell

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
        report = run.ask("show", meanwhile=lambda: render.prepare(form))
    render.show(report, form, run.common.verbose)
    raise typer.Exit(_finish(report, exit_code([report], "crit", strict=False), require_gpu))


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
        report = run.ask("check", meanwhile=lambda: render.prepare(form))
    render.check(report, form, run.common.quiet, run.common.verbose)
    level = fail_on.value if fail_on else run.fail_on
    raise typer.Exit(_finish(report, exit_code([report], level, strict), require_gpu))


def _finish(report: Report, code: int, require_gpu: bool) -> int:
    """Say what goes to stderr, and add what --require-gpu asks."""
    for error in report.errors:
        tell(f"{report.node}: {error.message}", error.hint)
    gpus = (report.inventory.gpus if report.inventory else None) or ()
    if require_gpu and code in (CLEAN, 1) and all(gpu.fault for gpu in gpus):
        tell(f"{report.node}: no GPU answers, and --require-gpu was given")
        return INCOMPLETE
    return code
