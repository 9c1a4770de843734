from typing import Any, Callable, Tuple

import pytest

from brctl.node.facts import AcsPort, Inventory, Problem
from brctl.node.report import Status

REDIRECTS = ("SrcValid", "ReqRedir", "CmpltRedir", "UpstreamFwd")
PORT = "0000:50:01.0"


@pytest.fixture
def tree(dgx: Inventory) -> Inventory:
    """GPU 0 below a bridge."""
    pci = tuple(
        one._replace(ancestors=("pci0000:50", PORT)) if one.address == "0000:53:00.0" else one for one in dgx.pci or ()
    )
    return dgx._replace(pci=pci)


@pytest.mark.parametrize(
    ("enabled", "status"),
    [((), Status.PASS), (("SrcValid",), Status.PASS), (REDIRECTS, Status.WARN), (("ReqRedir",), Status.WARN)],
)
def test_a_bridge_above_a_gpu(
    tree: Inventory, examine: Callable[..., Any], enabled: Tuple[str, ...], status: Status
) -> None:
    (found,) = examine(tree._replace(acs=(AcsPort(PORT, enabled),)))
    assert found.status is status
    assert bool(found.remedy) is (status is Status.WARN)


def test_what_it_says(tree: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(tree._replace(acs=(AcsPort(PORT, REDIRECTS), AcsPort("0000:00:1c.0", REDIRECTS))))
    assert found.summary == "1 of 1 bridges above GPUs and NICs send peer-to-peer traffic to the CPU"
    assert found.evidence[0][:2] == (PORT, "SrcValid ReqRedir CmpltRedir UpstreamFwd")
    assert "setpci -s 0000:50:01.0 ECAP_ACS+6.w=0" in found.remedy


def test_where_the_tree_is_not_known_every_bridge_counts(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx._replace(acs=(AcsPort("0000:00:1c.0", REDIRECTS),)))
    assert found.status is Status.WARN


def test_where_it_does_not_matter(tree: Inventory, examine: Callable[..., Any]) -> None:
    wrong = tree._replace(acs=(AcsPort(PORT, REDIRECTS),))
    for seen in (wrong._replace(hypervisor="KVM"), wrong._replace(gpus=(), pci=())):
        (found,) = examine(seen)
        assert found.status is Status.NA


def test_one_that_may_not_be_seen(tree: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(tree._replace(acs=None, problems=(Problem("acs", "permission", "lspci: Permission denied"),)))
    assert (found.status, found.reason) == (Status.UNKNOWN, "permission")
