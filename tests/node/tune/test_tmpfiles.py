"""What systemd-tmpfiles writes at boot."""

from typing import Any, Callable, Dict, List, Optional, Sequence

import pytest

from brctl.node.facts import Inventory
from brctl.node.host.machine import Machine
from brctl.node.report import HOST, Change, Outcome
from brctl.node.request import Expected, Wanted
from brctl.node.tune import Place, Scene, Step, tmpfiles

Make = Callable[..., Machine]

PATH, OURS = "/sys/kernel/mm/x", "/etc/tmpfiles.d/50-ours.conf"
WISH = tmpfiles.Wish(OURS, "/sys/kernel/mm/[x]", (PATH,), None)
SYSTEMD: Dict[str, Any] = {"/run/systemd/system": {"names": []}}
STEP = Step(Change("x", HOST, "x", Outcome.OK, "1", "1"))


def lines(pairs: Sequence[str]) -> List[tmpfiles.Line]:
    split = [pair.split() for pair in pairs]
    return [tmpfiles.Line(path, value, "/etc/tmpfiles.d/{}.conf:1".format(n)) for n, (path, value) in enumerate(split)]


@pytest.mark.parametrize(
    ("pairs", "value"),
    [
        ([], None),
        (["/sys/y a"], None),
        (["/sys/x a", "/sys/x b"], "a"),  # the first of one path
        (["/sys/? a", "/sys/* b"], "b"),  # of two patterns the last
        (["/sys/x a", "/sys/* b"], "b"),
        (["/sys/* b", "/sys/x a", "/s*/y c", "/* d"], "a"),
        (["/sys/alias a", "/sys/x b"], "b"),
    ],
)
def test_the_line_of_tmpfiles_that_wins(pairs: List[str], value: Optional[str]) -> None:
    found = tmpfiles.winner(lines(pairs), ("/sys/x", "/sys/alias"))
    assert (found and found.value) == value


def test_the_files_of_tmpfiles(machine: Make) -> None:
    host = machine(
        [],
        {
            "/usr/lib/tmpfiles.d/b.conf": "# w /x\nd /run/x 0755 root root -\n"
            "w! /sys/x - - - - a b \nw /sys/short - -\n",
            "/etc/tmpfiles.d/c.conf": "",
            "/usr/lib/tmpfiles.d/c.conf": "w /sys/x - - - - hidden\n",
            "/etc/tmpfiles.d/README": "w /sys/x - - - - none\n",
            "/run/tmpfiles.d/a.conf": {"errno": "EACCES"},
        },
    )
    assert tmpfiles.read(host) == (tmpfiles.Line("/sys/x", "a b", "/usr/lib/tmpfiles.d/b.conf:3"),)
    assert tmpfiles.read(machine([], {tmpfiles.FOLDERS[0]: {"errno": "EACCES"}})) == ()


def lasting(host: Machine, persist: bool = True, kernel: Optional[str] = None) -> Step:
    scene = Scene(host, Inventory(), Wanted(), Expected(), persist)
    return tmpfiles.lasting(scene, STEP, WISH._replace(kernel=kernel))


def test_what_lasts(machine: Make) -> None:
    step = lasting(machine([], SYSTEMD))
    assert step.change == STEP.change
    (write,) = step.boot
    assert write.place == Place("file", OURS)
    assert (write.value or "").splitlines()[1:] == ["w /sys/kernel/mm/[x] - - - - 1"]
    assert lasting(machine([], SYSTEMD), persist=False) == STEP
    step = lasting(machine([], dict(SYSTEMD, **{OURS: write.value})))
    assert (step.boot, step.change.boot, step.change.boot_source) == ((), "1", OURS + ":2")
    step = lasting(machine([], SYSTEMD), kernel="2")
    assert (step.change.boot, step.change.boot_source, len(step.boot)) == ("2", "kernel command line", 1)
    step = lasting(machine([], {}), kernel="1")
    assert (step.change.outcome, step.boot) == (Outcome.OK, ())


def test_what_cannot_last(machine: Make) -> None:
    step = lasting(machine([]))
    assert step.change.reason == "systemd does not run here, whose tmpfiles would set it at boot"
    last = "/usr/lib/tmpfiles.d/90-vendor.conf"
    step = lasting(machine([], dict(SYSTEMD, **{last: "w {} - - - - 0\n".format(PATH)})))
    assert step.change.outcome is Outcome.REFUSED
    assert step.change.reason == "{}:1 sets 0 and would win over {}: change it there".format(last, OURS)
    assert (step.change.boot, step.boot, step.live) == ("0", (), ())
    first = "/usr/lib/tmpfiles.d/10-vendor.conf"
    step = lasting(machine([], dict(SYSTEMD, **{first: "w {} - - - - 0\n".format(PATH)})))
    assert (step.change.outcome, step.change.boot) == (Outcome.OK, "0")
    assert [write.place.name for write in step.boot] == [OURS]


def test_lines_are_counted_by_their_newlines(machine: Make) -> None:
    path = "/etc/tmpfiles.d/a.conf"
    found = tmpfiles.read(machine([], {path: "# one\x0c\u2028page\r\nw /sys/x - - - - 1\r\n"}))
    assert found == (tmpfiles.Line("/sys/x", "1", path + ":2"),)
