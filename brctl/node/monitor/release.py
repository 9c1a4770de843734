"""Letting go of the GPUs for a while, so that a reset, a change of MIG or of the driver can go on.

A file says until when. Every sampler of this machine looks at it at each tick; nobody needs to find their processes.
"""

import time
from typing import Optional

from ..host import Host

PATH = "/run/brctl/release"
MOST_S = 3600.0
"""Nobody watches the GPUs in the meantime; and a clock that was set back would make an end that never comes."""


def release(host: Host, for_s: float) -> float:
    """Write it; 0 takes an earlier one back. Gives the end, in seconds since the epoch. Raises OSError."""
    end = time.time() + min(for_s, MOST_S)
    if for_s > 0:
        host.replace(PATH, "{:.3f}\n".format(end).encode("ascii"))
    else:
        host.remove(PATH)
    return end


def released_until(host: Host) -> Optional[float]:
    """The end of what is in force; None where nothing is. One further off than MOST_S was not written by us."""
    try:
        end = float(host.read(PATH) or "nan")
    except (OSError, ValueError):
        return None
    return end if 0 < end - time.time() <= MOST_S + 1 else None
