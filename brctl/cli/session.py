"""One run: the config found, this host named, its agent started."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from ..config import open_config
from ..config.find import choose, which_node
from ..fleet.local import LocalAgent
from ..fleet.transport import Transport
from ..node.diagnose.engine import registry
from ..node.facts import Inventory
from ..node.report import Report
from ..node.request import Request
from .common import Common, common
from .errors import INCOMPLETE, CommandError, say, tell
from .fleet import FleetSession, Mocks, Target, limits, parse_mocks, target, transport
from .waves import Plan, plan

if TYPE_CHECKING:
    from ..config.resolve import Config
    from ..mock.harmed import HarmedMachine

_NODE = re.compile("[A-Za-z0-9][A-Za-z0-9._-]*")
_UNKNOWN = "only its cluster-wide values were used; --as NODE names this host"
DEFAULT_TIMEOUT_S = 60.0
"""For one node's answer. Eight GPUs without persistence mode take about 15 s to initialise."""


class Session(NamedTuple):
    """What a command needs to ask this host."""

    common: Common
    config: Config | None
    targets: Sequence[Target]
    """This host alone."""
    fail_on: str
    timeout_s: float
    agent: LocalAgent
    notes: tuple[str, ...] = ()
    """For the Report."""

    def ask(
        self, action: str, meanwhile: Callable[[], None], adapt: Callable[[Request], Request] = lambda request: request
    ) -> tuple[Report, ...]:
        """This host's Report; what hinders it stands in the Report's `errors`. `meanwhile` is done while it works.

        `adapt` makes of the plain request what is asked; the time between two looks is not the node's to save.
        """
        request = adapt(self.targets[0].request(action))
        report = self.agent.ask(request, self.timeout_s + request.interval_s, meanwhile)
        return (report._replace(notes=(*self.notes, *report.notes)),)


@contextmanager
def session(ctx: typer.Context, everywhere: bool = False) -> Iterator[Session | FleetSession]:
    """What answers: this host's agent, or those of --nodes. Raises CommandError, ConfigError.

    Without --nodes the agent starts before the config is read, and loads meanwhile; it is ended in any case. With
    `everywhere` it is every node of the config, if there is one.
    """
    given = common(ctx)
    if given.nodes is None and not everywhere:
        plan(ctx, None, False, None)
        machine = _machine(mocked(given).of(given.as_node))
        with _agent(machine) as agent:
            run = _configured(given, agent, opened(given), _hostname(given, machine))
            _tell_unconfigured(ctx, run)
            yield run
        return
    many = fleet_session(ctx, everywhere)
    _tell_unconfigured(ctx, many)
    first = many.targets[0]
    if len(many.targets) > 1 or first.node != many.here or many.plan.part:
        yield many
        return
    with _agent(_machine(first.mock)) as agent:
        yield Session(given, many.config, many.targets, many.fail_on, many.limits.answer_s, agent)


def fleet_session(ctx: typer.Context, everywhere: bool = False) -> FleetSession:
    """A run over the nodes of --nodes, or those of them that the options of waves.py leave; without --nodes over this
    host, with `everywhere` over every node of the config. Raises CommandError, ConfigError."""
    given = common(ctx)
    config = opened(given)
    names = named(given, config) or (config.nodes if config and everywhere else None)
    chosen = plan(ctx, config.path if config else None, any(mocked(given)), names)
    return fleet(given, config, chosen.names if chosen else None, chosen or Plan())


def _tell_unconfigured(ctx: typer.Context, run: Session | FleetSession) -> None:
    """What a newcomer at a terminal should know; cron and programs do not ask."""
    if run.config is None and ctx.info_name == "check" and sys.stderr.isatty():
        run.common.warn("no config: siblings are compared; `brctl config init > cluster-config.yaml` writes one")


def fleet(given: Common, config: Config | None, names: Sequence[str] | None, steps: Plan = Plan()) -> FleetSession:
    """A run over these nodes, None: over this host, reached as nodes are. Raises CommandError, ConfigError."""
    mocks = mocked(given)
    here = _here(given, config, _hostname(given, _machine(mocks.default)))
    for spec in dict.fromkeys(mocks.others.values()):
        _hostname(given, _machine(spec))  # says what is wrong with it
    if config:
        _warn(given, config)
    names = names or (here,)
    return FleetSession(
        given,
        config,
        here,
        [target(name, config, mocks.of(name)) for name in names],
        Transport() if any(mocks) else transport(given, config, here, names),
        limits(given, config, _timeout(given, config.settings.transport.command_timeout if config else None)),
        config.node(here if names == (here,) else None).diagnose.fail_on if config else "warn",
        steps,
    )


def mocked(given: Common) -> Mocks:
    """The machines that stand in for real ones. Raises CommandError."""
    return parse_mocks(choose(given.mock, "BRCTL_MOCK", None, "", str))


def opened(given: Common) -> Config | None:
    """The config, if there is any. Raises ConfigError."""
    return open_config(Path(given.config) if given.config else None, registry)


