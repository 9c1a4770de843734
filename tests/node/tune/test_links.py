"""Who stands on whom, and what becomes of their MTUs."""

from typing import Any, Callable

import pytest

from brctl.node.host.machine import Machine
from brctl.node.tune.links import Link, LinksError, Stack, parse_links, read

Links = Callable[..., Any]
Make = Callable[..., Machine]


def test_what_ip_says() -> None:
    text = """[{"ifindex":3,"ifname":"br0","mtu":1500,"min_mtu":68,"max_mtu":65535,"address":"02:00:00:00:00:01",
        "linkinfo":{"info_kind":"bridge","info_data":{"link":"no"}}},
        {"ifindex":4,"link":"v1","ifname":"v0","mtu":1500,"master":"br0","linkinfo":{"info_kind":"veth"}},
        {"ifindex":5,"ifname":"vx","mtu":1450,"linkinfo":{"info_kind":"vxlan","info_data":{"id":5,"link":"v1"}}},
        {"ifindex":6,"ifname":"v6","mtu":1430,"linkinfo":{"info_kind":"vxlan","info_data":{"link":"v1","group6":"::"}}},
        {"ifindex":7,"link":"v0","ifname":"mv","mtu":9,"linkinfo":{"info_kind":"macvlan"}},{},
        {"ifindex":8,"ifname":"e0","mtu":9,"address":"02:1","permaddr":"02:2"}]"""
    br0, v0, vx, v6, mv, e0 = parse_links(text)
    assert br0 == Link("br0", 3, "bridge", 1500, 68, 65535, "02:00:00:00:00:01", None, None, 0)
    assert v0 == Link("v0", 4, "veth", 1500, 0, 0, "", "br0", None, 0)
    assert (vx.parent, vx.overhead_bytes, v6.overhead_bytes) == ("v1", 50, 70)
    assert (mv.parent, mv.overhead_bytes, e0.mac) == ("v0", 0, "02:2")


def test_the_mtu_is_that_of_sys(machine: Make, links: Links) -> None:
    host = machine([links("e0", 1500)], {"/sys/class/net/e0/mtu": "9000\n"})
    assert [(one.name, one.mtu) for one in read(host)] == [("e0", 9000)]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "ip is not installed, which tells what an interface can take and what stands on it"),
        ({"returncode": 255, "stderr": 'Option "-j" is unknown'}, 'ip -d -j link: Option "-j" is unknown'),
        ({"returncode": 1}, "ip -d -j link: no answer"),
        ({"stdout": "1: lo: <LOOPBACK>"}, "ip -d -j link has another form: JSONDecodeError"),
        ({"stdout": '[{"ifname": "e0"}]'}, "ip -d -j link has another form: KeyError('ifindex')"),
        ({"stdout": "[7]"}, "ip -d -j link has another form: AttributeError"),
    ],
)
def test_what_ip_does_not_say(machine: Make, answer: Any, words: str) -> None:
    with pytest.raises(LinksError) as caught:
        read(machine([], commands={"ip -d -j link": answer}))
    assert str(caught.value).startswith(words)


def _stack(*links: Link, **functions: str) -> Stack:
    return Stack(links, functions)


def _link(name: str, mtu: int = 1500, kind: str = "", **more: Any) -> Link:
    return Link(name, 1, kind, mtu, 68, 9978, "", more.get("master"), more.get("parent"), more.get("overhead", 0))


TOWER = (
    _link("e0", master="bond0"),
    _link("e1", master="bond0")._replace(min_mtu=100, max_mtu=9000),
    _link("bond0", kind="bond", parent=None)._replace(max_mtu=65535),
    _link("bond0.7", kind="vlan", parent="bond0"),
    _link("br0", kind="bridge"),
    _link("tap", kind="tun", master="br0"),
    _link("vx", 1450, "vxlan", parent="bond0.7", overhead=50)._replace(max_mtu=0),
)


def test_who_stands_on_whom() -> None:
    stack = _stack(*TOWER)
    assert stack.below("bond0") == ["e0", "e1"]
    assert stack.above("e0") == ["bond0"]
    assert stack.all_above("e1") == ["bond0", "bond0.7", "vx"]
    assert stack.all_below(["vx", "tap"]) == {"vx", "bond0.7", "bond0", "e0", "e1", "tap"}
    assert [stack.depth(name) for name in ("e0", "bond0", "bond0.7", "vx", "br0")] == [0, 2, 3, 4, 1]
    assert stack.below("nowhere") == []


def test_a_virtual_function_stands_on_its_card() -> None:
    stack = _stack(_link("pf"), _link("vf"), vf="pf")
    assert (stack.below("vf"), stack.above("pf")) == (["pf"], ["vf"])


def test_bounds_are_those_of_all_that_is_set() -> None:
    stack = _stack(*TOWER)
    assert stack.bounds("bond0") == (100, 9000)
    assert stack.bounds("e0") == (68, 9978)
    assert stack.bounds("vx") == (68, 0)


@pytest.mark.parametrize(
    ("wanted", "changed"),
    [
        ({"bond0": 9000}, {"e0": 9000, "e1": 9000, "bond0": 9000}),
        ({"bond0": 1400}, {"e0": 1400, "e1": 1400, "bond0": 1400, "bond0.7": 1400}),
        ({"bond0": 9000, "bond0.7": 9000}, {"e0": 9000, "e1": 9000, "bond0": 9000, "bond0.7": 9000}),
        ({"tap": 9000}, {"tap": 9000, "br0": 9000}),
        ({"br0": 1400}, {"br0": 1400}),
        ({"vx": 1400}, {"vx": 1400}),
    ],
)
def test_what_follows_and_what_does_not(wanted: Any, changed: Any) -> None:
    """A VLAN goes down and never up, a bridge both ways, a VXLAN neither."""
    stack = _stack(*TOWER)
    then = stack.will_be(wanted)
    assert {name: mtu for name, mtu in then.items() if mtu != stack.links[name].mtu} == changed


def test_a_bridge_that_somebody_set_does_not_follow() -> None:
    stack = _stack(_link("e0", master="br0"), _link("br0", 1400, "bridge"), _link("iv", kind="ipvlan", parent="e0"))
    assert stack.will_be({"e0": 9000}) == {"e0": 9000, "br0": 1400, "iv": 9000}
