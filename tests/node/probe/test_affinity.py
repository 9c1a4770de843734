from typing import List, Optional, Sequence

import pytest

from brctl.node.facts import Nic, PciDevice
from brctl.node.probe.affinity import Nearest, nearest, path


def device(address: str, ancestors: str, numa_node: Optional[int] = 0) -> PciDevice:
    above = tuple(ancestors.split())
    return PciDevice(address, "10de", "2330", "0302", None, numa_node, None, None, None, None, above)


def nic(name: str, pci: Optional[str], rdma: Optional[str] = "mlx5") -> Nic:
    return Nic(name, "physical", None, 1500, "up", True, None, None, None, pci, None, None, (), rdma)


SWITCH = "pci0000:15 0000:15:01.0 0000:16:00.0"


@pytest.mark.parametrize(
    ("one", "other", "numa_nodes", "expected"),
    [
        (SWITCH + " 0000:17:00.0", SWITCH + " 0000:17:01.0", (0, 0), "PIX"),
        ("pci0000:15 0000:15:01.0", "pci0000:15 0000:15:01.0", (0, 0), "PIX"),  # two functions of one device
        (SWITCH + " 0000:17:00.0 0000:18:00.0 0000:19:00.0", SWITCH + " 0000:17:01.0", (0, 0), "PXB"),
        ("pci0000:15 0000:15:01.0", "pci0000:15 0000:15:02.0", (0, 0), "PHB"),
        ("pci0000:15", "pci0000:15", (0, 0), "PHB"),
        ("pci0000:15 0000:15:01.0", "pci0000:37 0000:37:01.0", (0, 0), "NODE"),
        ("pci0000:15 0000:15:01.0", "pci0000:b7 0000:b7:01.0", (0, 1), "SYS"),
        ("pci0000:15", "pci0000:37", (None, None), "NODE"),  # one node, or the firmware does not say
        ("pci0000:15", "pci0000:37", (0, None), "SYS"),
    ],
)
def test_paths(one: str, other: str, numa_nodes: Sequence[Optional[int]], expected: str) -> None:
    first, second = device("a", one, numa_nodes[0]), device("b", other, numa_nodes[1])
    assert (path(first, second), path(second, first)) == (expected, expected)


def board(switches: int, each: int) -> List[PciDevice]:
    """Switches with `each` GPUs (sS-gN) and as many NICs (sS-nN); two switches on each NUMA node."""
    found = []
    for switch in range(switches):
        above = "pci0000:{0} 0000:{0}:01.0 0000:{0}:02.0 ".format(switch)
        for place in range(each):
            for kind in "gn":
                port = above + "port-{}{}".format(kind, place)
                found.append(device("s{}-{}{}".format(switch, kind, place), port, switch // 2))
    return found


def test_virtual_functions_are_near_to_nothing() -> None:
    pci = board(1, 1)
    (card,) = [d for d in pci if "-n" in d.address]
    part = card._replace(address="a-virtual-one", physical_function=card.address)
    found = nearest(["s0-g0"], [*pci, part], [nic("v0", part.address), nic("n0", card.address)])
    assert found == {"s0-g0": Nearest("n0", "PIX")}


def test_gpus_on_one_switch_share_its_nics_out() -> None:
    pci = board(4, 2)
    nics = [nic("{}-{}".format(d.address[:2], d.address[3:]), d.address) for d in pci if "-n" in d.address]
    gpus = [d.address for d in pci if "-g" in d.address]
    assert nearest(gpus[::-1], pci, nics[::-1]) == {
        "s{}-g{}".format(switch, place): Nearest("s{}-n{}".format(switch, place), "PIX")
        for switch in range(4)
        for place in range(2)
    }


def test_more_gpus_than_nics_take_turns() -> None:
    pci = board(1, 4)
    found = nearest(["s0-g0", "s0-g1", "s0-g2", "s0-g3"], pci, [nic("b", "s0-n3"), nic("a", "s0-n1")])
    assert [found["s0-g{}".format(place)].nic for place in range(4)] == ["a", "b", "a", "b"]


def test_a_nic_without_rdma_counts_only_where_none_has_it() -> None:
    pci = board(2, 1)
    near, far = nic("eno1", "s0-n0", rdma=None), nic("ens1", "s1-n0")
    assert nearest(["s0-g0"], pci, [near, far]) == {"s0-g0": Nearest("ens1", "NODE")}
    assert nearest(["s0-g0"], pci, [near]) == {"s0-g0": Nearest("eno1", "PIX")}


def test_two_ports_of_one_function_are_told_by_name() -> None:
    pci = board(1, 1)
    assert nearest(["s0-g0"], pci, [nic("p1", "s0-n0"), nic("p0", "s0-n0")])["s0-g0"].nic == "p0"


def test_what_cannot_be_placed_is_left_out() -> None:
    pci = board(1, 1)
    assert nearest(["s0-g0", "elsewhere"], pci, [nic("bond0", None), nic("usb0", "0000:00:14.0")]) == {}
    assert nearest(["elsewhere"], pci, [nic("p0", "s0-n0")]) == {}
    assert nearest(["s0-g0"], (), ()) == {}
