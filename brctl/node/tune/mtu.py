"""What an MTU does to the interfaces of a machine: why one cannot have it, and what else changes with it."""

from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from .. import ports
from ..host import Host
from ..probe.rdma import roce_mtu
from . import Scene
from .foreseen import Foreseen
from .links import FOLDERS, Link, Stack
from .links import read as read_links
from .management import Path, find
from .places import in_words

_LEAST_IPV6 = 1280  # RFC 8200, section 5
_NO_HEADROOM = 4096
"""The MTU that is often set for an RDMA MTU of 4096, and gives 2048."""


class Case(NamedTuple):
    """All that one interface is judged from."""

    want: int
    chosen: Tuple[str, ...]
    """The interfaces that are to have it."""
    persist: bool
    host: Host
    stack: Stack
    then: Dict[str, int]
    """MTU of every interface, once all is done."""
    kinds: Dict[str, str]
    """Interface -> `roce`, `infiniband`, `ethernet`."""
    ipv6: Tuple[str, ...]
    management: Path
    draft: Foreseen


def make_case(scene: Scene, want: int, chosen: Tuple[str, ...]) -> Case:
    """Raises LinksError, OSError, HungError."""
    host, stack = scene.host, Stack(read_links(scene.host), _functions(scene))
    return Case(
        want,
        chosen,
        scene.persist,
        host,
        stack,
        stack.will_be({name: want for name in chosen if name in stack.links}),
        {port.nic.name: port.kind for port in ports.ports(scene.seen) if port.nic},
        _with_ipv6(host),
        find(host, stack),
        Foreseen(host),
    )


def in_order(case: Case) -> List[str]:
    """Those that come down, from the top; then those that go up, from the lowest."""
    links, depth = case.stack.links, case.stack.depth
    down = [name for name in case.chosen if name in links and links[name].mtu > case.want]
    up = [name for name in case.chosen if name not in down]
    return sorted(down, key=depth, reverse=True) + sorted(up, key=depth)


def _functions(scene: Scene) -> Dict[str, str]:
    """Interface of each virtual function -> that of its card's port."""
    of_pci = {nic.pci: nic.name for nic in scene.seen.nics or () if nic.pci and nic.kind == "physical"}
    above = {device.address: device.physical_function for device in scene.seen.pci or () if device.physical_function}
    pairs = ((name, of_pci.get(above.get(address) or "")) for address, name in of_pci.items())
    return {name: physical for name, physical in pairs if physical}


def _with_ipv6(host: Host) -> Tuple[str, ...]:
    """Interfaces that have an IPv6 address: the last column of proc(5)'s if_inet6."""
    return tuple(line.split()[-1] for line in (host.read("/proc/net/if_inet6") or "").splitlines())


# Why not.


def refusal(case: Case, link: Link) -> Optional[str]:
    """Why it cannot have the MTU, told before anything is written. Raises OSError."""
    stack, want = case.stack, case.want
    least, greatest = stack.bounds(link.name)
    bond = stack.links.get(link.master or "")
    if bond and bond.kind in ("bond", "team"):
        return "it is a member of {0}, which sets its members: name {0} instead".format(bond.name)
    if want < least or (greatest and want > greatest):
        return "its driver takes {} to {}".format(least, greatest or "any number of")
    if _elsewhere(case.host, link):
        return "/sys shows another network namespace than ip does: set it on the host"
    denied = _denied(case.host, link)
    if denied:
        return denied
    carrier = stack.carrier(link.name)
    if carrier and want + link.overhead_bytes > case.then[carrier]:
        text = "{} needs {} under it, and {} has {}"
        return text.format(link.name, want + link.overhead_bytes, carrier, case.then[carrier])
    return _loses_ipv6(case, link)


def _loses_ipv6(case: Case, link: Link) -> Optional[str]:
    """This interface or one that follows it."""
    for name in (link.name, *case.stack.all_above(link.name), *case.stack.below(link.name)):
        if name in case.ipv6 and case.then[name] < _LEAST_IPV6 <= case.stack.links[name].mtu:
            text = "below {} the kernel takes all IPv6 addresses off {}, and brings none back"
            return text.format(_LEAST_IPV6, name)
    return None


def _elsewhere(host: Host, link: Link) -> bool:
    index = host.read(FOLDERS.format(link.name) + "ifindex")
    return index is None or int(index) != link.ifindex


def _denied(host: Host, link: Link) -> Optional[str]:
    """Why nobody may write it, root neither. Raises OSError."""
    code = host.denies(FOLDERS.format(link.name) + "mtu")
    return None if code is None else in_words(OSError(code, ""))


# What else happens.


def said_of_rdma(case: Case, link: Link) -> Tuple[str, ...]:
    """What becomes of the RDMA MTU."""
    if case.kinds.get(link.name) != "roce":
        return ()
    now, then = roce_mtu(link.mtu), roce_mtu(case.want)
    found = []
    if now != then:
        found.append("RDMA MTU {} -> {}".format(now, then))
    elif link.mtu != case.want:
        found.append("RDMA MTU stays {}: {} changes nothing for RDMA".format(now, case.want))
    if case.want >= _NO_HEADROOM and then != _NO_HEADROOM:
        found.append("RDMA MTU 4096 needs 96 bytes more for headers: 4200 gives it, {} does not".format(case.want))
    return tuple(found)


def effects(case: Case, link: Link) -> Tuple[str, ...]:
    """What else happens when it is written; of what is so already, what stands on it and does not fit."""
    if link.mtu == case.want:
        return tuple(text for name in case.stack.all_above(link.name) for text in _breaks(case, name))
    found = [text for name in case.stack.all_above(link.name) for text in _above(case, link, name)]
    if link.kind in ("bond", "team"):
        found += ["{} follows: {} -> {}".format(*_course(case, name)) for name in case.stack.below(link.name)]
    if link.kind == "bridge":
        found.append("from then on {} keeps it, and follows its ports no more".format(link.name))
    if link.kind in ("", "bond", "team"):
        found.append("the link may go down for a moment: many drivers start the port anew")
        if link.mtu < case.want:
            found.append("until all nodes have it, larger frames are lost at the others: the switches first")
    if case.management.has(link.name):
        found.append(case.management.warning(link.name))
    return tuple(found)


def _above(case: Case, link: Link, name: str) -> Iterator[str]:
    """What becomes of an interface that stands on `link` and is not itself wanted."""
    one = case.stack.links[name]
    if name in case.chosen:
        return
    if case.then[name] != one.mtu:
        text = "{} follows: {} -> {}" + (", unless somebody has set it" if one.kind == "bridge" else "")
        yield text.format(*_course(case, name))
        return
    broken = list(_breaks(case, name))
    yield from broken
    if not broken and case.want > link.mtu and one.kind != "bridge":
        yield "{} stays at {}".format(name, one.mtu)


def _breaks(case: Case, name: str) -> Iterator[str]:
    """That it sends more than what it stands on will carry, without a word to the sender."""
    one, carrier = case.stack.links[name], case.stack.carrier(name)
    if carrier and case.then[name] + one.overhead_bytes > case.then[carrier]:
        text = "{} breaks: it sends up to {} bytes, and {} carries {}: set it to {}"
        most = case.then[carrier] - one.overhead_bytes
        yield text.format(name, case.then[name] + one.overhead_bytes, carrier, case.then[carrier], most)


def _course(case: Case, name: str) -> Tuple[str, int, int]:
    return name, case.stack.links[name].mtu, case.then[name]
