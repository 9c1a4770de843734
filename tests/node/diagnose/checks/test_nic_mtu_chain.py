from typing import Any, Callable, Tuple

import pytest

from brctl.node.facts import Inventory, Nic
from brctl.node.report import Status


def link(name: str, kind: str, mtu: int, lower: Tuple[str, ...] = (), master: Any = None) -> Nic:
    return Nic(name, kind, None, mtu, "up", True, None, None, None, None, None, master, lower, None)


@pytest.mark.parametrize(
    ("above", "below", "words"),
    [
        (link("v", "vlan", 9000, ("eth0",)), link("eth0", "physical", 9000), None),
        (link("v", "vlan", 9000, ("eth0",)), link("eth0", "physical", 1500), "v: MTU 9000, and eth0 under it only"),
        (link("x", "vxlan", 1450, ("eth0",)), link("eth0", "physical", 1500), None),
        (link("x", "vxlan", 1500, ("eth0",)), link("eth0", "physical", 1500), "x: MTU 1500 and 50 bytes of headers"),
        (link("br0", "bridge", 1500), link("eth0", "physical", 9000, master="br0"), None),
        (link("br0", "bridge", 9000), link("eth0", "physical", 1500, master="br0"), "br0: MTU 9000, and eth0 under it"),
    ],
)  # fmt: skip
def test_what_stands_on_what(examine: Callable[..., Any], above: Nic, below: Nic, words: Any) -> None:
    (found,) = examine(Inventory(nics=(above, below)))
    if words is None:
        assert (found.status, found.summary) == (Status.PASS, "1 of 1 interfaces fit into what they stand on")
    else:
        assert (found.status, found.subject.name) == (Status.WARN, above.name)
        assert found.summary.startswith(words)


def test_a_bond_is_for_nic_mtu(examine: Callable[..., Any]) -> None:
    nics = (link("bond0", "bond", 9000), link("eth0", "physical", 1500, master="bond0"))
    assert examine(Inventory(nics=nics))[0].status is Status.NA
