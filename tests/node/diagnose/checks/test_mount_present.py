from typing import Any, Callable

import pytest

from brctl.node.facts import Inventory, Mount
from brctl.node.report import HOST, Evidence, Finding, Status, Subject
from brctl.node.request import Expected

DATA = Subject("mount", "/data", "/data")


@pytest.mark.parametrize("mounts", [("/data", "/"), ("/data/", "//")])
def test_all_there(dgx: Inventory, examine: Callable[..., Any], mounts: Any) -> None:
    assert examine(dgx, Expected(mounts=mounts)) == (
        Finding("mount-present", Status.PASS, HOST, "2 of 2 mounted: /data, /", fold="mount-present pass host"),
    )


def test_one_is_missing(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx._replace(mounts=(dgx.mounts or ())[:1]), declared)
    assert found._replace(remedy=None) == Finding(
        "mount-present",
        Status.CRIT,
        DATA,
        "/data is not mounted",
        (Evidence("mount", "none", "/proc/self/mounts"), Evidence("declared", "/data", "hardware.mounts")),
        fold="mount-present crit /data",
    )
    assert "/etc/fstab" in found.remedy


def test_one_is_read_only(dgx: Inventory, declared: Expected, examine: Callable[..., Any]) -> None:
    """The last mount on a path is the one that is seen."""
    mounts = (*(dgx.mounts or ()), Mount("/data", "/dev/sda1", "xfs", True))
    (found,) = examine(dgx._replace(mounts=mounts), declared)
    assert (found.status, found.subject) == (Status.CRIT, DATA)
    assert found.summary == "/data (xfs from /dev/sda1) is read-only"
    assert found.evidence == (
        Evidence("options", "ro", "/proc/self/mounts"),
        Evidence("declared", "/data", "hardware.mounts"),
    )
    assert "kernel log" in found.remedy


def test_what_is_never_written_may_be_read_only(
    dgx: Inventory, declared: Expected, examine: Callable[..., Any]
) -> None:
    mounts = (Mount("/data", "/images/data.squashfs", "squashfs", True),)
    (found,) = examine(dgx._replace(mounts=mounts), declared)
    assert found.status is Status.PASS


def test_nothing_declared(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx)
    assert (found.status, found.summary) == (Status.NA, "no mounts declared")


@pytest.mark.parametrize(
    ("fstype", "status"),
    [
        ("ext4", Status.CRIT),
        ("btrfs", Status.CRIT),
        ("zfs", Status.CRIT),
        ("nfs4", Status.INFO),
        ("lustre", Status.INFO),
        ("fuse", Status.INFO),  # CVMFS
        ("overlay", Status.INFO),
        ("erofs", Status.PASS),
    ],
)
def test_what_read_only_means_depends_on_the_file_system(
    dgx: Inventory, declared: Expected, examine: Callable[..., Any], fstype: str, status: Status
) -> None:
    (found,) = examine(dgx._replace(mounts=(Mount("/data", "there", fstype, True),)), declared)
    assert found.status is status
    if status is Status.INFO:
        assert found.summary == "/data ({} from there) is read-only".format(fstype)
        assert found.remedy is None
