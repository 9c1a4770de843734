"""Every declared mount is there; one that is missing, or on a local disk and read-only, is critical.

A disk's file system that remounted itself read-only has met an error. Any other that is read-only (software trees that
a server exports so, CVMFS) is only noted, and formats that are never written (squashfs, iso9660, erofs) not even that.
"""

from typing import Iterator

from ...facts import Mount
from ...report import Evidence, Finding, Status, Subject
from .. import Case, Check

_SOURCE = "/proc/self/mounts"
_ON_DISK = ("ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs")
_NEVER_WRITTEN = ("squashfs", "iso9660", "erofs")
_MISSING = "`mount` it and see why that fails (server, network, credentials); see that it stands in /etc/fstab"
_READ_ONLY = (
    "look for errors of the file system or its disk in the kernel log before writing to it again; "
    "`mount -o remount,rw` only where read-only was a mistake"
)


def run(case: Case) -> Iterator[Finding]:
    want = [path.rstrip("/") or "/" for path in case.want.mounts]
    mounts = {mount.target: mount for mount in case.seen.mounts or ()}  # of several on one path the last is seen
    bad = [_missing(path) for path in want if path not in mounts]
    bad += [_read_only(mounts[path]) for path in want if path in mounts and _is_read_only(mounts[path])]
    yield from bad
    if not want:
        yield CHECK.finding(Status.NA, "no mounts declared")
    elif not bad:
        yield CHECK.finding(Status.PASS, "{0} of {0} mounted: {1}".format(len(want), ", ".join(want)))


def _is_read_only(mount: Mount) -> bool:
    return mount.read_only and mount.fstype not in _NEVER_WRITTEN


def _missing(path: str) -> Finding:
    evidence = (Evidence("mount", "none", _SOURCE), Evidence("declared", path, "hardware.mounts"))
    return CHECK.finding(
        Status.CRIT, "{} is not mounted".format(path), Subject("mount", path, path), evidence, _MISSING
    )


def _read_only(mount: Mount) -> Finding:
    summary = "{} ({} from {}) is read-only".format(mount.target, mount.fstype, mount.source)
    evidence = (Evidence("options", "ro", _SOURCE), Evidence("declared", mount.target, "hardware.mounts"))
    subject = Subject("mount", mount.target, mount.target)
    if mount.fstype in _ON_DISK:
        return CHECK.finding(Status.CRIT, summary, subject, evidence, _READ_ONLY)
    return CHECK.finding(Status.INFO, summary, subject, evidence)


CHECK = Check(
    id="mount-present",
    title="Every declared mount is there",
    tags=("inventory",),
    needs=("mounts",),
    run=run,
)
