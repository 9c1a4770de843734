"""Files that cannot be written are known before anything is."""

import errno
import os
from typing import Any, Dict, Optional

import pytest

from brctl.node.host.local import Local
from brctl.node.host.machine import Machine
from brctl.node.report import Outcome, Report
from brctl.node.request import PowerLimit
from brctl.node.tune import boot
from brctl.node.tune.targets import hindrance

OURS = "/etc/brctl/boot.json"


class Odd(Machine):
    """With pipes, as a host tells of them, and file systems that are read-only."""

    pipe, read_only = "", ""

    def read_bytes(self, path: str) -> Optional[bytes]:
        if path == self.pipe:
            raise OSError(errno.EINVAL, "no regular file", path)
        return super().read_bytes(path)

    def denies(self, path: str) -> Optional[int]:
        return errno.EROFS if path == self.read_only else super().denies(path)


def machine(memory: Any, files: Dict[str, Any], **odd: str) -> Odd:
    host = Odd({"name": "m", "recorded": False, "sources": [], "files": files}, "m", lambda: None, memory)
    for name, path in odd.items():
        setattr(host, name, path)
    return host


@pytest.mark.parametrize(
    ("files", "odd", "why"),
    [
        ({}, {}, None),
        ({"/etc/brctl": {"names": []}}, {}, None),
        ({OURS: "x"}, {"read_only": "/etc/brctl"}, None),  # it is there: what it is on is the write's to say
        ({OURS: {"names": []}}, {}, OURS + ": a folder, where a file has to be"),
        ({OURS + "/x": ""}, {}, OURS + ": a folder, where a file has to be"),
        ({OURS: "x"}, {"pipe": OURS}, OURS + ": no regular file"),
        ({OURS: {"link": "/dev/null"}}, {}, OURS + " is masked: it is a link to /dev/null"),
        ({OURS: {"link": "/srv/boot.json"}, "/srv": {"names": []}}, {}, None),
        ({"/etc/brctl": "x"}, {}, OURS + " cannot be made: /etc/brctl is no folder"),
        ({"/etc": "x"}, {}, OURS + " cannot be made: /etc is no folder"),
        ({"/etc/x": "x"}, {"read_only": "/etc"}, OURS + " cannot be made: /etc is read-only"),
        ({OURS: {"errno": "EACCES"}}, {}, None),  # whoever plans need not be root
        ({"/etc/brctl": {"errno": "EACCES"}}, {}, None),
    ],
)
def test_why_it_cannot_be_written(memory: Any, files: Dict[str, Any], odd: Dict[str, str], why: Optional[str]) -> None:
    assert hindrance(machine(memory, files, **odd), OURS) == why


@pytest.mark.parametrize("path", [boot.UNIT, boot.DROP_IN, boot.ARCHIVE])
def test_a_plan_refuses_and_nothing_is_touched(ask: Any, load: Any, path: str) -> None:
    host = load("h100-mig")
    host._tree._add(path, {"names": []})
    wanted = {"power_limits": (PowerLimit(None, 650.0),), "settings": ("gpu-power-limit",)}
    lasting: Report = ask(host, "tune-apply", persist=True, **wanted)
    refused = [change for change in lasting.changes if change.outcome is Outcome.REFUSED]
    assert len(refused) == len(lasting.changes)
    assert {change.reason for change in refused} == {path + ": a folder, where a file has to be"}
    assert lasting.transactions == ()
    assert {change.outcome for change in ask(host, "tune-plan", **wanted).changes} == {Outcome.PENDING}


@pytest.mark.real
def test_as_this_machine_tells_it(tmp_path: Any) -> None:
    pipe, folder, masked, file = (str(tmp_path / name) for name in ("pipe", "folder", "masked", "file"))
    os.mkfifo(pipe)
    os.mkdir(folder)
    os.symlink("/dev/null", masked)
    (tmp_path / "file").write_text("x")
    host = Local()
    assert [hindrance(host, path) for path in (pipe, folder, masked, file, file + "/x", folder + "/new/x")] == [
        pipe + ": no regular file",
        folder + ": a folder, where a file has to be",
        masked + " is masked: it is a link to /dev/null",
        None,
        "{}/x cannot be made: {} is no folder".format(file, file),
        None,
    ]
