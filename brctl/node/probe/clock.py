"""Whether the clock is right, and what it counts with."""

import errno
from typing import Optional, Tuple

from ..facts import Clock
from ..host import Host
from .rows import first_line

_SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
SYSTEMD = ("timedatectl", "show", "--property=NTPSynchronized", "--value")
CHRONY = ("chronyc", "-c", "tracking")


def read(host: Host) -> Optional[Clock]:
    """None where nothing tells either. Raises OSError: whoever should know does not answer; HungError."""
    text = host.read(_SOURCE)
    synchronized, source = _synchronized(host)
    if text is None and source is None:
        return None
    return Clock(synchronized, source, text.strip() if text else None)


def _synchronized(host: Host) -> Tuple[Optional[bool], Optional[str]]:
    """systemd passes on what the kernel says (STA_UNSYNC of adjtimex(2)), whoever sets the clock."""
    answer = host.run(SYSTEMD)
    if answer and answer.returncode == 0 and answer.stdout.strip() in ("yes", "no"):
        return answer.stdout.strip() == "yes", " ".join(SYSTEMD[:2])
    chrony = host.run(CHRONY)
    if chrony and chrony.returncode == 0:
        return not chrony.stdout.strip().endswith("Not synchronised"), " ".join(CHRONY)
    failed = answer or chrony
    if failed:
        raise OSError(errno.EIO, first_line(failed.stderr), "timedatectl" if answer else "chronyc")
    return None, None
