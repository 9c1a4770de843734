"""By what a NIC may reach a GPU's memory."""

from typing import Optional

from ..facts import Peermem
from ..host import Host

_MODULES = ("nvidia_peermem", "nv_peer_mem")
_DRIVER = "/proc/driver/nvidia/version"


def read(host: Host) -> Optional[Peermem]:
    """None where NVIDIA's driver is not loaded. Raises OSError."""
    version = host.read(_DRIVER)
    if version is None:
        return None
    loaded = tuple(name for name in _MODULES if host.listdir("/sys/module/" + name) is not None)
    return Peermem(loaded, "Open Kernel Module" in version)
