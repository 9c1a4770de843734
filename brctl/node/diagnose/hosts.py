"""The host's condition, as far as it matters to GPUs."""

from typing import Optional

from ..facts import Inventory
from ..report import Status
from . import gpus


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
