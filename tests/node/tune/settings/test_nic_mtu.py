"""What is planned for the MTU of interfaces, and what is refused before anything is touched."""

from typing import Any, Callable, Dict, List, Optional, Tuple

import pytest

from brctl.mock.machines import load
from brctl.node.facts import Inventory, Nic, PciDevice, RdmaPort
from brctl.node.host.machine import Machine
from brctl.node.probe import net
from brctl.node.report import Outcome
from brctl.node.request import Expected, ExpectedNics, Wanted
from brctl.node.tune import Scene, Step
from brctl.node.tune.foreseen import Foreseen
from brctl.node.tune.settings.nic_mtu import SETTING, plan

Links = Callable[..., Any]
Make = Callable[..., Machine]
BOUNCE = "the link may go down for a moment: many drivers start the port anew"
MIXED = "until all nodes have it, larger frames are lost at the others: the switches first"


def steps(
    host: Machine, mtu: Optional[int], names: Optional[str] = "*", persist: bool = False, **more: Any
) -> Tuple[Step, ...]:
    reading = net.read(host)
    assert reading
    seen = Inventory(nics=reading.facts)._replace(**more)
    scene = Scene(Foreseen(host), seen, Wanted(mtu=mtu, interfaces=names), Expected(nics=ExpectedNics()), persist)
    return tuple(plan(scene))


def writes(step: Step) -> List[Tuple[str, Optional[str]]]:
    return [(write.place.name.split("/")[4], write.value) for write in step.live]


def reasons(found: Tuple[Step, ...]) -> Dict[str, Optional[str]]:
    return {step.change.subject.name: step.change.reason for step in found}


def test_nothing_is_wanted(machine: Make, links: Links) -> None:
    assert steps(machine([links("e0")]), None) == ()


def test_one_interface(machine: Make, links: Links) -> None:
    (step,) = steps(machine([links("e0")]), 9000)
    change = step.change
    assert (change.setting, change.subject.id, change.key, change.outcome) == (SETTING.id, "e0", "mtu", Outcome.OK)
    assert (change.live, change.wanted, change.reason, change.boot) == ("1500", "9000", None, None)
    assert change.fold == "nic-mtu e0 1500 -> 9000"
    assert change.effects == (BOUNCE, MIXED)
    assert [(write.place.kind, write.place.name, write.value) for write in step.live] == [
        ("knob", "/sys/class/net/e0/mtu", "9000")
    ]
    assert (step.boot, step.needs, step.management) == ((), (), False)


@pytest.mark.parametrize("mtu", [8192, 9000])
def test_what_is_so_already_is_left_alone(machine: Make, links: Links, mtu: int) -> None:
    (step,) = steps(machine([links("e0", mtu)]), mtu)
    assert (step.live, step.change.effects, step.change.outcome) == ((), (), Outcome.OK)


def test_no_interface_fits(machine: Make, links: Links) -> None:
    (step,) = steps(machine([links("e0")]), 9000, "ens*")
    assert (step.change.outcome, step.change.reason) == (Outcome.NA, "no interface fits ens*")
    scene = Scene(Foreseen(machine([])), Inventory(nics=()), Wanted(mtu=9000), Expected(), False)
    (step,) = plan(scene)
    assert (step.change.outcome, step.change.reason) == (Outcome.NA, "no interface fits hardware.nics")


@pytest.mark.parametrize("mtu", [67, 9979, 65536])
def test_beyond_what_the_driver_takes(machine: Make, links: Links, mtu: int) -> None:
    (step,) = steps(machine([links("e0")]), mtu)
    assert (step.change.outcome, step.change.live) == (Outcome.REFUSED, "1500")
    assert (step.change.reason, step.live) == ("its driver takes 68 to 9978", ())


def test_no_upper_bound(machine: Make, links: Links) -> None:
    found = steps(machine([links("e0", most=0, least=100)]), 90)
    assert reasons(found) == {"e0": "its driver takes 100 to any number of"}


def test_without_ip_nothing_is_promised(machine: Make, links: Links) -> None:
    host = machine([links("e0"), links("e1")], commands={"ip -d -j link": None})
    assert set(reasons(steps(host, 9000)).values()) == {
        "ip is not installed, which tells what an interface can take and what stands on it"
    }


