"""Mounted file systems."""

import re
from typing import Optional, Tuple

from ..facts import Mount
from ..host import Host

_ESCAPE = re.compile(r"\\([0-7]{3})")

_KERNEL_OWN = (
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "fusectl",
    "mqueue",
    "nsfs",
    "proc",
    "pstore",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "sysfs",
    "tracefs",
)
"""They hold no data but the kernel's own, and every machine has a dozen."""
_KERNEL_TREES = ("/proc/", "/sys/")
"""systemd lets an autofs wait in them; elsewhere an autofs is a mount that somebody declared."""


def read(host: Host) -> Optional[Tuple[Mount, ...]]:
    """In the order of mounting; None where there is no /proc. Raises OSError."""
    text = host.read("/proc/self/mounts")
    return None if text is None else parse_mounts(text)


def parse_mounts(text: str) -> Tuple[Mount, ...]:
    """/proc/self/mounts in the form of fstab(5), without the kernel's own file systems."""
    mounts = []
    for line in text.splitlines():
        source, target, fstype, options = (_unescape(field) for field in line.split(" ")[:4])
        if fstype not in _KERNEL_OWN and not target.startswith(_KERNEL_TREES):
            mounts.append(Mount(target, source, fstype, "ro" in options.split(",")))
    return tuple(mounts)


def _unescape(field: str) -> str:
    r"""A blank, tab, newline, backslash or # in a name stands there as `\040`: three octal digits."""
    return _ESCAPE.sub(lambda match: chr(int(match.group(1), 8)), field)
