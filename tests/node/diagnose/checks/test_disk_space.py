from typing import Any, Callable

import pytest

from brctl.node.facts import Filesystem, Inventory
from brctl.node.report import Status, Subject
from brctl.node.request import Override

GIB = 1 << 30
ROOT = Filesystem("/", "/dev/sda2", "ext4", 60 * GIB, 40 * GIB, 1000, 10)


def test_room(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx._replace(filesystems=(ROOT,)))
    assert (found.status, found.summary) == (Status.PASS, "1 local file systems; the fullest is /, 60 %")
    (found,) = examine(dgx._replace(filesystems=()))
    assert (found.status, found.summary) == (Status.PASS, "0 local file systems; none")


@pytest.mark.parametrize(
    ("fields", "status", "summary"),
    [
        ({"used_bytes": 960 * GIB}, Status.WARN, "/ is full: 96 %, 40960 MiB left"),
        ({"used_bytes": 96 * GIB, "available_bytes": 1 << 28}, Status.CRIT, "/ is full: 100 %, 256 MiB left"),
        ({"inodes_used": 990}, Status.WARN, "/ is out of inodes: 99 %, 40960 MiB left"),
        ({"used_bytes": 1 << 20, "available_bytes": 1 << 20}, Status.PASS, None),
    ],
)
def test_full(dgx: Inventory, examine: Callable[..., Any], fields: Any, status: Status, summary: Any) -> None:
    (found,) = examine(dgx._replace(filesystems=(ROOT._replace(**fields),)))
    assert found.status is status
    if summary:
        assert (found.summary, found.subject) == (summary, Subject("mount", "/", "/"))
        assert "du -xh" in found.remedy


def test_the_threshold(dgx: Inventory, examine: Callable[..., Any]) -> None:
    (found,) = examine(dgx._replace(filesystems=(ROOT,)), None, Override("disk-space", "used_percent", 50))
    assert found.status is Status.WARN
