"""brctl diagnose: the evidence about a machine."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from .common import Command, Group, common
from .errors import tell
from .files import refuse, write

app = typer.Typer(cls=Group, help="The evidence about a machine, also for those who cannot log in to it.")


@app.command(cls=Command)
def bundle(
    ctx: typer.Context,
    file: Path = typer.Argument(metavar="FILE", help="Where to write it; --mock FILE reads it again."),
    force: bool = typer.Option(False, "--force", help="Overwrite FILE."),
) -> None:
    """Record this host, or the one node of --nodes: what brctl reads of it, with serial numbers, addresses, names and
    secrets masked."""
    from .session import ask
    from .verdict import exit_code

    given = common(ctx)
    given.form("table")
    refuse(file, force)
    report = ask(ctx, "bundle")
    for error in report.errors:
        tell(f"{report.node}: {error.message}", error.hint)
    if report.bundle is not None:
        write(file, report.bundle, force, private=True)
        for line in _summary(file, report.bundle):
            given.warn(line)
    raise typer.Exit(exit_code([report], "crit", strict=False))


def _summary(file: Path, text: str) -> tuple[str, ...]:
    plain = json.loads(text)
    gpus = len((plain["nvml"] or {}).get("gpus", ()))
    nvml = f", NVML of {gpus} GPU{'' if gpus == 1 else 's'}" if plain["nvml"] else ""
    return (
        f"{file}: {len(plain['files'])} files, {len(plain['commands'])} commands{nvml}; {len(text) // 1000} kB",
        *plain["sources"][1:],
        "look through it before you pass it on: a mask knows forms, not meanings",
    )
