"""The whole command tree, and the one place where errors become exit codes."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from copy import copy
from importlib import import_module
from typing import Any

import typer
import typer.main
from typer.models import CommandInfo, TyperInfo

from ..config.mistake import ConfigError
from .common import Group
from .errors import INCOMPLETE, INTERRUPTED, USAGE, CommandError, say, tell, tell_lost, tell_unforeseen

GROUPS = ("node-manager", "monitor", "tune", "diagnose", "config")
"""Each is the `app` of the module of that name."""
_NAGIOS = re.compile("(^|\0)(-[a-z]*o\0?|--output[\0=])nagios(\0|$)")
"""A command line that asks for this form, which may be too wrong to be parsed."""


class _Tree(Group):
    """The groups, each built when it is asked for: all their commands take 30 ms."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(GROUPS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in GROUPS and cmd_name not in self.commands:
            self.commands[cmd_name] = _group(cmd_name)
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in GROUPS:
            for name in GROUPS:  # what may be meant instead
                self.get_command(ctx, name)
        else:
            self.commands[args[0]] = _group(args[0], args[1:2])
        return super().resolve_command(ctx, args)


def _group(name: str, words: Sequence[str] = ()) -> Any:
    """Of a group whose command is the first of the words, that one alone: each takes a millisecond."""
    module = import_module("." + name.replace("-", "_"), __package__)
    inner = copy(module.app)
    asked = [info for info in inner.registered_commands if [_command_name(info)] == list(words)]
    inner.registered_commands = asked or inner.registered_commands
    inner.registered_groups = [] if asked else inner.registered_groups
    return typer.main.get_group_from_info(
        TyperInfo(inner, name=name), pretty_exceptions_short=True, suggest_commands=True, rich_markup_mode=None
    )


def _command_name(info: CommandInfo) -> str | None:
    return info.name or (info.callback and typer.main.get_command_name(info.callback.__name__))


app = typer.Typer(
    cls=_Tree,
    rich_markup_mode=None,  # rich would make --help twice as slow
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Keeps a GPU cluster in the state that one file declares, and says, with evidence, why it is not.",
)


def _version(ctx: typer.Context, value: bool) -> None:
    """Behind other options; else cli/__init__.py answers."""
    if value and not ctx.resilient_parsing:
        from . import print_version

        raise typer.Exit(print_version())


@app.callback()
def brctl(
    version: bool = typer.Option(
        False, "--version", help="The version, and nothing else.", callback=_version, is_eager=True
    ),
) -> None:
    """Options before the group."""


def run_app(argv: list[str]) -> int:
    """Run a command line that needs the full program; give the exit code."""
    _prepare(argv)
    try:
        return _invoke(argv or ["--help"])
    except CommandError as error:
        tell(error.what, error.hint)
        return _failed(argv, error.what, error.code)
    except ConfigError as error:
        say("\n".join(mistake.show() for mistake in error.mistakes))
        return _failed(argv, error.mistakes[0].show().partition("\n")[0].removeprefix("error: "), USAGE)
    except typer.TyperException as error:
        where = getattr(error, "ctx", None)
        tell(error.format_message(), f"see `{where.command_path} --help`" if where else None)
        return _failed(argv, error.format_message(), USAGE)
    except OSError as error:
        return tell_lost(error)
    except KeyboardInterrupt:
        tell("interrupted")
        return INTERRUPTED
    except Exception as error:
        return _failed(argv, f"{type(error).__name__}: {error}", tell_unforeseen(error, debug="--debug" in argv))


def _failed(argv: list[str], what: str, code: int) -> int:
    """The code; who asks for a monitoring plugin is told in its way that nothing is known: 2 would be critical there,
    and only stdout is looked at."""
    if not _NAGIOS.search("\0".join(argv)):
        return code
    from ..render.plugin import unknown

    try:
        print(unknown(what), flush=True)
    except OSError as error:
        return tell_lost(error)
    return INCOMPLETE


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