def test_parents_go_up_first_and_children_down_first(machine: Make, links: Links) -> None:
    def order(mtu: int, now: int) -> List[Tuple[str, Tuple[str, ...]]]:
        host = machine([links("e0.7", now, "vlan", parent="e0", most=65535), links("e0", now), links("e1", 4000)])
        return [(step.change.subject.name, step.needs) for step in steps(host, mtu, "e0,e0.7,e1")]

    assert order(9000, 1500) == [("e0", ()), ("e1", ()), ("e0.7", ("nic-mtu e0 mtu",))]
    assert order(1500, 9000) == [("e0.7", ()), ("e0", ("nic-mtu e0.7 mtu",)), ("e1", ())]
    assert order(5000, 9000) == [("e0.7", ()), ("e0", ("nic-mtu e0.7 mtu",)), ("e1", ())]


def test_children_that_do_not_follow(machine: Make, links: Links) -> None:
    """Raised, neither a VLAN nor a VXLAN follows; lowered, the VLAN does, and the VXLAN sends into a black hole."""
    stack = [links("e0.7", 8950, "vlan", parent="e0", most=65535), links("vx", 8950, "vxlan", data={"link": "e0"})]
    (up,) = steps(machine([links("e0", 9000, most=9978), *stack]), 9500, "e0")
    assert up.change.effects[:2] == ("e0.7 stays at 8950", "vx stays at 8950")
    (down,) = steps(machine([links("e0", 9000), *stack]), 1500, "e0")
    assert down.change.effects == (
        "e0.7 follows: 8950 -> 1500",
        "vx breaks: it sends up to 9000 bytes, and e0 carries 1500: set it to 1450",
        BOUNCE,
    )
    assert writes(down) == [("e0.7", "1500"), ("e0", "1500")]
    (so,) = steps(machine([links("e0", 1500), stack[1]]), 1500, "e0")
    assert so.change.effects == ("vx breaks: it sends up to 9000 bytes, and e0 carries 1500: set it to 1450",)


def test_a_child_that_does_not_fit(machine: Make, links: Links) -> None:
    vxlan = [links("e0", 9000), links("vx", 8950, "vxlan", data={"link": "e0"}, most=65535)]
    assert reasons(steps(machine(vxlan), 8960, "vx")) == {"vx": "vx needs 9010 under it, and e0 has 9000"}
    assert reasons(steps(machine(vxlan), 8000, "vx")) == {"vx": None}
    vlan = [links("e0"), links("e0.7", kind="vlan", parent="e0", most=65535)]
    assert reasons(steps(machine(vlan), 9000, "e0.7")) == {"e0.7": "e0.7 needs 9000 under it, and e0 has 1500"}
    assert set(reasons(steps(machine(vlan), 9000, "e0,e0.7")).values()) == {None}


def test_a_bridge_follows_and_is_never_written_for_it(machine: Make, links: Links) -> None:
    ports = [links("e0", 9000, master="br0"), links("br0", 9000, "bridge", most=65535)]
    (step,) = steps(machine(ports), 1500, "e0")
    assert step.change.effects[0] == "br0 follows: 9000 -> 1500, unless somebody has set it"
    assert writes(step) == [("e0", "1500")]
    (step,) = steps(machine(ports), 1500, "br0")
    assert step.change.effects == ("from then on br0 keeps it, and follows its ports no more",)


def test_a_bond_is_set_and_never_its_member(machine: Make, links: Links) -> None:
    bond = [links("e0", master="b0"), links("e1", master="b0"), links("b0", kind="bond", most=65535)]
    (step,) = steps(machine(bond), 9000, "e*")
    assert step.change.subject.name == "b0"
    assert step.change.effects == ("e0 follows: 1500 -> 9000", "e1 follows: 1500 -> 9000", BOUNCE, MIXED)
    assert writes(step) == [("b0", "9000")]
    (step,) = steps(machine(bond), 9000, "e1")
    assert (step.change.outcome, step.live) == (Outcome.REFUSED, ())
    assert step.change.reason == "it is a member of b0, which sets its members: name b0 instead"
    (step,) = steps(machine(bond), 9979, "b0")
    assert step.change.reason == "its driver takes 68 to 9978"


