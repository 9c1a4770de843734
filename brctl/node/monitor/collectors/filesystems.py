"""How full each file system is: those on disks and those of servers, each once.

One that hangs, as a server's may, holds up the others of this collector and nothing else.
"""

from typing import Dict

from ...facts import Mount
from ...host import Host
from ...probe import mounts
from .. import Collector, Kind, Reading, Readings
from ..previous import Previous

_TYPES = ("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "vfat", "nfs", "nfs4", "lustre", "gpfs", "ceph",
          "beegfs", "wekafs", "cifs", "fuse.juicefs", "overlay")  # fmt: skip
_made = Kind("filesystems", ("mount", "type"))
_SIZE = _made.gauge("filesystem_size_bytes", "bytes", "All of it.", "statvfs(3)")
_AVAILABLE = _made.gauge("filesystem_available_bytes", "bytes", "For users other than root.", "statvfs(3)")
_FREE_FILES = _made.gauge("filesystem_files_free", "", "Inodes that are free.", "statvfs(3)")
_READ_ONLY = _made.gauge("filesystem_read_only", "", "1: nothing can be written.", "/proc/self/mounts")


def run(host: Host, _: Previous) -> Readings:
    once: Dict[str, Mount] = {}
    for mount in mounts.read(host) or ():
        if mount.fstype in _TYPES:
            once.setdefault(mount.source if mount.fstype != "overlay" else mount.target, mount)
    for mount in once.values():
        labels = (mount.target, mount.fstype)
        space = host.space(mount.target)
        yield Reading(_SIZE, None if space is None else space.size_bytes, labels)
        yield Reading(_AVAILABLE, None if space is None else space.available_bytes, labels)
        yield Reading(_FREE_FILES, space.files_free if space and space.files else None, labels)
        yield Reading(_READ_ONLY, float(mount.read_only), labels)


COLLECTOR = Collector(
    id="filesystems", title="Space of file systems", every_s=10.0, series=tuple(_made.all), of_host=run
)
