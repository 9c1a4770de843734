from typing import Any, Callable, Dict

import pytest

from brctl.node.facts import Inventory, LinkSettings
from brctl.node.report import HOST, Status

WELL = LinkSettings("", lossless=(3,), trust="dscp")
Settings = Callable[..., Inventory]


def test_all_alike(with_settings: Settings, examine: Callable[..., Any]) -> None:
    (found,) = examine(with_settings(WELL))
    assert (found.status, found.summary) == (Status.PASS, "8 RoCE ports: PFC on 3, trust dscp")


@pytest.mark.parametrize(
    ("fields", "summary"),
    [
        ({"lossless": ()}, "ens3np0: no PFC, trust dscp, 7 siblings: PFC on 3, trust dscp"),
        ({"lossless": (4,)}, "ens3np0: PFC on 4, trust dscp, 7 siblings: PFC on 3, trust dscp"),
        ({"trust": "pcp"}, "ens3np0: it takes priorities from the VLAN tag: RoCE by its DSCP goes to priority 0"),
    ],
)
def test_the_odd_one(
    with_settings: Settings, examine: Callable[..., Any], fields: Dict[str, Any], summary: str
) -> None:
    (found,) = examine(with_settings(WELL, 2, **fields))
    assert (found.status, found.summary, found.subject.name) == (Status.WARN, summary, "ens3np0")


def test_a_fabric_without_pfc_is_only_noted(with_settings: Settings, examine: Callable[..., Any]) -> None:
    (found,) = examine(with_settings(LinkSettings("", lossless=())))
    assert (found.status, found.subject) == (Status.INFO, HOST)
    assert found.summary.startswith("no RoCE port has PFC on any priority")


def test_without_a_tool_that_tells(with_settings: Settings, examine: Callable[..., Any]) -> None:
    (found,) = examine(with_settings(LinkSettings("")))
    assert (found.status, found.summary[:25]) == (Status.NA, "no RoCE port tells its pr")