def test_below_1280_ipv6_would_be_lost(machine: Make, links: Links) -> None:
    addresses = {"/proc/net/if_inet6": "fe80000000000000000000fffe000001 02 40 20 80       e0\n"}
    (step,) = steps(machine([links("e0")], addresses), 1279)
    text = "below 1280 the kernel takes all IPv6 addresses off {}, and brings none back"
    assert (step.change.outcome, step.change.reason) == (Outcome.REFUSED, text.format("e0"))
    assert reasons(steps(machine([links("e0")], addresses), 1280)) == {"e0": None}
    assert reasons(steps(machine([links("e0")]), 1279)) == {"e0": None}
    assert reasons(steps(machine([links("e0", 1000)], addresses), 900)) == {"e0": None}  # it has none to lose any more
    vlan = {"/proc/net/if_inet6": "fe80000000000000000000fffe000001 03 40 20 80     e0.7\n"}
    found = steps(machine([links("e0"), links("e0.7", kind="vlan", parent="e0")], vlan), 1000, "e0")
    assert reasons(found) == {"e0": text.format("e0.7")}


def test_another_network_namespace(machine: Make, links: Links) -> None:
    text = "/sys shows another network namespace than ip does: set it on the host"
    assert reasons(steps(machine([links("e0", ifindex=77)]), 9000)) == {"e0": text}
    hidden = machine([links("e0")], commands={"ip -d -j link": {"stdout": "[]"}})
    assert reasons(steps(hidden, 9000)) == {"e0": "ip does not show it: it is in another network namespace"}


def test_a_container_cannot_write(machine: Make, links: Links) -> None:
    host = machine([links("e0")])
    host._overlay = None
    (step,) = steps(host, 9000)
    assert step.change.outcome is Outcome.REFUSED
    assert step.change.reason == "read-only here: in a container it is set on the host"
    (step,) = steps(host, 1500)
    assert step.change.outcome is Outcome.OK


def _rdma(name: str) -> RdmaPort:
    return RdmaPort("mlx5_" + name, 1, "ACTIVE", "LinkUp", 400, "Ethernet", 1024, None, None, None, None, name, ())


@pytest.mark.parametrize(
    ("now", "want", "text"),
    [
        (1500, 9000, ("RDMA MTU 1024 -> 4096",)),
        (9000, 8192, ("RDMA MTU stays 4096: 8192 changes nothing for RDMA",)),
        (8192, 9000, ("RDMA MTU stays 4096: 9000 changes nothing for RDMA",)),
        (4200, 9000, ("RDMA MTU stays 4096: 9000 changes nothing for RDMA",)),
        (9000, 1500, ("RDMA MTU 4096 -> 1024",)),
        (
            1500,
            4096,
            (
                "RDMA MTU 1024 -> 2048",
                "RDMA MTU 4096 needs 96 bytes more for headers: 4200 gives it, 4096 does not",
            ),
        ),
        (4096, 4096, ("RDMA MTU 4096 needs 96 bytes more for headers: 4200 gives it, 4096 does not",)),
        (9000, 9000, ()),
    ],
)
def test_the_rdma_mtu_that_results(machine: Make, links: Links, now: int, want: int, text: Tuple[str, ...]) -> None:
    (step,) = steps(machine([links("e0", now)]), want, rdma=(_rdma("e0"),))
    assert step.change.effects[: len(text)] == text
    assert not any("RDMA" in effect for effect in step.change.effects[len(text) :])


def test_virtual_functions(machine: Make, links: Links) -> None:
    """Their port's MTU is the limit, but no driver says so."""
    host = machine([links("pf", 9000), links("vf", 9000)])
    nics = tuple(_on_pci(name, address) for name, address in (("pf", "0000:01:00.0"), ("vf", "0000:01:00.1")))
    pci = (_device("0000:01:00.0", None), _device("0000:01:00.1", "0000:01:00.0"))
    (step,) = steps(host, 1500, "pf", nics=nics, pci=pci)
    assert step.change.effects[0] == ("vf breaks: it sends up to 9000 bytes, and pf carries 1500: set it to 1500")
    assert [step.change.subject.name for step in steps(host, 1500, "pf,vf", nics=nics, pci=pci)] == ["vf", "pf"]
    (step,) = steps(host, 9500, "vf", nics=nics, pci=pci)
    assert step.change.reason == "vf needs 9500 under it, and pf has 9000"


