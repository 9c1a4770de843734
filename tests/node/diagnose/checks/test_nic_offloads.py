from typing import Any, Callable

from brctl.node.facts import Inventory, LinkSettings
from brctl.node.report import HOST, Status

WELL = LinkSettings("", features_off=())
OFF = ("tcp-segmentation-offload",)
Settings = Callable[..., Inventory]


def test_all_alike_and_one_odd(with_settings: Settings, examine: Callable[..., Any]) -> None:
    (found,) = examine(with_settings(WELL))
    assert (found.status, found.summary) == (Status.PASS, "8 of 8 NICs: offloads on")
    (found,) = examine(with_settings(WELL, 2, features_off=OFF))
    assert (found.status, found.summary) == (
        Status.WARN,
        "ens3np0: tcp-segmentation-offload off, 7 siblings: offloads on",
    )


def test_off_on_all_is_somebodys_will(with_settings: Settings, examine: Callable[..., Any]) -> None:
    (found,) = examine(with_settings(LinkSettings("", features_off=OFF)))
    assert (found.status, found.subject, found.summary) == (
        Status.INFO,
        HOST,
        "8 ports: tcp-segmentation-offload off",
    )


def test_without_ethtool(with_settings: Settings, examine: Callable[..., Any]) -> None:
    assert examine(with_settings(LinkSettings("")))[0].status is Status.NA
