"""Errors of the host's memory, counted since the boot."""

import time
from typing import List, Optional, Tuple

from ..facts import MemoryController
from ..host import Host

_CONTROLLERS = "/sys/devices/system/edac/mc"


def read(host: Host) -> Optional[Tuple[MemoryController, ...]]:
    """By controller; None where no EDAC driver is loaded. Raises OSError, ValueError."""
    found: List[MemoryController] = []
    for name in host.listdir(_CONTROLLERS) or ():
        folder = "{}/{}/".format(_CONTROLLERS, name)
        corrected, uncorrected = (host.read(folder + counter) for counter in ("ce_count", "ue_count"))
        if name.startswith("mc") and corrected and uncorrected:
            found.append(MemoryController(name, int(corrected), int(uncorrected), time.monotonic()))
    return tuple(found) or None