def _on_pci(name: str, address: str) -> Nic:
    return Nic(name, "physical", None, 9000, "up", True, 100000, "mlx5_core", None, address, 0, None, (), None)


def _device(address: str, physical_function: Optional[str]) -> PciDevice:
    values = (address, "15b3", "1021", "0200", "mlx5_core", 0, None, None, None, None, ())
    return PciDevice(*values, physical_function=physical_function)


def test_what_this_host_is_reached_by(machine: Make, links: Links) -> None:
    route = "Iface\tDestination\nbr0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
    stack = [links("e0", master="br0"), links("br0", kind="bridge"), links("e1")]
    found = steps(machine(stack, {"/proc/net/route": route}), 9000, "e0,e1")
    assert [(step.change.subject.name, step.management) for step in found] == [("e0", True), ("e1", False)]
    reason = "this host is reached by it (br0, which stands on it: default route): needs --allow-mgmt"
    assert found[0].change.effects[-1] == reason
    (step,) = steps(machine([links("e1")], {"/proc/net/route": None}), 9000)
    assert step.management
    assert step.change.effects[-1] == (
        "it may be what this host is reached by (there is no /proc/net/route): needs --allow-mgmt"
    )


NETPLAN = """\
network:
  ethernets:
    e0: {dhcp4: true, mtu: 1400}
    e1:
      mtu: 1500
  vlans:
    e1.7:
      link: e1
      mtu: 1500
"""


def owned(*names: str) -> Dict[str, Any]:
    """By netplan."""
    state = "ADMIN_STATE=configured\nNETWORK_FILE=/run/systemd/network/10-netplan-{}.network\n"
    found: Dict[str, Any] = {
        "/run/systemd/netif/links/{}".format(index): state.format(name) for index, name in enumerate(names, 2)
    }
    return dict(found, **{"/etc/netplan/50-x.yaml": NETPLAN})


def test_what_the_next_boot_gives(machine: Make, links: Links) -> None:
    host = machine([links("e1", 9000)], owned("e1"))
    (now,) = steps(host, 9000)
    assert (now.change.boot, now.change.boot_source) == ("1500", "/etc/netplan/50-x.yaml:5")
    assert (now.live, now.boot, now.change.outcome) == ((), (), Outcome.OK)
    (lasting,) = steps(host, 9000, persist=True)
    assert [write.place.name for write in lasting.boot] == ["/etc/netplan/90-brctl-e1.yaml"]
    assert lasting.after == (("netplan", "generate"),)
    (braces,) = steps(machine([links("e0")], owned("e0")), 1500)
    assert (braces.change.boot, braces.change.boot_source) == ("1400", "/etc/netplan/50-x.yaml:3")
    (same,) = steps(machine([links("e1", 9000)], owned("e1")), 1500, persist=True)
    assert (same.boot, writes(same)) == ((), [("e1", "1500")])


def test_what_comes_down_with_it_has_to_fit_at_the_next_boot_too(machine: Make, links: Links) -> None:
    host = machine([links("e1"), links("e1.7", kind="vlan", parent="e1", most=65535)], owned("e1", "e1.7"))
    (step,) = steps(host, 1400, "e1", persist=True)
    assert [write.place.name for write in step.boot] == [
        "/etc/netplan/90-brctl-e1.yaml",
        "/etc/netplan/90-brctl-e1.7.yaml",
    ]
    (step,) = steps(host, 9000, "e1", persist=True)
    assert [write.place.name for write in step.boot] == ["/etc/netplan/90-brctl-e1.yaml"]
    low = [links("e1", 1400), links("e1.7", 1400, kind="vlan", parent="e1", most=65535)]
    (step,) = steps(machine(low, owned("e1", "e1.7")), 1400, "e1", persist=True)
    assert [write.place.name for write in step.boot] == [
        "/etc/netplan/90-brctl-e1.yaml",
        "/etc/netplan/90-brctl-e1.7.yaml",
    ]


