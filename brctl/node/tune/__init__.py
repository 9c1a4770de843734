"""Setting: plans what one kind of tuning would take, as Steps. The engine orders, journals, writes, reads back, makes
it last and takes it back; a Setting never writes.

All that tuning changes lies in Places: a knob of the kernel, a whole file, a value of a GPU. So one journal and one way
back serve every Setting.
"""

from typing import Callable, Iterable, NamedTuple, Optional, Tuple

from ..facts import Inventory
from ..host import Host
from ..report import Change, Outcome
from ..request import Communication, Expected, Wanted


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
    along: bool = False
    """The place is another's, and comes along: a VLAN that comes down with its bond. It is told with the Change."""


class Step(NamedTuple):
    """One wanted value of one part: what plan shows, and what apply does about it."""

    change: Change
    """As it stands: ok, n/a, refused, capped or pending reboot. Of one that says ok, the engine makes pending where
    there is a write to do: `live` is not empty or, with --persist, a place of `boot` does not hold its value yet."""
    live: Tuple[Write, ...] = ()
    """What makes it so now, in this order; empty where it is so."""
    boot: Tuple[Write, ...] = ()
    """What makes it so at the next boot too, needed or not; written with --persist alone, after all live writes, for
    Settings none of whose Steps failed. Of several to one place the last one holds: each is planned on the text that
    those before it leave, as `Scene.host` gives what the boot writes of earlier Settings would leave in a file."""
    after: Tuple[Tuple[str, ...], ...] = ()
    """Commands that let the owner of those files know: `systemctl daemon-reload`. Run once each, after all writes, and
    at rollback again; one that is not installed is left out."""
    needs: Tuple[str, ...] = ()
    """Steps (`setting subject-id key`) without which it must not be attempted."""
    management: bool = False
    """It touches the link that somebody may have come in by."""


class Scene(NamedTuple):
    """What a Setting plans from."""

    host: Host
    """With the files as the boot writes of earlier Settings would leave them."""
    seen: Inventory
    want: Wanted
    expected: Expected
    persist: bool
    comm: Communication = Communication()


class Setting(NamedTuple):
    """Each stands in a file of its own in settings/; the docstring of that file is its page and `tune explain`."""

    id: str
    title: str
    """What it sets, in a few words: `GPU power limit`."""
    order: int
    """Lower ones go first: gpu-persistence before limits and clocks."""
    keys: Tuple[str, ...]
    """Of the config's tune section, that it sets: `gpu.power_limit`."""
    plan: Callable[[Scene], Iterable[Step]]
    """Every Step for what `want` says of it, also for what is as wanted already; nothing where nothing is wanted."""


def file_value(text: str) -> str:
    """A text as the value of a `file`: its UTF-8 bytes, each a character."""
    return text.encode().decode("latin-1")


def refused(change: Change, reason: str) -> Step:
    """What a Setting yields for what cannot be so, with why."""
    return Step(change._replace(outcome=Outcome.REFUSED, reason=reason))


def step_name(change: Change) -> str:
    """How a Step is named in the `needs` of another."""
    return "{} {} {}".format(change.setting, change.subject.id, change.key)
