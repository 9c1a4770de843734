"""The interfaces of a machine as they stand on each other: what `ip` knows of them, and which MTU each may have."""

import json
from typing import Any, Dict, FrozenSet, Iterable, List, NamedTuple, Optional, Tuple

from ..host import Host

COMMAND = ("ip", "-d", "-j", "link")
FOLDERS = "/sys/class/net/{}/"

_STACKED = ("vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "vxlan")
"""Kinds whose frames leave through the interface that they were made on. (The link of a veth is its other end.)"""
_VXLAN, _VXLAN6 = 50, 70
"""Bytes around each frame: Ethernet 14, IP 20 or 40, UDP 8, VXLAN 8 (RFC 7348; drivers/net/vxlan)."""


class LinksError(Exception):
    """The interfaces cannot be told; the message says why."""


class Link(NamedTuple):
    name: str
    ifindex: int
    kind: str
    """As `ip` calls it: `vlan`, `bond`, `vxlan`; empty for hardware."""
    mtu: int
    min_mtu: int
    max_mtu: int
    """0: no bound."""
    mac: str
    """The hardware's own, where `ip` knows it."""
    master: Optional[str]
    parent: Optional[str]
    """The interface that it was made on, and that it sends through."""
    overhead_bytes: int
    """What it puts around a frame before the parent gets it."""


def read(host: Host) -> Tuple[Link, ...]:
    """All interfaces of this network namespace. Raises LinksError, HungError, OSError.

    The MTU is read where it is written, in /sys.
    """
    answer = host.run(COMMAND)
    if answer is None:
        raise LinksError("ip is not installed, which tells what an interface can take and what stands on it")
    if answer.returncode != 0:
        raise LinksError("{}: {}".format(" ".join(COMMAND), answer.stderr.strip() or "no answer"))
    links = []
    for link in parse_links(answer.stdout):
        text = host.read(FOLDERS.format(link.name) + "mtu")
        links.append(link._replace(mtu=int(text)) if text else link)
    return tuple(links)


def parse_links(text: str) -> Tuple[Link, ...]:
    """Of `ip -d -j link`. Raises LinksError."""
    try:
        return tuple(_link(plain) for plain in json.loads(text) if plain)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LinksError("{} has another form: {!r}".format(" ".join(COMMAND), error)) from None


def _link(plain: Dict[str, Any]) -> Link:
    info = plain.get("linkinfo") or {}
    kind, data = info.get("info_kind") or "", info.get("info_data") or {}
    is_vxlan6 = kind == "vxlan" and any(key in data for key in ("remote6", "group6", "local6"))
    return Link(
        name=plain["ifname"],
        ifindex=int(plain["ifindex"]),
        kind=kind,
        mtu=int(plain["mtu"]),
        min_mtu=int(plain.get("min_mtu") or 0),
        max_mtu=int(plain.get("max_mtu") or 0),
        mac=plain.get("permaddr") or plain.get("address") or "",
        master=plain.get("master"),
        parent=(data.get("link") or plain.get("link")) if kind in _STACKED else None,
        overhead_bytes=_VXLAN6 if is_vxlan6 else _VXLAN if kind == "vxlan" else 0,
    )


class Stack:
    """Who stands on whom."""

    def __init__(self, links: Iterable[Link], functions: Optional[Dict[str, str]] = None) -> None:
        """`functions`: interface of a virtual function -> that of its physical function."""
        self.links = {link.name: link for link in links}
        self._functions = functions or {}

    def below(self, name: str) -> List[str]:
        """What it stands on: its parent, its ports, its physical function."""
        link = self.links.get(name)
        ports = [one.name for one in self.links.values() if one.master == name]
        parent = link.parent if link else None
        return [one for one in (parent, self._functions.get(name), *ports) if one in self.links]

    def above(self, name: str) -> List[str]:
        return [one for one in self.links if name in self.below(one)]

    def all_below(self, names: Iterable[str]) -> FrozenSet[str]:
        """These, and all that they stand on."""
        found: Dict[str, None] = {}
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found[name] = None
                waiting += self.below(name)
        return frozenset(found)

    def all_above(self, name: str) -> List[str]:
        """What stands on it, the nearest first."""
        found: List[str] = []
        waiting = self.above(name)
        while waiting:
            one = waiting.pop(0)
            if one not in found:
                found.append(one)
                waiting += self.above(one)
        return found

    def depth(self, name: str) -> int:
        """How many are under it, one upon another."""
        return len(self.all_below([name])) - 1 if self.below(name) else 0

    def bounds(self, name: str) -> Tuple[int, int]:
        """The least and the greatest MTU that the kernel takes, 0 for no bound; of a bond, its members too."""
        link = self.links[name]
        over = [self.links[one] for one in self.below(name)] if link.kind in ("bond", "team") else []
        greatest = [one.max_mtu for one in (link, *over) if one.max_mtu]
        return max(one.min_mtu for one in (link, *over)), min(greatest, default=0)

    def will_be(self, wanted: Dict[str, int]) -> Dict[str, int]:
        """The MTU of each interface once the `wanted` ones have theirs.

        A bridge has the least of its ports (br_mtu_auto_adjust), unless somebody set it; a bond's members have the
        bond's; what sends unchanged frames comes down with its parent (vlan_device_event, macvlan_device_event);
        everything else, a VXLAN above all, stays as it is.
        """
        then = {name: link.mtu for name, link in self.links.items()}
        then.update(wanted)
        for name in sorted(self.links, key=self.depth):
            link = self.links[name]
            if name in wanted:
                if link.kind in ("bond", "team"):
                    then.update((port, wanted[name]) for port in self.below(name))
            elif link.kind == "bridge":
                ports = self.below(name)
                if ports and link.mtu == min(self.links[port].mtu for port in ports):
                    then[name] = min(then[port] for port in ports)
            elif link.parent in then and not link.overhead_bytes:
                parent = then[link.parent or ""]
                then[name] = parent if link.kind in ("ipvlan", "ipvtap") else min(then[name], parent)
        return then
