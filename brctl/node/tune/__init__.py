"""Setting: plans what one kind of tuning would take, as Steps. The engine orders, journals, writes, reads back, makes
it last and takes it back; a Setting never writes.

All that tuning changes lies in Places: a knob of the kernel, a whole file, a value of a GPU. So one journal and one way
back serve every Setting.
"""

from typing import Callable, Iterable, NamedTuple, Optional, Tuple

from ..facts import Inventory
from ..host import Host
from ..report import Change
from ..request import Expected, Wanted


class Place(NamedTuple):
    """Where one value of a machine is kept: what is journalled, written, read back and restored."""

    kind: str
    """`knob`: a file of /proc or /sys, written in place and compared by its words; `file`: a whole file, replaced
    atomically and compared byte for byte; `gpu`: a value that NVML sets."""
    name: str
    """Path, or UUID of the GPU."""
    item: str = ""
    """Of a GPU: `persistence_mode`, `power_limit` or `locked_clocks`."""


class Write(NamedTuple):
    place: Place
    value: Optional[str]
    """As the place takes it; bytes of a file as latin-1. None: absent (no file, clocks not locked)."""


class Step(NamedTuple):
    """One wanted value of one part: what plan shows, and what apply does about it."""

    change: Change
    """As it stands: ok, pending, n/a or refused."""
    live: Tuple[Write, ...] = ()
    """What makes it so now, in this order."""
    boot: Tuple[Write, ...] = ()
    """What makes it so at the next boot too; written with --persist alone, after all live writes. The engine merges
    those of one file: the last one to a place is planned on the text that the ones before it leave."""
    after: Tuple[Tuple[str, ...], ...] = ()
    """Commands that let the owner of those files know: `systemctl daemon-reload`."""
    needs: Tuple[str, ...] = ()
    """Steps (`setting subject-id key`) without which it must not be attempted."""
    management: bool = False
    """It touches the link that somebody may have come in by."""


class Scene(NamedTuple):
    """What a Setting plans from."""

    host: Host
    seen: Inventory
    want: Wanted
    expected: Expected
    persist: bool


class Setting(NamedTuple):
    """Each stands in a file of its own in settings/; the docstring of that file is its page and `tune explain`."""

    id: str
    order: int
    """Lower ones go first: gpu-persistence before limits and clocks."""
    keys: Tuple[str, ...]
    """Of the config's tune section, that it sets: `gpu.power_limit`."""
    plan: Callable[[Scene], Iterable[Step]]
    """Every Step for what `want` says of it, also for what is as wanted already; nothing where nothing is wanted."""
