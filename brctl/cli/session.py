"""One run: the config found, this host named, its agent started."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
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
from ..node.request import Expected, Request
from .common import Common, common
from .errors import INCOMPLETE, CommandError
from .fleet import FleetSession, Mocks, Target, limits, parse_mocks, target, transport

if TYPE_CHECKING:
    from ..config.resolve import Config

DEFAULT_TIMEOUT_S = 60.0
"""For one node's answer. Eight GPUs without persistence mode take about 15 s to initialise."""


class Session(NamedTuple):
    """What a command needs to ask this host."""

    common: Common
    agent: LocalAgent
    target: Target
    fail_on: str
    timeout_s: float

    def ask(self, action: str, meanwhile: Callable[[], None]) -> tuple[Report, ...]:
        """This host's Report; what hinders it stands in the Report's `errors`. `meanwhile` is done while it works."""
        return (self.agent.ask(self.target.request(action), self.timeout_s, meanwhile),)


@contextmanager
def session(ctx: typer.Context) -> Iterator[Session | FleetSession]:
    """What answers: this host's agent, or those of --nodes. Raises CommandError, ConfigError.

    Without --nodes the agent starts before the config is read, and loads meanwhile; it is ended in any case.
    """
    given = common(ctx)
    if given.nodes is None:
        mock = _mocks(given).of(given.as_node)
        with LocalAgent(mock) as agent:
            yield _configured(given, agent, _open(given), _hostname(given, mock))
        return
    run = fleet(ctx)
    first = run.targets[0]
    if len(run.targets) > 1 or first.node != run.here:
        yield run
        return
    with LocalAgent(first.mock) as agent:
        yield Session(given, agent, first, run.fail_on, run.limits.answer_s)


def fleet(ctx: typer.Context) -> FleetSession:
    """The nodes of --nodes, or this host, reached as nodes are. Raises CommandError, ConfigError."""
    given = common(ctx)
    mocks = _mocks(given)
    config = _open(given)
    here = _here(given, config, _hostname(given, mocks.default))
    names = (here,) if given.nodes is None else _names(given.nodes, config)
    for spec in dict.fromkeys(mocks.others.values()):
        _hostname(given, spec)  # says what is wrong with it
    if config:
        _warn(given, config)
    return FleetSession(
        given,
        here,
        [target(name, config, mocks.of(name)) for name in names],
        Transport() if mocks.default or mocks.others else transport(given, config, here, names),
        limits(given, config, _timeout(given, config.settings.transport.command_timeout if config else None)),
        config.node(here if names == (here,) else None).diagnose.fail_on if config else "warn",
    )


def _mocks(given: Common) -> Mocks:
    return parse_mocks(choose(given.mock, "BRCTL_MOCK", None, "", str))


def _open(given: Common) -> Config | None:
    return open_config(Path(given.config) if given.config else None, registry)


def _here(given: Common, config: Config | None, hostname: str) -> str:
    """What this host is called: by its full name only where the config knows it so. Raises CommandError."""
    short = hostname.partition(".")[0]
    name = which_node(config.nodes if config else (), given.as_node, short, hostname)
    if config and given.as_node and name is None:
        raise CommandError(f"--as {given.as_node}: {config.path} has no such node", "see cluster.nodes there")
    return name or given.as_node or short


def _names(text: str, config: Config | None) -> tuple[str, ...]:
    from ..config.nodes import expand

    try:
        return config.select(text) if config else expand(text)
    except ValueError as error:
        raise CommandError(f"--nodes {text}: {error}") from None


def inventory(ctx: typer.Context) -> tuple[str, Inventory]:
    """What this host is called, and what it is, with no regard to any config. Raises CommandError."""
    given = common(ctx)
    mock = _mocks(given).of(given.as_node)
    with LocalAgent(mock) as agent:
        name = given.as_node or _hostname(given, mock).partition(".")[0]
        report = agent.ask(Request(name, "show"), _timeout(given, None))
    if report.inventory is None:
        raise CommandError(report.errors[0].message, report.errors[0].hint, INCOMPLETE)
    return name, report.inventory


def _hostname(given: Common, mock: str | None) -> str:
    """The full name of this host, or of the machine that is mocked; what is wrong with --mock is said here."""
    if not mock:
        return os.uname().nodename
    from ..mock import MockError
    from ..mock.machines import idle_faults, load

    try:
        machine = load(mock)
        for line in idle_faults(mock):
            given.warn(f"warning: {line}")
    except MockError as error:
        raise CommandError(str(error), error.hint) from None
    return (machine.read("/proc/sys/kernel/hostname") or "localhost").strip()


def _configured(given: Common, agent: LocalAgent, config: Config | None, hostname: str) -> Session:
    name = _here(given, config, hostname)
    if config is None:
        return Session(given, agent, Target(name, Expected(), (), None), "warn", _timeout(given, None))
    _warn(given, config)
    if name not in config.nodes:
        given.warn(f"warning: {config.path} has no node {name}: its cluster-wide values are used; --as NODE names it")
    timeout_s = _timeout(given, config.settings.transport.command_timeout)
    return Session(given, agent, target(name, config), config.node(name).diagnose.fail_on, timeout_s)


def _warn(given: Common, config: Config) -> None:
    for warning in config.warnings:
        given.warn(warning.show("warning"))


def _timeout(given: Common, declared: float | None) -> float:
    flag = _seconds(given.timeout) if given.timeout else None
    return choose(flag, "BRCTL_TIMEOUT", declared, DEFAULT_TIMEOUT_S, _seconds)


def _seconds(text: str) -> float:
    from ..config.units import seconds

    try:
        return seconds(text)
    except ValueError as error:
        hint = getattr(error, "context", {}).get("hint")
        raise CommandError(f"--timeout {text}: {error}", hint) from None


def _refuse_others(given: Common, name: str) -> None:
    if given.nodes not in (None, name):
        raise CommandError(f"--nodes {given.nodes}: only this host ({name}) can be reached", "run brctl on that node")
