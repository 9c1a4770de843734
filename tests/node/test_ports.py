from typing import Any, List, Optional, Sequence, Tuple

import pytest

from brctl.node import ports
from brctl.node.facts import Inventory, Nic, PciDevice, Problem, RdmaPort
from brctl.node.request import Expected, ExpectedNics

IPOIB_MAC = "00:00:10:49:" + ":".join(["fe", "80"] + ["00"] * 6 + ["94"] * 8)


def a_nic(name: str, kind: str = "physical", **fields: Any) -> Nic:
    empty = Nic(name, kind, None, 1500, "up", True, None, None, None, None, None, None, (), None)
    return empty._replace(**fields)


def a_port(device: str, netdev: Optional[str], **fields: Any) -> RdmaPort:
    empty = RdmaPort(device, 1, "ACTIVE", "LinkUp", 200.0, "Ethernet", 4096, "22.41.1000", None, None, None, netdev, ())
    return empty._replace(**fields)


def a_card(address: str, **fields: Any) -> PciDevice:
    card = PciDevice(address, "15b3", "1021", "0200", "mlx5_core", 0, None, None, None, None, ())
    return card._replace(**fields)


def names(found: Sequence[ports.Port]) -> List[str]:
    return [port.subject.name for port in found]


def kinds(seen: Inventory) -> Any:
    return {port.subject.name: port.kind for port in ports.ports(seen)}


@pytest.fixture
def lag() -> Inventory:
    """RoCE on a bond of both ports of one card: only the first function has the RDMA device, and that is the bond's."""
    return Inventory(
        pci=tuple(a_card("0000:5e:00.{}".format(number)) for number in (0, 1)),
        nics=(
            a_nic("bond0", "bond", lower=("ens6f0np0", "ens6f1np1"), speed_mbps=400000),
            a_nic("bond0.7", "vlan", lower=("bond0",)),
            a_nic("br0", "bridge", lower=("bond0",)),
            a_nic("eno1", driver="tg3"),
            a_nic("ens6f0np0", pci="0000:5e:00.0", master="bond0", rdma="mlx5_bond_0", speed_mbps=200000),
            a_nic("ens6f1np1", pci="0000:5e:00.1", master="bond0", speed_mbps=200000),
        ),
        rdma=(a_port("mlx5_bond_0", "bond0", pci="0000:5e:00.0"),),
    )


def test_a_bonds_rdma_device_is_that_of_all_its_ports(lag: Inventory) -> None:
    assert kinds(lag) == {
        "bond0": "roce",
        "bond0.7": "roce",
        "br0": "ethernet",
        "eno1": "ethernet",
        "ens6f0np0": "roce",
        "ens6f1np1": "roce",
    }


def test_a_bond_that_has_no_gid_yet_is_known_by_its_ports(lag: Inventory) -> None:
    seen = lag._replace(rdma=(a_port("mlx5_bond_0", "ens6f0np0", pci="0000:5e:00.0"),))
    assert (kinds(seen)["bond0"], kinds(seen)["bond0.7"]) == ("roce", "roce")


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        ("ens6*", ["ens6f0np0", "ens6f1np1"]),
        ("mlx5_bond_0", ["ens6f0np0"]),  # once, and not as the bond too
        ("mlx5_*", ["ens6f0np0"]),
        ("bond*", ["bond0"]),
        ("bond0, bond0.7", ["bond0", "bond0.7"]),
    ],
)
def test_what_patterns_name(lag: Inventory, patterns: str, found: List[str]) -> None:
    assert names(ports.named(lag, patterns)) == found


def test_without_patterns_both_ports_of_the_bond_are_meant(lag: Inventory) -> None:
    assert names(ports.expected(lag, Expected())) == ["ens6f0np0", "ens6f1np1"]


def test_ipoib_with_a_partition_key() -> None:
    """Also where RDMA could not be read: an address of 20 octets is InfiniBand's."""
    nics = (a_nic("ib0", rdma="mlx5_0", mac=IPOIB_MAC), a_nic("ib0.8001", "virtual", mac=IPOIB_MAC))
    hca = a_port("mlx5_0", "ib0", link_layer="InfiniBand")
    assert kinds(Inventory(nics=nics, rdma=(hca,))) == {"ib0": "infiniband", "ib0.8001": "infiniband"}
    assert kinds(Inventory(nics=nics)) == {"ib0": "infiniband", "ib0.8001": "infiniband"}
    assert names(ports.expected(Inventory(nics=nics, rdma=(hca,)), Expected())) == ["ib0"]


