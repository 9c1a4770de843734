from typing import Any

import pytest

from brctl.node.facts import Filesystem
from brctl.node.host.local import Local
from brctl.node.probe.filesystems import COMMAND, parse, read

TEXT = """\
Mounted on        Filesystem Type      Used  Avail Inodes IUsed
/                 /dev/sda2  ext4       600    400   1000   10
/mnt/a b          /dev/sdb   xfs        900    100      -     -
/bound            /dev/sda2  ext4       600    400   1000   10
/dev/shm          tmpfs      tmpfs        1     99     50     1
/run              tmpfs      tmpfs        1     99     50     1
/snap/core        /dev/loop0 squashfs   100      0    100   100
/dev              udev       devtmpfs     0    100     10     1
/odd              none       ext4         -      -      -     -
/empty            none       ext4         0      0      0     0
"""


def test_parse() -> None:
    assert parse(TEXT) == (
        Filesystem("/", "/dev/sda2", "ext4", 600, 400, 1000, 10),
        Filesystem("/mnt/a b", "/dev/sdb", "xfs", 900, 100, 0, 0),
        Filesystem("/dev/shm", "tmpfs", "tmpfs", 1, 99, 50, 1),
    )


def test_read(machine: Any) -> None:
    name = " ".join(COMMAND)
    assert len(read(machine({}, commands={name: {"stdout": TEXT, "returncode": 1}})) or ()) == 3
    assert read(machine({})) is None
    with pytest.raises(OSError, match="unrecognized option"):
        read(machine({}, commands={name: {"returncode": 1, "stderr": "df: unrecognized option\n"}}))


@pytest.mark.real
def test_this_machine() -> None:
    found = read(Local())
    assert found
    assert all(one.target.startswith("/") for one in found)