def named(given: Common, config: Config | None) -> tuple[str, ...] | None:
    """The nodes that --nodes names; None where it is not given. Raises CommandError, ConfigError: a malformed or empty
    set, a node or group that the config does not know."""
    if given.nodes is None:
        return None
    from ..config.nodes import expand

    try:
        return config.select(given.nodes) if config else expand(given.nodes)
    except ValueError as error:
        hint = "without a config there are no groups" if "@" in given.nodes else None
        raise CommandError(f"--nodes {given.nodes}: {error}", hint) from None


def this_node(given: Common, config: Config) -> str:
    """The node of the config that this host is. Raises CommandError: none is."""
    name = _here(given, config, _hostname(given, _machine(mocked(given).default)))
    if name not in config.nodes:
        raise CommandError(f"{config.path} has no node {name}", "name nodes with --nodes, or this host with --as")
    return name


def _here(given: Common, config: Config | None, hostname: str) -> str:
    """What this host is called: by its full name only where the config knows it so. Raises CommandError."""
    short = hostname.partition(".")[0]
    name = which_node(config.nodes if config else (), given.as_node, short, hostname)
    if config and given.as_node and name is None:
        raise CommandError(f"--as {given.as_node}: {config.path} has no such node", "see cluster.nodes there")
    if name is None and given.as_node and not _NODE.fullmatch(given.as_node):
        raise CommandError(f"--as {given.as_node}: no node name: letters, digits, '.', '_' and '-' are allowed")
    return name or given.as_node or short


def ask(ctx: typer.Context, action: str) -> Report:
    """The Report of this host, with no regard to any config; with --nodes, of that node. Raises CommandError,
    ConfigError: there are several, or it is not known how to reach it."""
    given = common(ctx)
    run = _one(given) if given.nodes is not None else None
    if run and run.targets[0].node != run.here:
        return run.ask(action, lambda: None)[0]
    machine = _machine(mocked(given).of(run.here if run else given.as_node))
    with _agent(machine) as agent:
        name = run.here if run else _here(given, None, _hostname(given, machine))
        return agent.ask(Request(name, action), _timeout(given, None))


def _one(given: Common) -> FleetSession:
    config = opened(given)
    names = named(given, config) or ()
    if len(names) > 1:
        raise CommandError(f"--nodes {given.nodes}: {len(names)} nodes, and this is of one", "run it once for each")
    return fleet(given, config, names)


def inventory(ctx: typer.Context) -> tuple[Report, Inventory]:
    """The Report of this host, or of the node of --nodes, and what it is. Raises CommandError, ConfigError."""
    report = ask(ctx, "show")
    if report.inventory is None:
        raise CommandError(report.errors[0].message, report.errors[0].hint, INCOMPLETE)
    return report, report.inventory


def _machine(mock: str | None) -> HarmedMachine | None:
    """The machine that is mocked. Raises CommandError: there is none such."""
    if not mock:
        return None
    from ..mock import MockError
    from ..mock.machines import load

    try:
        return load(mock)
    except MockError as error:
        raise CommandError(str(error), error.hint) from None


def _agent(machine: HarmedMachine | None) -> LocalAgent:
    """Raises CommandError: this host has no room for it."""
    try:
        return LocalAgent(machine)
    except OSError as error:
        raise CommandError(f"cannot start an agent: {error.strerror}", code=INCOMPLETE) from None


def _hostname(given: Common, machine: HarmedMachine | None) -> str:
    """The full name of this host, or of the machine that is mocked; which of its faults change nothing is said here."""
    if machine is None:
        return os.uname().nodename
    from ..mock.machines import hostname

    for line in machine.idle:
        given.warn(f"warning: {line}")
    return hostname(machine)


def _configured(given: Common, agent: LocalAgent, config: Config | None, hostname: str) -> Session:
    name = _here(given, config, hostname)
    mock = mocked(given).of(given.as_node)
    if config is None:
        return Session(given, None, [target(name, None, mock)], "warn", _timeout(given, None), agent)
    _warn(given, config)
    notes = () if name in config.nodes else (f"no node of {config.path}: {_UNKNOWN}",)
    if given.quiet and notes:  # else it is printed with the other notes
        tell(f"{name}: {notes[0]}", word="warning")
    timeout_s = _timeout(given, config.settings.transport.command_timeout)
    return Session(
        given, config, [target(name, config, mock)], config.node(name).diagnose.fail_on, timeout_s, agent, notes
    )


def _warn(given: Common, config: Config) -> None:
    for warning in config.warnings if not given.quiet else ():
        say(warning.show("warning"))  # of several lines, and clean


def _timeout(given: Common, declared: float | None) -> float:
    flag = seconds("--timeout", given.timeout) if given.timeout else None
    return choose(flag, "BRCTL_TIMEOUT", declared, DEFAULT_TIMEOUT_S, lambda text: seconds("$BRCTL_TIMEOUT", text))


def seconds(option: str, text: str, zero: bool = False) -> float:
    """A duration of the command line: `30m`; 0 only where it has a meaning. Raises CommandError."""
    from ..config.units import seconds as parse

    try:
        return parse(text, zero=zero)
    except ValueError as error:
        raise CommandError(f"{option} {text}: {error}", getattr(error, "hint", None)) from None
