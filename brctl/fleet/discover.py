"""Which nodes there are: what each source says, who is missing or unexpected, who answers."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..node.report import Report
from .fold import ordered, stem

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")


class Said(NamedTuple):
    """What one source says."""

    source: str
    """As the config writes it: `slurm`, `hosts:/etc/hosts`."""
    nodes: tuple[str, ...]
    missing: tuple[str, ...]
    """Nodes of the config that this source does not name."""
    unexpected: tuple[str, ...]
    """Nodes that it names, and the config does not."""
    passed_over: int = 0
    """Names that are like no node's: a hosts file also has printers."""
    error: str | None = None
    """Why it could not be asked; then it says nothing of anybody."""


class Discovery(NamedTuple):
    sources: tuple[Said, ...]
    answered: tuple[str, ...]
    silent: tuple[str, ...]
    """Nodes of the config, and unexpected ones, that gave no Report."""
    unexpected: tuple[str, ...]
    """Of all sources together: what the config lacks."""
    diff: tuple[str, ...] = ()
    """The change of the config that would add them: a unified diff, by lines."""
    applied: bool = False


def said(source: str, hosts: Iterable[Sequence[str]], config: Collection[str], every: bool = True) -> Said:
    """Compare what a source names with the config. `hosts`: the names of each, the preferred one first.

    A source that does not know nodes alone (`every` is False) is believed only where a name is like one of the
    config's: `gpu129` beside `gpu[001-128]`. What is no node name at all is passed over.
    """
    known = set(config)
    found = {_as_configured(names, known) for names in hosts}
    new = found - known
    stems = set(map(stem, known))
    unexpected = {name for name in new if _NAME.fullmatch(name) and (every or stem(name) in stems)}
    missing = tuple(name for name in config if name not in found)
    return Said(source, ordered(found - new | unexpected), missing, ordered(unexpected), len(new - unexpected))


def unexpected(sources: Sequence[Said]) -> tuple[str, ...]:
    """All that some source names and the config does not."""
    return ordered([name for each in sources for name in each.unexpected])


def discovery(sources: Sequence[Said], reports: Mapping[str, Report], diff: Sequence[str], applied: bool) -> Discovery:
    """All of it together; `reports` are those of the config's nodes and of the unexpected ones."""
    silent = [name for name, report in reports.items() if report.errors]
    answered = [name for name, report in reports.items() if not report.errors]
    return Discovery(tuple(sources), ordered(answered), ordered(silent), unexpected(sources), tuple(diff), applied)


def hosts(text: str) -> Iterator[tuple[str, ...]]:
    """The names on each line of a hosts file, short ones first; loopback and multicast left out."""
    for line in text.splitlines():
        address, *names = line.partition("#")[0].split() or [""]
        if names and _is_host(address):
            yield tuple(sorted(names, key=lambda name: "." in name))


def _is_host(address: str) -> bool:
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return not (parsed.is_loopback or parsed.is_multicast or parsed.is_unspecified)


def _as_configured(names: Sequence[str], known: Collection[str]) -> str:
    """The config's own name of a host: `gpu001`, where the source says gpu001.cluster.example; else the preferred."""
    shorts = (name.partition(".")[0] for name in names)
    return next((name for name in (*names, *shorts) if name in known), names[0])
