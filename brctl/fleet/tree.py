"""Tree mode: each node is reached through one of a few gateways, which are hops of ssh and need nothing but their sshd.

The connection to a node is still this host's own, end to end: keys, host keys and answers are no gateway's business.
So it saves this host no work (it costs a fifth more CPU: benchmarks/tree.py). It is for networks where the nodes hear
their gateways alone, and for a crowd that one jump host would refuse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import NamedTuple

from . import failure
from .command import run_all


class Ways(NamedTuple):
    via: Mapping[str, str]
    """Node -> its gateway; the others are reached from here."""
    notes: Mapping[str, str]
    """Node -> why it is not reached by the gateway that it was meant for."""


def ways(nodes: Sequence[str], gateways: Sequence[str], ssh: Sequence[str], limit_s: float) -> Ways:
    """Spread nodes evenly over gateways; those of one that does not answer go through the others, and if none does,
    from here. `ssh` is the command that reaches a gateway. Raises CommandFailedError: there is no ssh here."""
    silent = _silent(gateways, ssh, limit_s)
    there = cycle([gateway for gateway in gateways if gateway not in silent])
    via, notes = {}, {}
    for node, meant in zip((node for node in nodes if node not in gateways), cycle(gateways)):
        way = next(there, None) if meant in silent else meant
        if way:
            via[node] = way
        if meant in silent:
            instead = "another gateway" if way else "no gateway"
            notes[node] = f"reached through {instead}: {meant} does not answer: {silent[meant]}"
    return Ways(via, notes)


def _silent(gateways: Sequence[str], ssh: Sequence[str], limit_s: float) -> dict[str, str]:
    """Why which gateways cannot be used. The connections to the others are kept, so that their nodes share them."""
    outputs = run_all([[*ssh, "--", gateway, "true"] for gateway in gateways], limit_s)
    found = {}
    for gateway, output in zip(gateways, outputs, strict=True):
        if output.code is None:
            found[gateway] = f"no shell there within {limit_s:g} s"
        elif output.code != 0:
            error = failure.unreachable(output.err, output.code)
            found[gateway] = f"{error.kind}: {error.message}"
    return found
