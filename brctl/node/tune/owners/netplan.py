"""netplan: what was rendered tells the name of a definition; its files, in YAML, tell the MTU.

There is no YAML in Python's standard library. What netplan's files consist of, mappings by indentation, is read here,
and a definition in braces; where there is neither, brctl keeps its hands off.
"""

import json
import re
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from .. import file_value
from ..drop_ins import paths
from ..foreseen import Foreseen
from ..links import Link
from . import Claim, Kept, network_manager, networkd, whole
from .files import lines

NAME = "netplan"
_FOLDERS = tuple(folder + "/netplan" for folder in ("/run", "/etc", "/lib"))
"""In the order in which they hide each other: netplan-generate(8)."""
_OWN = "90-brctl-{}.yaml"
_KEY = re.compile(r"""( *)(["']?)([^"'\s#-][^"'#:]*)\2:(?:\s+(.*?))?\s*(?:\s#.*)?$""")
_ITEM = re.compile(r"""( *)- +["']?([\w.-]+)["']?\s*(?:#.*)?$""")
_IN_BRACES = re.compile(r"[{,]\s*mtu:\s*(\d+)")
_PLAIN = re.compile(r"[A-Za-z][\w.-]*\Z")


class Value(NamedTuple):
    path: Tuple[str, ...]
    """Keys from the top."""
    text: str
    """Empty for a mapping; of an item of a list, the item."""
    line: int


def find(draft: Foreseen, link: Link) -> Optional[Claim]:
    name = _definition(draft, link)
    if name is None:
        return None
    found = _found(draft, name)
    if not found:
        return Claim(NAME, True, hindrance="netplan made its setting, but no file says so in a form that brctl reads")
    section = found[0][1].path[1]
    mtus = [(path, value.line, mtu) for path, value in found for mtu in _mtus(value)]
    winner, line, mtu = mtus[-1] if mtus else ("", 0, None)

    def keep(wanted: int) -> Kept:
        path = _own_path(name, winner)
        text = _text(section, name, _members(found) if section == "bonds" else [], wanted)
        draft.values[path] = text
        return Kept((whole(path, text),), (("netplan", "generate"),))

    source = "{}:{}".format(winner, line) if mtus else None
    return Claim(NAME, True, mtu, source, keep)


def parse(text: str) -> Iterator[Value]:
    """Every key and item, in order."""
    above: List[Tuple[int, str]] = []
    for number, line in enumerate(lines(text), 1):
        key, item = _KEY.match(line), _ITEM.match(line)
        if key:
            indent = len(key.group(1))
            above = [one for one in above if one[0] < indent] + [(indent, key.group(3).strip())]
            yield Value(tuple(name for _, name in above), (key.group(4) or "").strip("\"'"), number)
        elif item:
            yield Value(tuple(name for indent, name in above if indent <= len(item.group(1))), item.group(2), number)


def _definition(draft: Foreseen, link: Link) -> Optional[str]:
    """Its name, of what netplan rendered for networkd or NetworkManager; it may differ from the interface's."""
    network = networkd.network_file(draft, link.ifindex) or ""
    profile = network_manager.profile(draft, link.ifindex)
    for path, before, after in (
        (network, networkd.NETPLAN, ".network"),
        (profile.path if profile else "", network_manager.NETPLAN, ".nmconnection"),
    ):
        if path.startswith(before) and path.endswith(after):
            return path[len(before) : -len(after)]
    return None


def _found(draft: Foreseen, name: str) -> List[Tuple[str, Value]]:
    """What the files say of a definition, in the order in which they are merged."""
    every = ((path, value) for path in paths(draft, _FOLDERS, ".yaml") for value in parse(draft.read(path) or ""))
    return [one for one in every if len(one[1].path) > 2 and (one[1].path[0], one[1].path[2]) == ("network", name)]


def _mtus(value: Value) -> Iterator[int]:
    """Of a line `mtu: 9000`, or a definition in braces."""
    if value.path[3:] == ("mtu",) and value.text.isdecimal():
        yield int(value.text)
    elif not value.path[3:]:
        yield from (int(found) for found in _IN_BRACES.findall(value.text))


def _members(found: List[Tuple[str, Value]]) -> List[str]:
    """Of a bond: `interfaces: [a, b]`, or a line each."""
    names: Dict[str, None] = {}
    for _, value in found:
        if value.path[3:] == ("interfaces",):
            names.update(dict.fromkeys(re.findall(r"[\w.-]+", value.text)))
    return list(names)


def _own_path(name: str, winner: str) -> str:
    """Read after the one that counts now."""
    own = _OWN.format(name)
    while winner.rpartition("/")[2] > own:
        own = "zz-" + own
    return "/etc/netplan/" + own


def _text(section: str, name: str, members: List[str], mtu: int) -> str:
    """The members of a bond need it too: what sets them up by themselves would take the bond's away."""
    text = ["# Written by brctl tune.", "network:", "  version: 2"]
    for part, names in ((section, [name]), ("ethernets", members)):
        text += ["  {}:".format(part)] if names else []
        for one in names:
            text += ["    {}:".format(one if _PLAIN.match(one) else json.dumps(one)), "      mtu: {}".format(mtu)]
    return file_value("\n".join([*text, ""]))