def test_a_link_that_is_as_wanted_is_not_touched_to_make_it_last(machine: Make, links: Links) -> None:
    """NetworkManager has it; whoever came in by it would have no guard."""
    path = "/etc/NetworkManager/system-connections/m.nmconnection"
    route = "Iface\tDestination\ne0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
    files = {
        "/proc/net/route": route,
        "/run/NetworkManager/devices/2": "[device]\nconnection-uuid=u1\n",
        path: "[connection]\nuuid=u1\ntype=ethernet\n\n[ethernet]\nmtu=1500\n",
    }
    load, reapply = ("nmcli", "connection", "load", path), ("nmcli", "device", "reapply", "e0")
    (step,) = steps(machine([links("e0", 9000)], files), 9000, persist=True)
    assert (step.live, step.after, step.management) == ((), (load,), False)
    assert [write.place.name for write in step.boot] == [path]
    (step,) = steps(machine([links("e0", 4200)], files), 9000, persist=True)
    assert (writes(step), step.after, step.management) == ([("e0", "9000")], (load, reapply), True)


def test_a_vlan_whose_files_alone_are_lowered_is_not_touched(machine: Make, links: Links) -> None:
    path = "/etc/NetworkManager/system-connections/m.nmconnection"
    owner = owned("e1")
    owner.update(
        {
            "/run/NetworkManager/devices/3": "[device]\nconnection-uuid=u1\n",
            path: "[connection]\nuuid=u1\ntype=vlan\n\n[ethernet]\nmtu=9000\n",
        }
    )
    load, reapply = ("nmcli", "connection", "load", path), ("nmcli", "device", "reapply", "e1.7")
    for mtu, commands in ((1400, (load,)), (4000, (load,)), (9000, (load, reapply))):
        stack = [links("e1", 9000), links("e1.7", mtu, kind="vlan", parent="e1", most=65535)]
        (step,) = steps(machine(stack, owner), 4000, "e1", persist=True)
        assert step.after[1:] == commands


def test_what_cannot_be_made_to_last(machine: Make, links: Links) -> None:
    (step,) = steps(machine([links("e0")]), 9000, persist=True)
    assert (step.change.outcome, step.live) == (Outcome.REFUSED, ())
    assert step.change.reason == "no file here says what brings it up, so its MTU cannot be made to last"
    (step,) = steps(machine([links("e0")], owned("e9")), 9000, persist=True)
    assert step.change.reason == "netplan made its setting, but no file says so in a form that brctl reads"


def test_an_owner_that_cannot_be_read_is_told_and_hinders_nothing_live(machine: Make, links: Links) -> None:
    host = machine([links("e0")], dict(owned("e0"), **{"/etc/netplan/50-x.yaml": {"errno": "EACCES"}}))
    (step,) = steps(host, 9000)
    assert writes(step) == [("e0", "9000")]
    assert step.change.effects[-1].startswith("what the next boot gives it cannot be told: ")
    (step,) = steps(host, 9000, persist=True)
    assert step.change.outcome is Outcome.REFUSED


def test_those_of_the_config_are_the_fabric(machine: Make) -> None:
    host = load("dgx-h100")
    reading, rdma = net.read(host), __import__("brctl.node.probe.rdma", fromlist=["rdma"]).read(host)
    assert reading
    assert rdma
    scene = Scene(Foreseen(host), Inventory(nics=reading.facts, rdma=rdma.facts), Wanted(mtu=9000), Expected(), True)
    found = list(plan(scene))
    rails = {"ens{}np0".format(number) for number in range(1, 9)}
    assert {step.change.subject.name for step in found} >= rails | {"bond0"}
    assert not {"eno1", "eno2", "enp27s0f0np0"} & {step.change.subject.name for step in found}
    so = [step for step in found if step.change.subject.name in rails | {"bond0"}]
    assert not any(step.live or step.boot for step in so)
