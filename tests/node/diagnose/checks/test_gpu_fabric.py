from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory
from brctl.node.report import Status

Values = Callable[..., Inventory]
Examine = Callable[..., Any]


def test_joined(well: Inventory, examine: Examine) -> None:
    (found,) = examine(well)
    assert (found.status, found.summary) == (Status.PASS, "8 of 8 GPUs: on the fabric")


@pytest.mark.parametrize(
    ("fabric", "status", "words"),
    [
        ({"state": "not-started", "status": None}, Status.CRIT, "has not joined the fabric: not-started"),
        ({"state": "in-progress", "status": None}, Status.CRIT, "has not joined the fabric: in-progress"),
        ({"status": "Unknown Error"}, Status.CRIT, "failed to join the fabric: Unknown Error"),
        ({"unhealthy": ("degraded-bandwidth",)}, Status.WARN, "on the fabric with degraded-bandwidth"),
        (
            {"unhealthy": ("route-recovery", "route-unhealthy")},
            Status.CRIT,
            "on the fabric with route-recovery, route-unhealthy",
        ),
    ],
)
def test_not_well(with_values: Values, examine: Examine, fabric: Any, status: Status, words: str) -> None:
    (found,) = examine(with_values(3, fabric=fabric))
    assert (found.status, found.summary) == (status, "GPU 3: " + words)
    assert "nvidia-fabricmanager" in found.remedy


def test_soon_after_the_boot_it_is_only_noted(with_values: Values, examine: Examine) -> None:
    seen = with_values(3, fabric={"state": "in-progress", "status": None})
    assert seen.kernel
    (found,) = examine(seen._replace(kernel=seen.kernel._replace(uptime_s=100.0)))
    assert (found.status, found.summary) == (Status.INFO, "GPU 3: joins the fabric since the boot just now")


def test_no_fabric(dgx: Inventory, examine: Examine) -> None:
    (found,) = examine(dgx)
    assert (found.status, found.summary) == (Status.NA, "no GPU tells of a fabric")
