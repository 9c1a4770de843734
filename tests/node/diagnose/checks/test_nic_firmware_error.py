from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory
from brctl.node.report import HOST, Finding, Status, Subject

CARD = "mlx5_core 0000:18:00.0: "


def test_nothing(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    clean = "no error of a NIC's firmware since the boot"
    assert examine(logged()) == (
        Finding("nic-firmware-error", Status.PASS, HOST, clean, fold="nic-firmware-error pass host"),
    )


@pytest.mark.parametrize(
    ("line", "status", "summary"),
    [
        (
            CARD + "wait_func:1118:(pid 1): CREATE_CQ(0x400) timeout. Will cause a leak of a command resource",
            Status.CRIT,
            "ens1np0: its firmware does not answer, or failed (at 5.0 s)",
        ),
        (
            CARD + "Detected insufficient power on the PCIe slot (27W).",
            Status.WARN,
            "ens1np0: its slot gives too little power (at 5.0 s)",
        ),
        (
            "NETDEV WATCHDOG: ens1np0 (mlx5_core): transmit queue 3 timed out",
            Status.WARN,
            "ens1np0: a transmit queue is stuck (at 5.0 s)",
        ),
    ],
)
def test_each(
    logged: Callable[..., Inventory], examine: Callable[..., Any], line: str, status: Status, summary: str
) -> None:
    (found,) = examine(logged("[5.0] " + line))
    assert (found.status, found.subject, found.summary) == (status, Subject("nic", "ens1np0", "ens1np0"), summary)
    assert found.remedy


def test_a_card_without_an_interface(logged: Callable[..., Inventory], examine: Callable[..., Any]) -> None:
    (found,) = examine(logged("[5.0] mlx5_core 0000:ff:00.0: poll_health:1: device's health compromised"))
    assert found.subject == Subject("nic", "0000:ff:00.0", "NIC 0000:ff:00.0")
