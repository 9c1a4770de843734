"""systemd-networkd: the .network file that it says it uses, and that file's drop-ins."""

from typing import Iterator, List, Optional, Tuple

from .. import Write
from ..drop_ins import paths
from ..foreseen import Foreseen
from ..links import Link
from . import Claim, Kept, cloud_init, whole
from .files import last, read, state

NAME = "systemd-networkd"
FOLDERS = tuple(
    "{}/systemd/network".format(folder) for folder in ("/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib")
)
"""In the order in which they count: systemd.network(5)."""
NETPLAN = "/run/systemd/network/10-netplan-"
_STATES = "/run/systemd/netif/links"
_FACTORS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def network_file(draft: Foreseen, ifindex: int) -> Optional[str]:
    """The path of the file by which networkd has set the link up; None: it has not. Raises OSError."""
    told = state(draft, "{}/{}".format(_STATES, ifindex))
    return None if told.get("ADMIN_STATE") == "unmanaged" else told.get("NETWORK_FILE") or None


def find(draft: Foreseen, link: Link) -> Optional[Claim]:
    path = network_file(draft, link.ifindex)
    if path is None or path.startswith(NETPLAN):
        return None
    found = named(draft, path)
    mtu, source = found[-1] if found else (None, None)

    def keep(wanted: int) -> Kept:
        others = tuple("{} has the same file, and gets it too".format(one) for one in _others(draft, path, link))
        return Kept(_drop_in(draft, path, source, wanted), (), others)

    warnings = cloud_init(path, read(draft, path)) if "cloud-init" in path else ()
    return Claim(NAME, True, mtu, source, keep, warnings=(*warnings, *_dhcp(draft, path)))


def files(draft: Foreseen, path: str) -> List[str]:
    """A unit and its drop-ins, in the order in which they are read."""
    name = path.rpartition("/")[2]
    return [path, *paths(draft, ["{}/{}.d".format(folder, name) for folder in FOLDERS], ".conf")]


def named(draft: Foreseen, path: str) -> List[Tuple[int, str]]:
    """Each MTU that a unit or its drop-ins name, and where; the last one counts. Raises OSError."""
    found = []
    for one in files(draft, path):
        entry = last(read(draft, one), "Link", "MTUBytes")
        if entry:
            found.append((parse_size(entry.value), "{}:{}".format(one, entry.line)))
    return [each for each in found if each[0]]


def parse_size(text: str) -> int:
    """Bytes of `9000` or `8K`, to the base of 1024 (systemd.syntax); 0 for what is no size: it counts for nothing."""
    factor = _FACTORS.get(text[-1:].upper(), 1)
    digits = text[:-1] if factor > 1 else text
    return int(digits) * factor if digits.isdecimal() else 0


def _drop_in(draft: Foreseen, path: str, source: Optional[str], mtu: int) -> Tuple[Write, ...]:
    """Named so that it is read after the one that counts now."""
    folder = "/etc/systemd/network/{}.d".format(path.rpartition("/")[2])
    winner = (source or "").rpartition(":")[0]
    name = "50-brctl.conf"
    while winner.endswith(".conf") and winner != folder + "/" + name and name <= winner.rpartition("/")[2]:
        name = "zz-" + name
    text = "# Written by brctl tune.\n[Link]\nMTUBytes={}\n".format(mtu)
    draft.values[folder + "/" + name] = text
    return (whole(folder + "/" + name, text),)


def _others(draft: Foreseen, path: str, link: Link) -> Iterator[str]:
    """Other links with the same file."""
    for path_of_state in paths(draft, [_STATES]):
        index = path_of_state.rpartition("/")[2]
        if index.isdecimal() and int(index) != link.ifindex and network_file(draft, int(index)) == path:
            yield "interface {}".format(index)


def _dhcp(draft: Foreseen, path: str) -> Iterator[str]:
    for one in files(draft, path):
        for section in ("DHCPv4", "DHCP"):
            entry = last(read(draft, one), section, "UseMTU")
            if entry and entry.value.lower() in ("yes", "true", "on", "1"):
                yield "DHCP may set another MTU (UseMTU in {}:{})".format(one, entry.line)
