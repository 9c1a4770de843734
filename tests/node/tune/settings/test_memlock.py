"""Memory that a process may lock: of logins and of services."""

from typing import Any, Callable, Dict, List, Optional, Tuple

import pytest

from brctl.node.facts import Inventory
from brctl.node.host.machine import Machine
from brctl.node.report import Change, Outcome
from brctl.node.request import Expected, Wanted
from brctl.node.tune import Place, Scene, Step
from brctl.node.tune.settings.memlock import LIMITS, MANAGER, plan

Make = Callable[..., Machine]
BARE: Dict[str, Any] = {"/run/systemd/system": {"names": []}, "/etc/security/limits.conf": "# none\n"}


def steps(host: Machine, want: Optional[str] = "unlimited") -> List[Step]:
    return list(plan(Scene(host, Inventory(), Wanted(memlock=want), Expected(), False)))


def lines(step: Step, path: str) -> List[str]:
    """What our file is to hold."""
    (write,) = step.live
    assert write.place == Place("file", path)
    return (write.value or "").splitlines()[1:]


def told(change: Change) -> Tuple[Any, ...]:
    return change.outcome, change.live, change.boot_source


def test_nothing_is_wanted(machine: Make) -> None:
    assert steps(machine([], BARE), None) == []


def test_both_places(machine: Make) -> None:
    logins, services = steps(machine([], BARE))
    assert [step.change.key for step in (logins, services)] == ["memlock of logins", "memlock of services"]
    assert told(logins.change) == told(services.change) == (Outcome.OK, None, None)
    assert lines(logins, LIMITS) == ["* - memlock unlimited", "root - memlock unlimited"]
    assert lines(services, MANAGER) == ["[Manager]", "DefaultLimitMEMLOCK=infinity"]
    assert logins.change.effects == ("sessions that are open keep theirs: log in again",)
    assert services.change.effects == (
        "services that run keep theirs: `systemctl daemon-reexec`, then restart slurmd and sshd",
    )


def test_written_it_is_as_wanted(machine: Make) -> None:
    for want in ("unlimited", "1073741824", "1000"):
        files = dict(BARE)
        for step in steps(machine([], BARE), want):
            for write in step.live:
                files[write.place.name] = write.value
        found = steps(machine([], files), want)
        assert [step.live for step in found] == [(), ()]
    assert found[0].change.live == "1024"  # limits.conf counts in KiB


def test_a_machine_without_either(machine: Make) -> None:
    found = steps(machine([]))
    assert [step.change.outcome for step in found] == [Outcome.NA, Outcome.NA]
    assert [step.change.reason for step in found] == [
        "no PAM here: logins get what their daemon has",
        "systemd does not run here",
    ]


@pytest.mark.parametrize(
    ("text", "live", "line"),
    [
        ("* soft memlock unlimited # RDMA\n* hard memlock -1\n", "unlimited", 2),
        ("* - memlock infinity\n", "unlimited", 1),
        ("* - memlock 64\n* - memlock 128\n", "131072", 2),
        ("* soft memlock 64\n* hard memlock unlimited\n", "65536 soft, unlimited hard", 2),
        ("* hard memlock 64\n", "65536 hard alone", 1),
        ("* soft memlock 64\n", "65536 soft alone", 1),
        ("* soft nofile 64\n* - memlock\nroot - memlock 64\n", None, None),
    ],
)
def test_lines_of_limits_conf(machine: Make, text: str, live: Optional[str], line: Optional[int]) -> None:
    path = "/etc/security/limits.d/50-a.conf"
    logins, _ = steps(machine([], dict(BARE, **{path: text})))
    assert told(logins.change) == (Outcome.OK, live, line and "{}:{}".format(path, line))
    assert bool(logins.live) is (live != "unlimited")


def test_the_last_file_of_limits_d_wins(machine: Make) -> None:
    files = dict(
        BARE,
        **{
            "/etc/security/limits.conf": "* - memlock unlimited\n",
            "/etc/security/limits.d/README": "* - memlock 1\n",
            LIMITS: "* - memlock 64\n",
            "/etc/security/limits.d/zz.conf": "@gpu - memlock 64\n",
        },
    )
    logins, _ = steps(machine([], files))
    assert told(logins.change) == (Outcome.OK, "65536", LIMITS + ":1")
    assert "/etc/security/limits.d/zz.conf:1 sets 65536 for @gpu" in logins.change.effects
    files["/etc/security/limits.d/zz.conf"] = "* - memlock 128\n"
    logins, _ = steps(machine([], files))
    assert (logins.change.outcome, logins.live) == (Outcome.REFUSED, ())
    assert logins.change.reason == (
        "/etc/security/limits.d/zz.conf:1 is read after {} and sets 131072: change it there".format(LIMITS)
    )


SYSTEM = "/usr/lib/systemd/system.conf"


@pytest.mark.parametrize(
    ("files", "live", "source"),
    [
        (
            {"/usr/lib/systemd/system.conf": "[Manager]\nDefaultLimitMEMLOCK=8M\n"},
            "8388608",
            "/usr/lib/systemd/system.conf:2",
        ),
        (
            {
                "/etc/systemd/system.conf": "[Manager]\nDefaultLimitMEMLOCK=64K:infinity\n[X]\nDefaultLimitMEMLOCK=1\n",
                SYSTEM: "[Manager]\nDefaultLimitMEMLOCK=1\n",
            },
            "65536 soft, unlimited hard",
            "/etc/systemd/system.conf:2",
        ),
        (
            {
                "/usr/lib/systemd/system.conf.d/a.conf": "[Manager]\nDefaultLimitMEMLOCK=1\n",
                "/etc/systemd/system.conf.d/a.conf": "[Manager]\nDefaultLimitMEMLOCK=infinity\n",
                "/etc/systemd/system.conf.d/a.txt": "[Manager]\nDefaultLimitMEMLOCK=1\n",
            },
            "unlimited",
            "/etc/systemd/system.conf.d/a.conf:2",
        ),
    ],
)
def test_where_services_have_it_from(machine: Make, files: Dict[str, str], live: str, source: str) -> None:
    _, services = steps(machine([], dict(BARE, **files)))
    assert told(services.change) == (Outcome.OK, live, source)
    assert bool(services.live) is (live != "unlimited")


def test_lines_are_counted_by_their_newlines(machine: Make) -> None:
    text = "# one\x0c\u2028page\r\n* - memlock unlimited\r\n"
    logins, _ = steps(machine([], dict(BARE, **{"/etc/security/limits.conf": text})))
    assert told(logins.change) == (Outcome.OK, "unlimited", "/etc/security/limits.conf:2")
