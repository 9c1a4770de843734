"""ifcfg files without NetworkManager: the network scripts of older Red Hats, and wicked of SUSE."""

from typing import Optional

from ..foreseen import Foreseen
from ..links import Link
from . import Claim, Kept, cloud_init, whole
from .files import last, put, read

NAME = "ifcfg"
_PATHS = ("/etc/sysconfig/network-scripts/ifcfg-{}", "/etc/sysconfig/network/ifcfg-{}")


def find(draft: Foreseen, link: Link) -> Optional[Claim]:
    for path in (pattern.format(link.name) for pattern in _PATHS):
        if draft.read_bytes(path) is not None:
            return _claim(draft, path, read(draft, path))
    return None


def _claim(draft: Foreseen, path: str, text: str) -> Claim:
    entry = last(text, "", "MTU")
    named = int(entry.value) if entry and entry.value.isdecimal() else None

    def keep(mtu: int) -> Kept:
        new = put(read(draft, path), "", "MTU", str(mtu))
        draft.values[path] = new
        return Kept((whole(path, new),))

    source = "{}:{}".format(path, entry.line) if entry and named else None
    return Claim(NAME, True, named, source, keep, warnings=cloud_init(path, text))