def test_an_interface_with_an_rdma_device_of_which_nothing_is_known_is_roce() -> None:
    assert kinds(Inventory(nics=(a_nic("ens1np0", rdma="mlx5_0"),))) == {"ens1np0": "roce"}


@pytest.fixture
def efa() -> Inventory:
    """Four adapters without an interface, and one Ethernet port that is another device."""
    functions = ["0000:0{}:00.0".format(number) for number in range(5)]
    cards = [a_card(function, vendor_id="1d0f", device_id="efa3", driver="efa") for function in functions]
    rdma = [
        a_port("rdmap{}s0".format(n), None, link_layer="Unspecified", pci=functions[n], rate_gbps=100.0)
        for n in range(1, 5)
    ]
    cards[0] = cards[0]._replace(device_id="ec20", driver="ena")
    return Inventory(pci=tuple(cards), nics=(a_nic("ens5", pci=functions[0], driver="ena"),), rdma=tuple(rdma))


def test_efa_needs_no_interface(efa: Inventory) -> None:
    found = ports.expected(efa, Expected(nics=ExpectedNics(nic_count=4)))
    assert names(found) == ["rdmap1s0", "rdmap2s0", "rdmap3s0", "rdmap4s0"]
    assert {(port.kind, port.fault, port.speed_mbps) for port in found} == {("efa", None, 100000)}
    assert found[0].path("speed", "rate") == "/sys/class/infiniband/rdmap1s0/ports/1/rate"
    assert len(ports.named(efa, "rdmap*")) == 4
    assert ports.absent(efa) == ()


@pytest.fixture
def sriov(dgx: Inventory) -> Inventory:
    """The node with three virtual functions of its first card, which have interfaces and RDMA devices."""
    parts = ["0000:18:01.{}".format(number) for number in range(3)]
    return dgx._replace(
        pci=(*(dgx.pci or ()), *(a_card(part, device_id="101e", physical_function="0000:18:00.0") for part in parts)),
        nics=(
            *(dgx.nics or ()),
            *(a_nic("ens1v{}".format(n), pci=part, rdma="mlx5_2{}".format(n)) for n, part in enumerate(parts)),
        ),
        rdma=(
            *(dgx.rdma or ()),
            *(a_port("mlx5_2{}".format(n), "ens1v{}".format(n), pci=part) for n, part in enumerate(parts)),
        ),
    )


@pytest.mark.parametrize(
    ("patterns", "count"), [(None, 8), ("ens*", 8), ("mlx5_*", 8), ("ens1np0, ens1v0", 2), ("ens*v*", 3), ("e*", 9)]
)
def test_virtual_functions_are_named_in_full_or_alone(sriov: Inventory, patterns: Optional[str], count: int) -> None:
    assert len(ports.expected(sriov, Expected(nics=ExpectedNics(patterns)))) == count


def test_virtual_functions_of_infiniband_without_interfaces(dgx: Inventory) -> None:
    part = a_card("0000:18:00.1", pci_class="0207", physical_function="0000:18:00.0")
    bare = [port._replace(link_layer="InfiniBand", netdev=None) for port in dgx.rdma or ()]
    seen = dgx._replace(
        pci=(*(dgx.pci or ()), part), nics=(), rdma=(*bare, bare[0]._replace(device="mlx5_8", pci=part.address))
    )
    assert len(ports.expected(seen, Expected())) == 8


def without(seen: Inventory, *rails: str) -> Inventory:
    return seen._replace(nics=tuple(nic for nic in seen.nics or () if nic.name not in rails))


RAILS = tuple("ens{}np0".format(number) for number in range(1, 9))


def test_rails_lent_to_a_pod(dgx: Inventory) -> None:
    """Their RDMA devices may still be seen; that of a renamed interface names one of ours."""
    seen = without(dgx, *RAILS)
    assert [device.address for device in ports.lent(seen)] == ["0000:{:02x}:00.0".format(0x18 + n) for n in range(8)]
    assert names(ports.expected(seen, Expected(nics=ExpectedNics(nic_count=8, speed_mbps=400000)))) == []
    assert [device.address for device in ports.lent(without(dgx, "ens4np0"))] == ["0000:1b:00.0"]
    rdma = [port._replace(netdev="eno1") for port in dgx.rdma or ()]
    eno1 = (dgx.nics or ())[0]._replace(pci="0000:01:00.0")
    assert kinds(dgx._replace(nics=(eno1,), rdma=tuple(rdma))) == {"eno1": "ethernet"}
    own = a_port("mlx5_9", "eno1", pci=eno1.pci)
    (port,) = ports.ports(dgx._replace(nics=(eno1,), rdma=(*rdma, own)))
    assert port.rdma == own


