"""How nodes are reached, as plain values: the config's `transport`, or what else a caller decides."""

from __future__ import annotations

from typing import NamedTuple


class TransportError(Exception):
    """No node can be reached, for a reason on this host."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


class Transport(NamedTuple):
    """docs/config.md explains the keys of the same names."""

    kind: str = "ssh"
    """`ssh`, `exec` (by `template`), or `local` (this host alone)."""
    template: tuple[str, ...] = ()
    """For exec: the command, in which %host is the node; it must hand on its arguments as they are."""
    user: str | None = None
    port: int | None = None
    proxy_jump: str | None = None
    ssh_config: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    python: str = "python3"
    sudo: bool = False
    here: str | None = None
    """The node that this host is: it is served by a child, whatever the kind."""
    gateways: tuple[str, ...] = ()
    """Where they are given, nodes are reached through them: the tree mode, when this run has enough nodes for it."""
