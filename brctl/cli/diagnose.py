"""brctl diagnose: the evidence about a machine."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import typer

from .common import Command, Group, common
from .errors import INCOMPLETE, CommandError, tell

app = typer.Typer(cls=Group, help="The evidence about a machine, also for those who cannot log in to it.")


@app.command(cls=Command)
def bundle(
    ctx: typer.Context,
    file: Path = typer.Argument(metavar="FILE", help="Where to write it; --mock FILE reads it again."),
    force: bool = typer.Option(False, "--force", help="Overwrite FILE."),
) -> None:
    """Record this host: what brctl reads of it, with serial numbers, addresses, names and secrets masked."""
    from .session import ask
    from .verdict import exit_code

    given = common(ctx)
    given.form("table")
    _refuse(file, force)
    report = ask(ctx, "bundle")
    for error in report.errors:
        tell(f"{report.node}: {error.message}", error.hint)
    if report.bundle is not None:
        _write(file, report.bundle, force)
        for line in _summary(file, report.bundle):
            given.warn(line)
    raise typer.Exit(exit_code([report], "crit", strict=False))


def _refuse(file: Path, force: bool) -> None:
    """Raises CommandError where it can be told now that FILE will not be written."""
    if file.is_dir():
        raise CommandError(f"{file} is a folder", "name a file in it")
    if os.path.lexists(file) and not force:
        raise CommandError(f"{file} exists", "--force overwrites it")
    if not os.access(file.parent, os.W_OK):
        raise CommandError(f"nothing can be written to {file.parent}", "name a file in another folder")


def _write(file: Path, text: str, force: bool) -> None:
    """The whole file or none, for its owner alone. Raises CommandError."""
    import tempfile

    try:
        descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=".bundle-")
        written = Path(name)
        try:
            with os.fdopen(descriptor, "w") as new:
                new.write(text)
                new.flush()
                os.fsync(descriptor)
            _publish(written, file, force)
        finally:
            written.unlink(missing_ok=True)
    except FileExistsError:
        raise CommandError(f"{file} exists by now", "--force overwrites it") from None
    except OSError as error:
        raise CommandError(f"cannot write {file}: {error.strerror}", code=INCOMPLETE) from None


def _publish(written: Path, file: Path, force: bool) -> None:
    """Give it its name. A link is refused where a file has come in the meantime, a rename is not. Raises OSError."""
    try:
        if not force:
            file.hardlink_to(written)
            return
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP):  # FAT and its like have no links
            raise
    written.replace(file)


def _summary(file: Path, text: str) -> tuple[str, ...]:
    plain = json.loads(text)
    gpus = len((plain["nvml"] or {}).get("gpus", ()))
    nvml = f", NVML of {gpus} GPU{'' if gpus == 1 else 's'}" if plain["nvml"] else ""
    return (
        f"{file}: {len(plain['files'])} files, {len(plain['commands'])} commands{nvml}; {len(text) // 1000} kB",
        *plain["sources"][1:],
        "look through it before you pass it on: a mask knows forms, not meanings",
    )
