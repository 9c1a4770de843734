import os
from typing import Any

import pytest

from brctl.node.facts import Mount
from brctl.node.host.local import Local
from brctl.node.probe.mounts import parse_mounts, read

MOUNTS = r"""proc /proc proc rw,nosuid 0 0
/dev/md0 / ext4 rw,errors=remount-ro 0 0
10.0.0.9:/my\040data /data\134x nfs4 ro,noatime 0 0
systemd-1 /proc/sys/fs/binfmt_misc autofs rw 0 0
tmpfs /dev/shm tmpfs rw 0 0
auto.home /home autofs rw 0 0
"""


def test_parse_mounts() -> None:
    assert parse_mounts(MOUNTS) == (
        Mount("/", "/dev/md0", "ext4", False),
        Mount("/data\\x", "10.0.0.9:/my data", "nfs4", True),
        Mount("/dev/shm", "tmpfs", "tmpfs", False),
        Mount("/home", "auto.home", "autofs", False),
    )


def test_dgx(dgx: Any) -> None:
    assert [mount.target for mount in read(dgx) or ()] == ["/", "/dev/shm", "/boot/efi", "/raid", "/data"]


def test_no_proc(machine: Any) -> None:
    assert read(machine({})) is None


@pytest.mark.real
def test_they_are_mount_points() -> None:
    mounts = read(Local()) or ()
    assert "/" in [mount.target for mount in mounts]
    folders = [mount.target for mount in mounts if os.path.isdir(mount.target)]
    bound = [folder for folder in folders if os.stat(folder).st_dev == os.stat(os.path.dirname(folder)).st_dev]
    # ismount goes by the device, and a folder bound within its file system (`ip netns` does so) keeps its own.
    assert all(os.path.ismount(folder) for folder in folders if folder not in bound)
