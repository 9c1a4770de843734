"""The whole command tree, and the one place where errors become exit codes."""

from __future__ import annotations

import os
import sys

import typer
import typer.main

from ..config.mistake import ConfigError
from . import config, diagnose, monitor, monitor_alerts, monitor_files, node_manager, tune
from .common import Group
from .errors import INTERRUPTED, USAGE, CommandError, say, tell, tell_lost, tell_unforeseen

app = typer.Typer(
    cls=Group,
    rich_markup_mode=None,  # rich would make --help twice as slow
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Keeps a GPU cluster in the state that one file declares, and says, with evidence, why it is not.",
)
app.add_typer(node_manager.app, name="node-manager")
monitor_files.add(monitor.app)
monitor.app.add_typer(monitor_alerts.app, name="alerts")
app.add_typer(monitor.app, name="monitor")
app.add_typer(tune.app, name="tune")
app.add_typer(diagnose.app, name="diagnose")
app.add_typer(config.app, name="config")


@app.callback()
def brctl(version: bool = typer.Option(False, "--version", help="The version, and nothing else.")) -> None:
    """Options before the group; `--version` is answered in cli/__init__.py, this is its line in the help."""


def run_app(argv: list[str]) -> int:
    """Run a command line that needs the full program; give the exit code."""
    _prepare(argv)
    try:
        return _invoke(argv or ["--help"])
    except CommandError as error:
        tell(error.what, error.hint)
        return error.code
    except ConfigError as error:
        say("\n".join(mistake.show() for mistake in error.mistakes))
        return USAGE
    except typer.TyperException as error:
        where = getattr(error, "ctx", None)
        tell(error.format_message(), f"see `{where.command_path} --help`" if where else None)
        return USAGE
    except OSError as error:
        return tell_lost(error)
    except KeyboardInterrupt:
        tell("interrupted")
        return INTERRUPTED
    except Exception as error:
        return tell_unforeseen(error, debug="--debug" in argv)


def _prepare(argv: list[str]) -> None:
    """Before anything is printed. A shell that asks for completions is answered here, and that is all."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that has no such letter gets a question mark
    asked = os.environ.get("_BRCTL_COMPLETE")
    if asked:
        from .shells import answer

        os._exit(answer(typer.main.get_command(app), argv, asked))  # to end in order takes a sixth of the time


def _invoke(argv: list[str]) -> int:
    command = typer.main.get_command(app)
    try:
        with command.make_context("brctl", list(argv)) as ctx:
            command.invoke(ctx)
    except typer.Exit as end:
        sys.stdout.flush()
        return end.exit_code
    sys.stdout.flush()
    return 0
