from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory, LinkSettings, Problem, Ring
from brctl.node.report import Status

WELL = LinkSettings("", ring=Ring(1024, 8192))
Settings = Callable[..., Inventory]


def test_all_alike_and_one_odd(with_settings: Settings, examine: Callable[..., Any]) -> None:
    (found,) = examine(with_settings(WELL))
    assert (found.status, found.summary) == (Status.PASS, "8 of 8 NICs: receive ring of 1024")
    (found,) = examine(with_settings(WELL, 2, ring=Ring(128, 8192)))
    assert found.summary == "ens3np0: receive ring of 128, 7 siblings: receive ring of 1024"
    assert found.evidence[0].source == "ethtool -g ens3np0"


@pytest.mark.parametrize(
    ("ring", "drops", "status"),
    [(Ring(1024, 8192), 51, Status.WARN), (Ring(1024, 8192), 50, Status.PASS), (Ring(8192, 8192), 900, Status.PASS)],
)
def test_drops_for_lack_of_descriptors(
    with_settings: Settings, grow: Callable[..., Any], ring: Ring, drops: int, status: Status
) -> None:
    settings = with_settings(LinkSettings("", ring=ring)).link_settings
    (found,) = grow({"ens3np0": {"rx_out_of_buffer": drops}}, 5, link_settings=settings)
    assert found.status is status
    if status is Status.WARN:
        assert found.summary.endswith("lack of receive descriptors, and its ring has 1024 of 8192")


def test_what_could_not_be_read(with_settings: Settings, examine: Callable[..., Any]) -> None:
    problem = Problem("link_settings", "hung", "ethtool -g did not return", "ens3np0", "ring")
    found = examine(with_settings(WELL, 2, ring=None)._replace(problems=(problem,)))
    assert [(one.status, one.subject.name) for one in found if one.status is Status.UNKNOWN] == [
        (Status.UNKNOWN, "ens3np0")
    ]
