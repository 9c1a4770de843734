"""A path MTU black hole: small packets reach a node, large ones vanish, and ssh hangs in its key exchange or later.

From here it looks like a node that is too slow, so nodes that did not answer in time are pinged: with a small packet,
and with the largest that this host's interface takes, which may not be fragmented (ping(8), -M do).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..node.report import NodeError
from . import failure
from .command import CommandFailedError, Output, run_all

MOST = 64
"""Nodes that are pinged: what holds for so many is told often enough."""
LIMIT_S = 5.0
_SMALL, _HUGE = 56, 65507
_HEADERS = {4: 28, 6: 48}
"""Bytes of IP and ICMP (RFC 791, 8200, 792, 4443)."""
_TOO_LONG = re.compile(r"mtu ?= ?([0-9]+)", re.IGNORECASE)
_ADDRESS = re.compile(r"^PING [^\s(]+ ?\(([0-9A-Fa-f.:%a-z]+)\)", re.MULTILINE)


def black_holes(nodes: Sequence[str], ssh: Sequence[str]) -> dict[str, NodeError]:
    """Those of the nodes that large packets do not reach. `ssh` is the command that reaches a node, up to its name.

    A node behind a jump host is left out: the path to it does not begin here. Without ping there is no finding.
    """
    try:
        hosts = _hosts(nodes[:MOST], ssh)
        alive, sizes = _alive(list(hosts.values()))
        large = _ping([(host, sizes[host]) for host in alive if host in sizes], count=3)
    except CommandFailedError:
        return {}
    lost = {host for host, output in large.items() if output.code == 1 and not _TOO_LONG.search(_text(output))}
    return {node: _error(sizes[host]) for node, host in hosts.items() if host in lost}


def _hosts(nodes: Sequence[str], ssh: Sequence[str]) -> dict[str, str]:
    """Node -> the host that ssh connects to for it, where it goes there by itself."""
    found = {}
    for node, output in zip(nodes, run_all([[*ssh, "-G", "--", node] for node in nodes], LIMIT_S), strict=True):
        words = dict(line.partition(" ")[::2] for line in output.out.splitlines())
        direct = all(words.get(key, "none") == "none" for key in ("proxyjump", "proxycommand"))
        if direct and "hostname" in words:
            found[node] = words["hostname"]
    return found


def _alive(hosts: Sequence[str]) -> tuple[list[str], dict[str, int]]:
    """The hosts that small packets reach, and how much a packet to each can hold at the most."""
    small = _ping([(host, _SMALL) for host in hosts], count=2)
    sizes = {}
    for host, output in _ping([(host, _HUGE) for host in hosts], count=1).items():
        mtu, address = _TOO_LONG.search(_text(output)), _ADDRESS.search(output.out)
        if mtu and address:
            sizes[host] = int(mtu.group(1)) - _HEADERS[6 if ":" in address.group(1) else 4]
    return [host for host, output in small.items() if output.code == 0], sizes


def _ping(targets: Sequence[tuple[str, int]], count: int) -> dict[str, Output]:
    how = ["ping", "-n", "-c", str(count), "-i", "0.3", "-W", "1", "-M", "do"]
    outputs = run_all([[*how, "-s", str(size), "--", host] for host, size in targets], LIMIT_S)
    return {host: output for (host, _), output in zip(targets, outputs, strict=True)}


def _text(output: Output) -> str:
    return output.out + output.err


def _error(size: int) -> NodeError:
    return failure.fail("mtu", f"a ping of {size} bytes that may not be fragmented is lost, one of {_SMALL} comes back")
