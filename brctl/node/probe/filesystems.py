"""How full the local file systems are. Those of servers are not asked: a dead one would hang."""

import errno
from typing import List, Optional, Tuple

from ..facts import Filesystem
from ..host import Host
from .rows import first_line

COMMAND = ("df", "--local", "--block-size=1", "--output=target,source,fstype,used,avail,itotal,iused")
_OF_NOBODY = ("devtmpfs", "squashfs", "iso9660", "efivarfs", "ramfs", "overlay", "autofs")
"""Of fixed size, of the kernel, or of what lies below them."""
_FIELDS = 7


def read(host: Host) -> Optional[Tuple[Filesystem, ...]]:
    """None where there is no df. Raises OSError, ValueError, HungError."""
    answer = host.run(COMMAND)
    if answer is None:
        return None
    if not answer.stdout:
        raise OSError(errno.EIO, first_line(answer.stderr), "df")
    return parse(answer.stdout)


def parse(text: str) -> Tuple[Filesystem, ...]:
    """Once each, where one is mounted in several places; memory (tmpfs) counts as /dev/shm alone. Raises ValueError."""
    found: List[Filesystem] = []
    for line in text.splitlines()[1:]:
        words = line.rsplit(None, _FIELDS - 1)
        if len(words) != _FIELDS or "-" in words[3:5] or words[2] in _OF_NOBODY:
            continue
        target, source, fstype = words[:3]
        used, available, inodes, inodes_used = (0 if word == "-" else int(word) for word in words[3:])
        is_memory = fstype == "tmpfs" and target != "/dev/shm"  # noqa: S108  # the kernel's name
        known = any(other.source == source and other.used_bytes == used for other in found)
        if used + available and not is_memory and not known:
            found.append(Filesystem(target, source, fstype, used, available, inodes, inodes_used))
    return tuple(found)
