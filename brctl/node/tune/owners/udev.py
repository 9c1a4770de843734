"""udev: the .link file that it has used for an interface. It sets the MTU once, when the interface appears.

It comes last: any of the others sets the link up after it. Where there is none of them, it is the owner of hardware.
"""

from typing import Optional

from .. import file_value
from ..foreseen import Foreseen
from ..ini import parse
from ..links import Link
from . import Claim, Kept, whole
from .files import put, read, state
from .networkd import named

NAME = "udev"
_FOLDER = "/etc/systemd/network"
_NEW = "/etc/systemd/network/10-brctl-{}.link"
_COMMAND = ("udevadm", "control", "--reload")
_EFFECT = "udev gives it when the interface appears, at the next boot and not before"


def find(draft: Foreseen, link: Link) -> Optional[Claim]:
    path = state(draft, "/run/udev/data/n{}".format(link.ifindex), before="E:").get("ID_NET_LINK_FILE")
    if link.kind or not path:
        return None
    found = named(draft, path)
    mtu, source = found[-1] if found else (None, None)

    def keep(wanted: int) -> Kept:
        where, text = _edited(draft, path, wanted) if path.startswith(_FOLDER) else _new(draft, path, link, wanted)
        draft.values[where] = text
        return Kept((whole(where, text),), (_COMMAND,), (_EFFECT,))

    return Claim(NAME, True, mtu, source, keep)


def _edited(draft: Foreseen, path: str, mtu: int) -> "tuple[str, str]":
    """An operator's own file."""
    return path, put(read(draft, path), "Link", "MTUBytes", str(mtu))


def _new(draft: Foreseen, path: str, link: Link, mtu: int) -> "tuple[str, str]":
    """udev uses one file alone, so what the present one says of names must stand in ours. It has to come before
    99-default.link, and to fit no VLAN, which has its parent's address: so the type too, and the hardware's address."""
    lines = ["# Written by brctl tune; the rest of [Link] is that of {}.".format(file_value(path)), "[Match]"]
    lines += ["PermanentMACAddress=" + link.mac, "Type=ether", "[Link]"]
    kept = (entry for entry in parse(read(draft, path)) if entry.section == "Link" and entry.option != "MTUBytes")
    lines += ["{}={}".format(entry.option, entry.value) for entry in kept]
    return _NEW.format(link.name), "\n".join([*lines, "MTUBytes={}".format(mtu), ""])
