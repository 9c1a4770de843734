from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory
from brctl.node.report import Status


@pytest.fixture
def slotted(dgx: Inventory) -> Callable[..., Inventory]:
    """The node with the PCIe links of its cards, the third one otherwise."""

    def change(**fields: Any) -> Inventory:
        well = {"link_speed_gts": 32.0, "link_width": 16, "max_link_speed_gts": 32.0, "max_link_width": 16}
        odd = (dgx.nics or ())[3].pci
        pci = [one._replace(**well) if one.pci_class == "0200" else one for one in dgx.pci or ()]
        return dgx._replace(pci=tuple(one._replace(**fields) if one.address == odd else one for one in pci))

    return change


@pytest.mark.parametrize(
    ("fields", "summary"),
    [
        ({"link_width": 8}, "ens3np0: PCIe x8 at 32 GT/s, and the card can x16 at 32 GT/s"),
        ({"link_speed_gts": 16.0}, "ens3np0: PCIe x16 at 16 GT/s, and the card can x16 at 32 GT/s"),
        (
            {"link_speed_gts": 16.0, "max_link_speed_gts": 16.0},
            "ens3np0: its network links of 400 Gb/s want more than PCIe x16 at 16 GT/s carries (227 Gb/s)",
        ),
    ],
)
def test_a_link_that_is_not_enough(
    slotted: Callable[..., Inventory], examine: Callable[..., Any], fields: Any, summary: str
) -> None:
    (found,) = examine(slotted(**fields))
    assert (found.status, found.summary) == (Status.WARN, summary)


def test_a_link_that_is(slotted: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(slotted())
    assert (found.status, found.summary) == (Status.PASS, "8 RDMA cards: PCIe x16 at 32 GT/s")


def test_two_ports_share_a_slot(slotted: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    seen = slotted()
    first, second = (seen.nics or ())[1:3]
    address = str(first.pci).replace(".0", ".1")
    device = next(one for one in seen.pci or () if one.address == first.pci)
    nics = tuple(nic._replace(pci=address) if nic is second else nic for nic in seen.nics or ())
    ports = tuple(one._replace(pci=address) if one.netdev == second.name else one for one in seen.rdma or ())
    pci = (*(seen.pci or ()), device._replace(address=address))
    (found,) = examine(seen._replace(nics=nics, rdma=ports, pci=pci))
    assert found.summary.startswith("ens1np0: its network links of 800 Gb/s want more than PCIe x16 at 32 GT/s")


def test_a_virtual_machine_tells_no_link(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx)
    assert (found.status, found.summary) == (Status.NA, "no RDMA card tells its PCIe link")
