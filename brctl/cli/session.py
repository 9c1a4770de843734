"""One run: the config found, this host named, its agent started."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import typer

from ..config import open_config
from ..config.find import choose, which_node
from ..fleet.local import LocalAgent
from ..node.diagnose.engine import registry
from ..node.facts import Inventory
from ..node.report import Report
from ..node.request import Expected, Override, Request
from .common import Common, common
from .errors import INCOMPLETE, CommandError

DEFAULT_TIMEOUT_S = 60.0
"""For one node's answer. Eight GPUs without persistence mode take about 15 s to initialise."""


class Session(NamedTuple):
    """What a command needs to ask this host."""

    common: Common
    agent: LocalAgent
    node: str
    expected: Expected
    overrides: Sequence[Override]
    fail_on: str
    timeout_s: float

    def ask(self, action: str, meanwhile: Callable[[], None]) -> Report:
        """This host's Report; what hinders it stands in the Report's `errors`. `meanwhile` is done while it works."""
        request = Request(self.node, action, self.expected, tuple(self.overrides))
        return self.agent.ask(request, self.timeout_s, meanwhile)


@contextmanager
def session(ctx: typer.Context) -> Iterator[Session]:
    """Start the agent, read the config while it loads, and end it in any case. Raises CommandError, ConfigError."""
    given = common(ctx)
    mock = choose(given.mock, "BRCTL_MOCK", None, "", str)
    with LocalAgent(mock) as agent:
        yield _configured(given, agent, _hostname(given, mock))


def inventory(ctx: typer.Context) -> tuple[str, Inventory]:
    """What this host is called, and what it is, with no regard to any config. Raises CommandError."""
    given = common(ctx)
    mock = choose(given.mock, "BRCTL_MOCK", None, "", str)
    with LocalAgent(mock) as agent:
        name = given.as_node or _hostname(given, mock).partition(".")[0]
        report = agent.ask(Request(name, "show"), _timeout(given, None))
    if report.inventory is None:
        raise CommandError(report.errors[0].message, report.errors[0].hint, INCOMPLETE)
    return name, report.inventory


def _hostname(given: Common, mock: str) -> str:
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


def _configured(given: Common, agent: LocalAgent, hostname: str) -> Session:
    config = open_config(Path(given.config) if given.config else None, registry)
    short = hostname.partition(".")[0]
    name = which_node(config.nodes if config else (), given.as_node, short, hostname)
    _refuse_others(given, name or given.as_node or short)
    if config is None:
        return Session(given, agent, given.as_node or short, Expected(), (), "warn", _timeout(given, None))
    for warning in config.warnings:
        given.warn(warning.show("warning"))
    if name is None and given.as_node:
        raise CommandError(f"--as {given.as_node}: {config.path} has no such node", "see cluster.nodes there")
    if name is None:
        given.warn(f"warning: {config.path} has no node {short}: its cluster-wide values are used; --as NODE names it")
    from ..config.resolve import expected, thresholds

    node = config.node(name)
    timeout_s = _timeout(given, config.settings.transport.command_timeout)
    return Session(given, agent, name or short, expected(node), thresholds(node), node.diagnose.fail_on, timeout_s)


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
