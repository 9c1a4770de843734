"""Two files of one kind, of one part: what the later one has more. Totals alone are of a life that nobody knows."""

from __future__ import annotations

from ..node.diagnose import Earlier
from ..node.facts import Inventory, Nic, blank
from . import Saved
from .stream import UnreadableError

KINDS = ("nvidia-smi", "ethtool -S")


def compared(saved: Saved, before: Saved, apart_s: float, name: str) -> tuple[Saved, Earlier]:
    """`saved`, and `before` as a look at the same machine, so many seconds earlier; `name` is how evidence calls it.

    Raises UnreadableError: they cannot be compared.
    """
    if before.kind != saved.kind:
        raise UnreadableError(f"is {before.kind}, and the other is {saved.kind}", "two of one kind are compared")
    if saved.kind not in KINDS:
        raise UnreadableError(f"is {saved.kind}, without counters that grow", f"known are {' and '.join(KINDS)}")
    later = saved._replace(seen=_at(_with_interface(saved.seen), apart_s))
    return later, Earlier(_at(_as_of(before.seen, saved.seen), 0.0), name)


def _at(seen: Inventory, at_s: float) -> Inventory:
    """As read at that time."""
    counters = seen.port_counters and tuple(one._replace(read_at_s=at_s) for one in seen.port_counters)
    gpus = seen.gpus and tuple(
        gpu._replace(health=gpu.health and gpu.health._replace(read_at_s=at_s)) for gpu in seen.gpus
    )
    return seen._replace(port_counters=counters, gpus=gpus)


def _as_of(before: Inventory, now: Inventory) -> Inventory:
    """The port that one file is about is that of the other, whatever the files are called."""
    pairs = zip(before.port_counters or (), now.port_counters or (), strict=True)
    renamed = tuple(was._replace(port=one.port, source=one.source) for was, one in pairs)
    return before._replace(port_counters=renamed or None)


def _with_interface(seen: Inventory) -> Inventory:
    """`ethtool -S` is of an interface: ports are judged, not counters of nobody."""
    nic = blank(Nic)._replace(kind="physical", mtu=0, operstate="unknown", lower=())
    nics = tuple(nic._replace(name=one.port) for one in seen.port_counters or ())
    return seen._replace(nics=nics) if nics else seen


def fallen(now: Inventory, before: Inventory) -> int:
    """How many counters of ports are less than they were."""
    old = {counter.name: counter.value for one in before.port_counters or () for counter in one.counters}
    new = [counter for one in now.port_counters or () for counter in one.counters]
    return sum(counter.value < old.get(counter.name, 0) for counter in new)
