"""Letting go of the GPUs for a while, so that a reset, a change of MIG or of the driver can go on.

A file says until when. Every sampler of this machine looks at it at each tick; nobody needs to find their processes.
The end is one of the monotonic clock, which nobody can set, and of the boot that it counts from.
"""

import time
from typing import Optional

from ..host import Host

PATH = "/run/brctl/release"
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
MOST_S = 3600.0
"""Nobody watches the GPUs in the meantime."""


def release(host: Host, for_s: float) -> float:
    """Write it; 0 takes an earlier one back. Gives the end, in seconds since the epoch. Raises OSError."""
    for_s = min(for_s, MOST_S)
    if for_s > 0:
        host.replace(PATH, "{:.3f} {}\n".format(time.monotonic() + for_s, _boot_id(host)).encode("ascii"))
    else:
        host.remove(PATH)
    return time.time() + for_s


def released_until(host: Host) -> Optional[float]:
    """The end of what is in force, in seconds since the epoch; None where nothing is. One further off than MOST_S was
    not written by us; what is written is rounded."""
    try:
        end_s, boot_id = (host.read(PATH) or "").split()
        left_s = float(end_s) - time.monotonic()
        return time.time() + left_s if 0 < left_s < MOST_S + 1 and boot_id == _boot_id(host) else None
    except (OSError, ValueError):
        return None


def _boot_id(host: Host) -> str:
    return (host.read(_BOOT_ID) or "").strip() or "unknown"
