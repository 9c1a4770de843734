"""The options that every command has, from one definition, before the group's name as well as after the command's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from ..render.clean import clean
from .errors import CommandError, say

FORMS = ("table", "json", "yaml")
"""Of output."""
MORE_FORMS = ("nagios", "markdown")
"""Of the findings of `diagnose`."""

MOST_FANOUT = 4096
"""As transport.fanout."""
_EMPTY = "is a variable of the script not set? what is not wanted is left out"


class Common(NamedTuple):
    """What was given on the command line; None where nothing was."""

    config: str | None = None
    nodes: str | None = None
    as_node: str | None = None
    fanout: int | None = None
    timeout: str | None = None
    mock: str | None = None
    output: str | None = None
    quiet: bool = False
    verbose: bool = False
    debug: bool = False

    def form(self, *allowed: str) -> str:
        """The output form: the first of those that the command has, unless --output names another."""
        if self.output is None:
            return allowed[0]
        if self.output not in allowed:
            raise CommandError(f"--output {self.output}: this command has {', '.join(allowed)}")
        return self.output

    def warn(self, text: str) -> None:
        """A line on stderr, unless --quiet was given."""
        if not self.quiet:
            say(clean(text))


def common(ctx: typer.Context) -> Common:
    """The common options of this call, wherever they stood."""
    given: dict[str, Any] = ctx.find_root().meta
    return Common(**{name: given[name] for name in Common._fields if name in given})


def _store(ctx: typer.Context, param: Any, value: Any) -> None:
    # The outer command's options are taken first: what stands nearer to the command wins.
    if value is not None and value is not False:  # a 0 is given, and refused by name
        ctx.find_root().meta[param.name] = value


def _store_fanout(ctx: typer.Context, param: Any, value: int | None) -> None:
    if value is not None and not 1 <= value <= MOST_FANOUT:
        raise CommandError(f"--fanout {value}: 1 to {MOST_FANOUT} nodes at a time")
    _store(ctx, param, value)


def completion(values: str) -> Callable[[typer.Context, list[str], str], Any]:
    """The function of that name in complete.py; it is imported when a shell asks."""

    def ask(ctx: typer.Context, args: list[str], incomplete: str) -> Any:  # noqa: ARG001
        from . import complete

        return getattr(complete, values)(ctx, incomplete)

    return ask


def _option(*names: str, metavar: str, help_text: str, values: str = "") -> TyperOption:
    return TyperOption(
        param_decls=list(names),
        metavar=metavar,
        help=help_text,
        expose_value=False,
        callback=_store,
        autocompletion=completion(values) if values else None,
    )


def _integer(*names: str, metavar: str, help_text: str, store: Callable[..., None] = _store) -> TyperOption:
    return TyperOption(
        param_decls=list(names), metavar=metavar, help=help_text, expose_value=False, callback=store, type=int
    )


def _flag(*names: str, help_text: str) -> TyperOption:
    return TyperOption(
        param_decls=list(names), is_flag=True, default=False, help=help_text, expose_value=False, callback=_store
    )


def _options() -> list[TyperOption]:
    return [
        _option("-c", "--config", metavar="FILE", help_text="The cluster's config; else $BRCTL_CONFIG, "
                "./cluster-config.yaml, /etc/brctl/cluster-config.yaml.", values="files"),
        _option("-w", "--nodes", metavar="SET", help_text="A node set; without it, this host alone.",
                values="node_sets"),
        _option("as_node", "--as", metavar="NODE", help_text="Which node this host is; else by its name.",
                values="nodes"),
        _integer("-f", "--fanout", metavar="N", help_text="How many nodes at a time.", store=_store_fanout),
        _option("--timeout", metavar="TIME", help_text="For one node's answer: 60s (the default), 2m."),
        _option("--mock", metavar="MACHINE", help_text="A machine that is not there: NAME or FILE, and faults: "
                "dgx-h100+gpu3-lost. Also $BRCTL_MOCK.", values="machines"),
        _option("-o", "--output", metavar="FORM", help_text="table (the default), json, yaml, "
                "or what else the command knows.", values="forms"),
        _flag("-q", "--quiet", help_text="Only what needs attention."),
        _flag("-v", "--verbose", help_text="All there is, with the evidence."),
        _flag("--debug", help_text="A traceback with an error."),
    ]  # fmt: skip


def _wave_options() -> list[TyperOption]:
    """What waves.py reads."""
    return [
        _flag("--retry-failed", help_text="Of these nodes, only those that failed when this command last asked them."),
        _integer("--first", metavar="N", help_text="Only the first N of these nodes: a canary."),
        _option("--batch", metavar="N|N%", help_text="So many nodes, then the next so many."),
    ]


def _names_something(param: Any) -> bool:
    """Every option, and files; what another argument may be, its command says."""
    return param.param_type_name == "option" or str(param.metavar).startswith("FILE")


class _WithCommon:
    """Adds the options to a command or group, and lists them apart in its help. An empty value is refused: it comes of
    a variable that is not set, and taken for an option that is not given it would mean another machine."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing and any(arg == "" or arg.endswith("=") for arg in args):
            self._refuse_empty(ctx, args)  # to parse twice takes a millisecond
        return super().parse_args(ctx, args)  # type: ignore[misc,no-any-return]

    def _refuse_empty(self, ctx: Any, args: list[str]) -> None:
        given, _, order = self.make_parser(ctx).parse_args(args=list(args))  # type: ignore[attr-defined]
        for param in order:
            value = given.get(param.name)
            if (value == "" or (isinstance(value, list) and "" in value)) and _names_something(param):
                option = param.param_type_name == "option"
                raise CommandError(f"{max(param.opts, key=len) if option else 'the name of FILE'} is empty", _EMPTY)

    def get_params(self, ctx: Any) -> list[Any]:
        return [*super().get_params(ctx), *_options()]  # type: ignore[misc]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        ours = {option.name for option in _options()}
        records: dict[str, list[Any]] = {"Arguments": [], "Options": [], "Common options": []}
        for param in self.get_params(ctx):
            title = "Arguments" if param.param_type_name == "argument" else "Options"
            record = param.get_help_record(ctx)
            if record:
                records["Common options" if param.name in ours else title].append(record)
        for title, rows in records.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
        if isinstance(self, TyperGroup):
            self.format_commands(ctx, formatter)


class Command(_WithCommon, TyperCommand):
    """A command with the common options."""


class FleetCommand(Command):
    """One that asks nodes, and may ask some of them, or some after others."""

    def get_params(self, ctx: Any) -> list[Any]:
        params = super().get_params(ctx)
        place = next(i for i, param in enumerate(params) if param.name in ("help", Common._fields[0]))
        return [*params[:place], *_wave_options(), *params[place:]]


class Group(_WithCommon, TyperGroup):
    """A group with the common options."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """As typer does, but the first sentence of each is wrapped, not cut."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(limit=300)) for name, command in found if command])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As typer does; a command that stands in a group is told with the group's name."""
        name = args[0]
        for group, inner in self.commands.items() if name not in self.commands else ():
            if isinstance(inner, TyperGroup) and name in inner.commands:
                raise CommandError(f"no such command '{name}'", f"did you mean `{ctx.command_path} {group} {name}`?")
        return super().resolve_command(ctx, args)