@pytest.mark.parametrize(
    ("fields", "rdma", "is_lent"),
    [
        ({}, None, True),
        ({"driver": None}, None, False),
        ({"driver": "vfio-pci"}, None, False),
        ({"physical_function": "0000:18:00.0"}, None, False),
        ({"pci_class": "0207"}, None, False),  # the modules of InfiniBand are not loaded
        ({"pci_class": "0207"}, (), True),
        ({"pci_class": "0108"}, (), False),
    ],
)
def test_what_is_lent(fields: Any, rdma: Any, is_lent: bool) -> None:
    card = a_card("0000:18:00.0", **fields)
    assert ports.lent(Inventory(pci=(card,), nics=(), rdma=rdma)) == ((card,) if is_lent else ())


def test_a_laptop_and_a_virtual_machine_are_judged_by_nobody() -> None:
    wifi = a_card("0000:00:14.3", vendor_id="8086", pci_class="0280", driver="iwlwifi")
    laptop = Inventory(pci=(wifi,), nics=(a_nic("lo", "loopback"), a_nic("wlan0", pci=wifi.address)))
    gvnic = a_card("0000:00:04.0", vendor_id="1ae0", driver="gvnic")
    machine = Inventory(pci=(gvnic,), nics=(a_nic("lo", "loopback"), a_nic("ens4", pci=gvnic.address)))
    for seen, name in ((laptop, "wlan0"), (machine, "ens4")):
        assert ports.expected(seen, Expected()) == ()
        assert names(ports.expected(seen, Expected(nics=ExpectedNics(nic_count=1)))) == [name]
        assert ports.lent(seen) == ()


def with_problem(seen: Inventory, part: str, subject: str, field: Optional[str] = None) -> Inventory:
    return seen._replace(problems=(Problem(part, "error", subject + ": no", subject, field),))


def the(seen: Inventory, name: str) -> ports.Port:
    (port,) = ports.named(seen, name)
    return port


def test_what_could_not_be_read_is_no_fault(dgx: Inventory) -> None:
    nics = [nic._replace(carrier=None) if nic.name == "ens1np0" else nic for nic in dgx.nics or ()]
    seen = dgx._replace(nics=tuple(nics))
    assert the(seen, "ens1np0").fault == ports.DOWN
    unread = the(with_problem(seen, "nics", "ens1np0", "carrier"), "ens1np0")
    assert unread.fault is None
    assert unread.unread("nics", "carrier", "speed_mbps")
    assert unread.unread("nics", "firmware") is None
    assert unread.unread("rdma", "carrier") is None
    hung = the(with_problem(seen, "nics", "ens1np0"), "ens1np0")
    assert (hung.fault, bool(hung.unread("nics", "firmware"))) == (None, True)
    assert the(with_problem(seen, "nics", "ens2np0"), "ens1np0").problems == ()


def test_the_state_of_infiniband_that_could_not_be_read(dgx: Inventory) -> None:
    port = a_port("mlx5_9", None, link_layer="InfiniBand", state=None, rate_gbps=None, port=2)
    unread = the(with_problem(Inventory(rdma=(port,)), "rdma", "mlx5_9/2", "state"), "mlx5_9/2")
    assert (unread.fault, unread.speed_mbps) == (None, None)
    assert unread.unread("rdma", "state", "rate_gbps")
    assert the(Inventory(rdma=(port._replace(state="DOWN"),)), "mlx5_9/2").fault == "no link (DOWN, LinkUp)"


def test_unlisted(dgx: Inventory) -> None:
    problems = (
        Problem("nics", "error", "no", "ens9np0"),
        Problem("nics", "error", "no", "ens1np0", "speed_mbps"),
        Problem("rdma", "hung", "no", "mlx5_9"),
        Problem("rdma", "hung", "no", "mlx5_0"),
        Problem("nics", "error", "no"),
        Problem("pci", "error", "no", "0000:99:00.0"),
    )
    found = ports.unlisted(dgx._replace(problems=problems))
    assert [problem.subject for problem in found] == ["ens9np0", "mlx5_9"]


def test_four_thousand_interfaces_are_no_trouble() -> None:
    pairs: Tuple[Nic, ...] = tuple(a_nic("veth{}".format(number), "veth") for number in range(4000))
    seen = Inventory(nics=(*pairs, a_nic("ens1np0", rdma="mlx5_0")))
    assert names(ports.expected(seen, Expected())) == ["ens1np0"]
    assert names(ports.named(seen, "ens*,veth7")) == ["veth7", "ens1np0"]
