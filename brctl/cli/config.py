"""brctl config: the file that says what the cluster should be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..config import open_config
from ..config.mistake import ConfigError
from .common import Command, Group, common, completion
from .errors import CLEAN, FOUND, USAGE, no_config
from .files import refuse, write

if TYPE_CHECKING:
    from ..config.resolve import Config

app = typer.Typer(cls=Group, help="The file that says what the cluster should be: cluster-config.yaml.")


@app.command(cls=Command)
def validate(
    ctx: typer.Context,
    file: Path | None = typer.Argument(
        None, metavar="FILE", help="The config; else as --config finds it.", autocompletion=completion("files")
    ),
    strict: bool = typer.Option(False, "--strict", help="Exit 1 where something is legal and surely not meant."),
) -> None:
    """Check a config: all mistakes at once, each with its place and what to write instead."""
    from .. import render

    given = common(ctx)
    form = given.form("table", "json", "yaml")
    try:
        config = _open(file or given.config)
    except ConfigError as error:
        if form == "table":
            raise
        render.mistakes(error.mistakes, (), form)
        raise typer.Exit(USAGE) from None
    if form == "table":
        for warning in config.warnings:
            given.warn(warning.show("warning"))
        render.valid(config.path, len(config.nodes), len(config.groups), len(config.warnings))
    else:
        render.mistakes((), config.warnings, form)
    raise typer.Exit(FOUND if strict and config.warnings else CLEAN)


@app.command(cls=Command)
def show(ctx: typer.Context) -> None:
    """Show every value in force, and where it comes from; with --nodes NODE, what holds for that node."""
    from .. import render
    from ..config.reference import values

    given = common(ctx)
    form = given.form("table", "json", "yaml")
    config = _open(given.config)
    names = config.select(given.nodes) if given.nodes else (None,)
    render.values([(name, values(config, name)) for name in names], form)


@app.command(cls=Command)
def init(
    ctx: typer.Context,
    file: Path | None = typer.Argument(
        None, metavar="FILE", help="Where to write it; else to stdout.", autocompletion=completion("files")
    ),
    force: bool = typer.Option(False, "--force", help="Overwrite FILE."),
) -> None:
    """Write a first config from what this host is, or the one node of --nodes; it validates, and that host passes its
    check."""
    from .. import render
    from ..config.init import text
    from ..render.headline import mocks
    from .session import inventory

    common(ctx).form("yaml")
    if file is not None:
        refuse(file, force)
    report, seen = inventory(ctx)
    written = text(seen, report.node, next(iter(mocks([report])), None))
    if file is None:
        return render.plain(written)
    write(file, written, force)
    return None


@app.command(cls=Command)
def explain(
    ctx: typer.Context,
    key: str = typer.Argument(
        metavar="KEY",
        help="As in tune.network.mtu; a section is explained with its keys.",
        autocompletion=completion("keys"),
    ),
) -> None:
    """Explain a key: what it means, what may be written, what holds without it."""
    from .. import render
    from ..config.reference import explain as look_up

    form = common(ctx).form("table", "json", "yaml")
    render.explanation(look_up(key), form)


@app.command(cls=Command)
def schema(ctx: typer.Context) -> None:
    """Print the JSON Schema of the config, for editors and other programs."""
    from .. import render
    from ..config.reference import schema as json_schema

    common(ctx).form("json")
    render.plain(json.dumps(json_schema(), indent=2) + "\n")


def _open(file: Path | str | None) -> Config:
    from ..node.diagnose.engine import registry

    config = open_config(Path(file) if file else None, registry)
    if config is None:
        raise no_config()
    return config
