from typing import Any, Callable, Dict

import pytest

from brctl.node.facts import Inventory, Sysctl
from brctl.node.report import Status

GOOD = {
    "net.core.rmem_max": "67108864",
    "net.core.wmem_max": "67108864",
    "net.ipv4.tcp_rmem": "4096 131072 67108864",
    "net.ipv4.tcp_wmem": "4096 65536 67108864",
}


def seen(dgx: Inventory, values: Dict[str, str]) -> Inventory:
    return dgx._replace(sysctls=tuple(Sysctl(key, value) for key, value in values.items()))


def test_large_enough(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(seen(dgx, GOOD))
    assert (found.status, found.summary) == (Status.PASS, "at least 16 MiB each")
    (found,) = examine(seen(dgx, {}))
    assert found.status is Status.PASS


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("net.core.rmem_max", "212992", "net.core.rmem_max 208 KiB"),
        ("net.ipv4.tcp_rmem", "4096 131072 6291456", "net.ipv4.tcp_rmem 6144 KiB"),
    ],
)
def test_small(dgx: Inventory, examine: Callable[..., Any], key: str, value: str, words: str) -> None:
    (found,) = examine(seen(dgx, {**GOOD, key: value}))
    assert (found.status, found.summary) == (Status.WARN, "small for ens1np0: " + words)
    assert key in found.remedy


def test_where_it_does_not_matter(dgx: Inventory, examine: Callable[..., Any]) -> None:
    small = seen(dgx, {"net.core.rmem_max": "212992"})
    slow = tuple(nic._replace(speed_mbps=25000) for nic in dgx.nics or ())
    for one in (small._replace(nics=slow), small._replace(nics=None), small._replace(gpus=(), pci=())):
        (found,) = examine(one)
        assert found.status is Status.NA
