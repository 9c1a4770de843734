from typing import Any

from brctl.node.monitor.collectors.filesystems import COLLECTOR

MOUNTS = """\
proc /proc proc rw 0 0
tmpfs /dev/shm tmpfs rw 0 0
/dev/sda1 / ext4 ro 0 0
/dev/sda1 /snap/x ext4 ro 0 0
srv:/data /data nfs4 rw 0 0
"""


def test_each_once_with_its_space(look: Any, machine: Any) -> None:
    host = machine({"/proc/self/mounts": MOUNTS}, space={"/": [1000, 300, 200, 64, 60], "/data": [5000, 9, 8, 0, 0]})
    root, data = ("/", "ext4"), ("/data", "nfs4")
    assert look(COLLECTOR).at(1.0, host) == {
        ("filesystem_size_bytes", root): 1000,
        ("filesystem_available_bytes", root): 200,
        ("filesystem_files_free", root): 60,
        ("filesystem_read_only", root): 1,
        ("filesystem_size_bytes", data): 5000,
        ("filesystem_available_bytes", data): 8,
        ("filesystem_files_free", data): None,
        ("filesystem_read_only", data): 0,
    }


def test_one_that_went_away(look: Any, machine: Any) -> None:
    seen = look(COLLECTOR).at(1.0, machine({"/proc/self/mounts": "srv:/data /data nfs4 rw 0 0\n"}))
    assert seen["filesystem_size_bytes", ("/data", "nfs4")] is None
