"""The MTU of the interfaces that `tune.network` names; without names, of those that `hardware.nics` declares.

Larger frames cost less of the CPU for each byte of TCP. For RDMA over Ethernet the kernel takes 96 bytes off for
headers and rounds down to a power of two (iboe_get_mtu in include/rdma/ib_addr.h): 1500 gives 1024, 4096 gives only
2048, and from 4192 up all give 4096. So 9000 or 8192 change nothing for RDMA against the 4200 that NVIDIA names for it.

When not to: while jobs run, or before the switches. Every port on the way must take larger frames than its hosts send
(9216 is usual), and until all nodes have the same MTU the larger frames of one are lost at another: raise the switches
first, then all nodes. Below 1280 the kernel takes every IPv6 address off an interface and does not bring it back, so
that is refused.

Live through /sys/class/net/NAME/mtu, within the range that the driver gives (`ip -d link`). A bond is set and its
members follow; a member is never set by itself. What is raised goes from the lowest up, what is lowered from the top
down, as the kernel demands of VLANs. A VXLAN neither follows nor complains: what it would lose is told.

What this host is reached by is changed with --allow-mgmt alone, and comes back by itself unless `tune confirm` comes
over a new connection within --confirm-within.

With --persist it is written for the next boot where the owner of the link reads it, and there alone: systemd-networkd,
NetworkManager, netplan, ifupdown, ifcfg, or udev's .link where nothing else has the link. The plan names the file and
line that decide, and another owner that names an MTU too.

By hand: `ip link set dev NAME mtu 9000`; to see it: `ip -d link show dev NAME`.
"""

from typing import Iterator, List, Optional, Tuple

from ... import ports
from ...deadline import HungError
from ...patterns import words
from ...report import HOST, Change, Outcome, Subject
from .. import Place, Scene, Setting, Step, Write, refused, step_name
from ..links import FOLDERS, Link, LinksError
from ..mtu import Case, effects, in_order, make_case, refusal, said_of_rdma
from ..owners import Holding, Kept, holding
from ..places import about


def plan(scene: Scene) -> Iterator[Step]:
    want = scene.want.mtu
    if want is None:
        return
    chosen = _chosen(scene)
    if not chosen:
        named = scene.want.interfaces or "hardware.nics"
        yield Step(Change("nic-mtu", HOST, "mtu", Outcome.NA, str(want), reason="no interface fits " + named))
        return
    try:
        case = make_case(scene, want, chosen)
    except (LinksError, OSError, HungError, ValueError) as error:
        yield from (refused(_change(name, want), about(error)) for name in chosen)
        return
    yield from (_step(case, name) for name in in_order(case))


def _chosen(scene: Scene) -> Tuple[str, ...]:
    """Names of interfaces. A port of a bond stands for the bond, unless it is named in full."""
    patterns = scene.want.interfaces
    if patterns is not None:
        found = ports.named(scene.seen, patterns)
    else:
        found = tuple(port for port in ports.expected(scene.seen, scene.expected) if port.kind != "infiniband")
    bonds = {nic.name for nic in scene.seen.nics or () if nic.kind == "bond"}
    full = words(patterns or "")
    nics = [port.nic for port in found if port.nic]
    names = (nic.master if nic.master in bonds and nic.name not in full else nic.name for nic in nics)
    return tuple(dict.fromkeys(name for name in names if name))


def _step(case: Case, name: str) -> Step:
    link = case.stack.links.get(name)
    if link is None:
        return refused(_change(name, case.want), "ip does not show it: it is in another network namespace")
    change = _change(name, case.want, link.mtu)._replace(effects=said_of_rdma(case, link))
    reason = refusal(case, link) if link.mtu != case.want else None
    if reason:
        return refused(change, reason)
    held, kept = _held(case, link, case.want)
    change = change._replace(boot=None if held.mtu is None else str(held.mtu), boot_source=held.source)
    change = change._replace(effects=change.effects + effects(case, link) + held.warnings)
    if case.persist and held.mtu != case.want and kept is None:
        return refused(change, held.hindrance or "")
    made = [kept] if kept else []
    made += [also for name in case.stack.all_above(link.name) for also in _kept_too(case, name)]
    return Step(
        change._replace(effects=change.effects + tuple(text for one in made for text in one.effects)),
        live=_writes(case, link),
        boot=tuple(write for one in made for write in one.writes),
        after=tuple(command for one in made for command in one.after),
        needs=_needs(case, link),
        management=link.mtu != case.want and case.management.has(name),
    )


def _held(case: Case, link: Link, want: int) -> Tuple[Holding, Optional[Kept]]:
    """What the next boot gives, and what it takes for another. A link that keeps its MTU now is not touched for it:
    whoever came in by it would have no guard."""
    try:
        held = holding(case.draft, link)
        kept = held.keep(want) if held.keep and case.persist and held.mtu != want else None
    except (OSError, ValueError) as error:
        why = about(error)
        return Holding(None, None, None, why, ("what the next boot gives it cannot be told: " + why,)), None
    if kept and link.mtu != want == case.then[link.name]:
        kept = kept._replace(after=kept.after + kept.at_once)
    return held, kept


def _kept_too(case: Case, name: str) -> Tuple[Kept, ...]:
    """A VLAN that the files give more than what it stands on would not come up."""
    link = case.stack.links[name]
    if name in case.chosen or link.kind != "vlan":
        return ()
    held, kept = _held(case, link, case.want)
    return (kept,) if kept and (held.mtu or 0) > case.want else ()


def _change(name: str, want: int, live: Optional[int] = None) -> Change:
    text = None if live is None else str(live)
    fold = "nic-mtu {} {} -> {}".format(name, text, want)
    return Change("nic-mtu", Subject("nic", name, name), "mtu", Outcome.OK, str(want), text, fold=fold)


def _writes(case: Case, link: Link) -> Tuple[Write, ...]:
    """What would come down with it is brought down first, so that the journal has it; a bridge is left to follow, as a
    bridge whose MTU was written follows no more."""
    if link.mtu == case.want:
        return ()
    dragged = [_write(one.name, case.then[one.name])._replace(along=True) for one in _dragged(case, link)]
    return (*dragged, _write(link.name, case.want))


def _dragged(case: Case, link: Link) -> List[Link]:
    """What comes down with it, the topmost first."""
    above = [case.stack.links[name] for name in case.stack.all_above(link.name) if name not in case.chosen]
    found = [one for one in above if one.kind != "bridge" and case.then[one.name] < one.mtu]
    return sorted(found, key=lambda one: case.stack.depth(one.name), reverse=True)


def _write(name: str, mtu: int) -> Write:
    return Write(Place("knob", FOLDERS.format(name) + "mtu"), str(mtu))


def _needs(case: Case, link: Link) -> Tuple[str, ...]:
    """To go up, what is under it must have gone up; to come down, what is above it must have come down."""
    if link.mtu == case.want:
        return ()
    others = case.stack.below(link.name) if link.mtu < case.want else case.stack.above(link.name)
    return tuple(
        step_name(_change(name, case.want))
        for name in others
        if name in case.chosen and case.stack.links[name].mtu != case.want
    )


SETTING = Setting(id="nic-mtu", title="MTU of the fabric's interfaces", order=40, keys=("network.mtu",), plan=plan)
