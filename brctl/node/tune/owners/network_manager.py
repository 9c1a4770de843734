"""NetworkManager: the profile that it says it uses for a device, in a keyfile or in an ifcfg file."""

from typing import NamedTuple, Optional

from ..drop_ins import paths
from ..foreseen import Foreseen
from ..ini import parse
from ..links import Link
from . import Claim, Kept, cloud_init, whole
from .files import last, put, read, state

NAME = "NetworkManager"
NETPLAN = "/run/NetworkManager/system-connections/netplan-"
_FOLDERS = tuple("{}/NetworkManager/system-connections".format(folder) for folder in ("/etc", "/run", "/usr/lib"))
_IFCFG = "/etc/sysconfig/network-scripts"
_SECTIONS = ("ethernet", "802-3-ethernet", "infiniband")
"""The first is the short name of the second: nm-settings-keyfile(5)."""


class Profile(NamedTuple):
    path: str
    text: str


def profile(draft: Foreseen, ifindex: int) -> Optional[Profile]:
    """What the device is set up by; None: NetworkManager does not have it. Its path is empty where no file is its.

    Raises OSError.
    """
    uuid = state(draft, "/run/NetworkManager/devices/{}".format(ifindex)).get("connection-uuid")
    if not uuid:
        return None
    for path in (*paths(draft, _FOLDERS), *paths(draft, [_IFCFG])):
        text = read(draft, path)
        if any(entry.option in ("uuid", "UUID") and entry.value.strip('"') == uuid for entry in parse(text)):
            return Profile(path, text)
    return Profile("", "")


def find(draft: Foreseen, link: Link) -> Optional[Claim]:
    found = profile(draft, link.ifindex)
    if found is None or found.path.startswith(NETPLAN):
        return None
    if not found.path.startswith("/etc/"):
        return Claim(NAME, True, hindrance="its profile of NetworkManager is in no file of /etc: save it with nmcli")
    section, key = ("", "MTU") if found.path.startswith(_IFCFG) else (_section(found.text), "mtu")
    entry = last(found.text, section, key)
    named = int(entry.value) if entry and entry.value.isdecimal() else 0  # 0 is `auto`: as the driver has it

    def keep(mtu: int) -> Kept:
        text = put(read(draft, found.path), section, key, str(mtu))
        draft.values[found.path] = text
        load, reapply = ("nmcli", "connection", "load", found.path), ("nmcli", "device", "reapply", link.name)
        return Kept((whole(found.path, text),), (load,), at_once=(reapply,))

    source = "{}:{}".format(found.path, entry.line) if entry and named else None
    return Claim(NAME, True, named or None, source, keep, warnings=cloud_init(found.path, found.text))


def _section(text: str) -> str:
    """Of these, the one that the profile has."""
    there = {entry.section for entry in parse(text)}
    kinds = {entry.value for entry in parse(text) if (entry.section, entry.option) == ("connection", "type")}
    return next((name for name in _SECTIONS if name in there), "infiniband" if "infiniband" in kinds else "ethernet")
