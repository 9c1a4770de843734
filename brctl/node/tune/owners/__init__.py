"""Who brings a link up at boot, which MTU it gives it then, and what has to stand in its files for another.

One file for each owner, with `find(draft, link)`; the draft is the host with the
files as they will be. The owner that has the link now keeps the MTU, and no other; any
other that names one too is warned of.
"""

from typing import Callable, NamedTuple, Optional, Tuple

from .. import Place, Write
from ..foreseen import Foreseen
from ..links import Link


class Kept(NamedTuple):
    """What makes an MTU last."""

    writes: Tuple[Write, ...]
    after: Tuple[Tuple[str, ...], ...] = ()
    """Commands that let the owner know, none of which takes the link down."""
    effects: Tuple[str, ...] = ()
    at_once: Tuple[Tuple[str, ...], ...] = ()
    """Such commands that touch the link: only for one that is given that MTU now, too."""


class Claim(NamedTuple):
    """What one owner says of one link."""

    owner: str
    has_it: bool
    """It brings the link up; False: it would only name an MTU for it."""
    mtu: Optional[int] = None
    source: Optional[str] = None
    """`/etc/netplan/50-cloud-init.yaml:12`"""
    keep: Optional[Callable[[int], Kept]] = None
    """None: brctl cannot, for the reason that `hindrance` gives."""
    hindrance: Optional[str] = None
    warnings: Tuple[str, ...] = ()


class Holding(NamedTuple):
    """What the next boot gives a link."""

    mtu: Optional[int]
    """None: nobody says; then it is what the driver starts with."""
    source: Optional[str]
    keep: Optional[Callable[[int], Kept]]
    hindrance: Optional[str]
    warnings: Tuple[str, ...]


def holding(draft: Foreseen, link: Link) -> Holding:
    """Raises OSError, ValueError: a file that cannot be read or understood."""
    from . import ifcfg, ifupdown, netplan, network_manager, networkd, udev

    every = (netplan, networkd, network_manager, ifupdown, ifcfg, udev)
    claims = [claim for claim in (owner.find(draft, link) for owner in every) if claim]
    owner = next((claim for claim in claims if claim.has_it), None)
    if owner is None:
        return Holding(None, None, None, "no file here says what brings it up, so its MTU cannot be made to last", ())
    source = owner if owner.mtu is not None else claims[-1] if claims[-1].owner == udev.NAME else owner
    others = [claim for claim in claims if claim.mtu is not None and claim not in (owner, source)]
    text = "{} has the link, but {} names {} for it too ({})"
    warnings = [text.format(owner.owner, one.owner, one.mtu, one.source) for one in others]
    return Holding(source.mtu, source.source, owner.keep, owner.hindrance, (*owner.warnings, *warnings))


def whole(path: str, text: str) -> Write:
    return Write(Place("file", path), text)


def cloud_init(path: str, text: str) -> Tuple[str, ...]:
    """A warning where cloud-init wrote the file: it does so again for a new instance."""
    if "cloud-init" not in path and "cloud-init" not in text[:400].lower():
        return ()
    return ("cloud-init wrote {}, and writes it anew for a new instance".format(path),)
