from typing import Any, Callable

from brctl.node.facts import Inventory, Mount
from brctl.node.report import Status, Subject
from brctl.node.request import Expected

ROOT, DATA = Mount("/", "/dev/nvme0n1p2", "ext4", False), Mount("/data", "nas:/data", "nfs4", True)


def test_what_fstab_means(dgx: Inventory, examine: Callable[..., Any]) -> None:
    seen = dgx._replace(mounts=(ROOT, DATA), fstab=None)
    (nothing,) = examine(seen)
    (fine,) = examine(seen._replace(fstab=("/", "/gone")))
    assert [(one.status, one.summary) for one in (nothing, fine)] == [
        (Status.NA, "nothing says what is meant to be writable"),
        (Status.PASS, "1 of 1 file systems are writable"),
    ]
    (found,) = examine(seen._replace(fstab=("/", "/data")))
    assert (found.status, found.subject) == (Status.CRIT, Subject("mount", "/data", "/data"))
    assert found.summary == "/data (nfs4 on nas:/data) is read-only, and not meant to be"


def test_what_is_declared(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx._replace(mounts=(ROOT, DATA)), Expected(mounts=("/data",)))
    assert found.status is Status.CRIT


def test_the_last_mount_on_a_place_is_seen(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx._replace(mounts=(DATA, DATA._replace(read_only=False)), fstab=("/data",)))
    assert found.status is Status.PASS
