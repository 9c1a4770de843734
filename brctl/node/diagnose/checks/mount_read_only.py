"""What is meant to be writable is.

The kernel makes a file system read-only when it finds an error in it (errors=remount-ro): programs go on, and fail when
they write. Meant to be writable is what /etc/fstab mounts without `ro`, and what `hardware.mounts` declares.
"""

from typing import Sequence

from ...report import Evidence, Finding, Status, Subject
from .. import Case, Check

_REMEDY = (
    "look for I/O errors of its disk in the kernel log; drain the node, then check the file system (fsck) and the disk"
)


def run(case: Case) -> Sequence[Finding]:
    wanted = {*(case.seen.fstab or ()), *case.want.mounts}
    # The last mount on a place is the one that is seen.
    mounted = {mount.target: mount for mount in case.seen.mounts or ()}
    judged = [mounted[target] for target in sorted(wanted & set(mounted))]
    wrong = [mount for mount in judged if mount.read_only]
    if not judged:
        return (CHECK.finding(Status.NA, "nothing says what is meant to be writable"),)
    if not wrong:
        return (CHECK.finding(Status.PASS, "{} of {} file systems are writable".format(len(judged), len(judged))),)
    return tuple(
        CHECK.finding(
            Status.CRIT,
            "{} ({} on {}) is read-only, and not meant to be".format(mount.target, mount.fstype, mount.source),
            Subject("mount", mount.target, mount.target),
            (Evidence(mount.target, "ro", "/proc/self/mounts"),),
            _REMEDY,
        )
        for mount in wrong
    )


CHECK = Check(
    id="mount-read-only",
    title="What is meant to be writable is",
    tags=("health",),
    needs=("mounts",),
    run=run,
    reads=("fstab",),
)
