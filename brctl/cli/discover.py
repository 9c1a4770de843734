"""The sources of cluster.sources, asked; and what comes of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..fleet.command import CommandFailedError
from ..fleet.discover import Discovery, Said, discovery, hosts, said, unexpected
from ..fleet.fold import ordered
from ..fleet.slurm import Slurm
from ..node.report import Report
from .common import Common
from .errors import CLEAN, FOUND, INCOMPLETE, INTERRUPTED, CommandError
from .files import read
from .fleet import FleetSession
from .scheduler import kubernetes
from .session import Session, mocked
from .verdict import interrupted

if TYPE_CHECKING:
    from ..config.resolve import Config

_LARGEST_BYTES = 16 << 20


def required(config: Config | None) -> Config:
    """Raises CommandError: there is none."""
    if config is None:
        raise CommandError("there is no config", "`brctl config init > cluster-config.yaml` writes a first one")
    return config


def ask(given: Common, config: Config) -> tuple[Said, ...]:
    """What each source says; a source that cannot be asked says why."""
    return tuple(_ask(source, config, bool(any(mocked(given)))) for source in config.settings.cluster.sources)


def all_nodes(config: Config, sources: Sequence[Said]) -> tuple[str, ...]:
    """Those of the config and those that it lacks."""
    return ordered([*config.nodes, *unexpected(sources)])


def settle(config: Config, sources: Sequence[Said], reports: Sequence[Report], apply: bool) -> tuple[Discovery, int]:
    """All of it together, the config changed if that is wanted; and an exit code. Raises ConfigError."""
    from ..config.edit import add_nodes

    more = unexpected(sources)
    ended = interrupted(reports)
    edit = add_nodes(config.path, more) if more else None
    applied = bool(edit and apply and not ended)
    if edit and applied:
        edit.apply()
    found = discovery(sources, {each.node: each for each in reports}, edit.diff() if edit else (), applied)
    if ended:
        return found, INTERRUPTED
    if found.silent or any(each.error for each in sources):
        return found, INCOMPLETE
    return found, FOUND if found.diff and not found.applied else CLEAN


def beside(run: Session | FleetSession, reports: Sequence[Report]) -> tuple[Discovery, int]:
    """The same with Reports that are there already."""
    config = required(run.config)
    return settle(config, ask(run.common, config), reports, apply=False)


def _ask(source: str, config: Config, mock: bool) -> Said:
    kind, _, path = source.partition(":")
    try:
        if kind == "config":
            return said(source, _alone(config.nodes), config.nodes)
        if kind == "hosts":
            return said(source, hosts(_read(path)), config.nodes, every=False)
        if mock:
            raise CommandFailedError("it is not asked about mocked machines")
        states = (Slurm() if kind == "slurm" else kubernetes(config)).states()
        return said(source, _alone(states), config.nodes)
    except CommandFailedError as error:
        return Said(source, (), (), (), error=error.message)


def _alone(names: Iterable[str]) -> list[tuple[str]]:
    return [(name,) for name in names]


def _read(path: str) -> str:
    try:
        data = read(Path(path), _LARGEST_BYTES)
    except CommandError as error:
        raise CommandFailedError(error.what) from None
    if data is None:
        raise CommandFailedError(f"{path} is larger than {_LARGEST_BYTES >> 20} MiB, and no hosts file is")
    return data.decode("utf-8", "replace")
