"""The host's condition, as far as it matters to its GPUs and ports."""

from typing import Optional

from ..facts import Inventory
from ..report import Status
from . import Case, Threshold, gpus

BOOT_GRACE = Threshold(
    "boot_grace",
    120,
    "seconds",
    "Link training and a subnet manager's sweep: a port in Polling or Initializing two minutes after boot was a false "
    "alarm to users (leptonai/gpud issue 482).",
)


def is_booting(case: Case) -> bool:
    """For a check that has BOOT_GRACE."""
    return booted_within(case.seen, case.thresholds[BOOT_GRACE.name])


def booted_within(seen: Inventory, seconds: float) -> bool:
    """Links may still be coming up."""
    return seen.kernel is not None and seen.kernel.uptime_s < seconds


def serves_gpus(seen: Inventory) -> bool:
    """Whether it has GPUs, be it that they do not answer."""
    return bool(seen.gpus) or bool(gpus.on_bus(seen))


def unfit(seen: Inventory) -> Status:
    """How bad a setting is that costs GPU work its speed: on a host without GPUs it is as its distribution left it, and
    only noted."""
    return Status.WARN if serves_gpus(seen) else Status.INFO


def sysctl(seen: Inventory, key: str) -> Optional[str]:
    """Its value; None where this kernel has none."""
    return next((one.value for one in seen.sysctls or () if one.key == key), None)


def has_rdma(seen: Inventory) -> bool:
    """Whether a port of InfiniBand or RoCE is up."""
    return any(port.state == "ACTIVE" for port in seen.rdma or ())
