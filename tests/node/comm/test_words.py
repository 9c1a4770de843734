"""Words that NCCL knows, as its source reads them."""

from typing import Optional, Tuple

import pytest

from brctl.node.comm.variables import VARIABLES
from brctl.node.comm.words import WORDS, unknown


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DEBUG", "trace"),
        ("DEBUG", " INFO "),
        ("DEBUG", "none"),
        ("DEBUG", ""),
        ("DEBUG_SUBSYS", "^init, COLL,"),
        ("DEBUG_TIMESTAMP_LEVELS", "ALL"),
        ("ALGO", "^NVLSTree,ring"),
        ("ALGO", "Tree;allreduce:tree,RING;Broadcast:^pat"),
        ("PROTO", "simple"),
        ("P2P_LEVEL", "PHB"),
        ("P2P_LEVEL", "4"),
        ("NET_MERGE_LEVEL", "PORT"),
        ("NETDEVS_POLICY", "max:4"),
        ("CTA_POLICY", "efficiency|ZERO"),
        ("CTA_POLICY", "2"),
        ("SET_THREAD_NAME", "true"),
        ("SOCKET_IFNAME", "anything"),
    ],
)
def test_what_is_known(name: str, value: str) -> None:
    assert unknown("NCCL_" + name, value) is None


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("DEBUG", "TRCE", ("TRCE", "TRACE")),
        ("DEBUG", "3", ("3", None)),
        ("DEBUG_SUBSYS", "INIT,GRPH", ("GRPH", "GRAPH")),
        ("DEBUG_SUBSYS", "^^INIT", ("^INIT", "INIT")),
        ("ALGO", "Ring, Tree", (" Tree", "Tree")),  # no blank is removed there
        ("ALGO", "allgathr:ring", ("allgathr", "AllGather")),
        ("ALGO", "Collnet", ("Collnet", "CollNetChain")),  # until 2.13
        ("PROTO", "LL256", ("LL256", "LL128")),
        ("P2P_LEVEL", "nvl", ("nvl", "NVL")),
        ("NET_GDR_LEVEL", "PXX", ("PXX", "PXN")),
        ("NETDEVS_POLICY", "MAX:0", ("MAX:0", "MAX:N")),
        ("CTA_POLICY", "3", ("3", None)),
        ("LAUNCH_MODE", "GROUPS", ("GROUPS", "GROUP")),
        ("SOCKET_FAMILY", "af_inet6", ("af_inet6", "AF_INET6")),
    ],
)
def test_what_is_not(name: str, value: str, told: Tuple[str, Optional[str]]) -> None:
    found = unknown("NCCL_" + name, value)
    assert found is not None
    assert (found.word, found.nearest) == told


def test_every_one_is_a_variable_that_is_read_as_text() -> None:
    assert all(name in VARIABLES and not VARIABLES[name].numeric for name in WORDS)
