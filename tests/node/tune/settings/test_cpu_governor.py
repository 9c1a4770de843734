"""The governor of every cpufreq policy."""

import errno
from typing import Any, Callable, Dict, List, Optional

import pytest

from brctl.node.facts import Inventory
from brctl.node.host.machine import Machine
from brctl.node.report import Outcome
from brctl.node.request import Expected, Wanted
from brctl.node.tune import Place, Scene, Step, Write
from brctl.node.tune.settings.cpu_governor import FOLDER, OURS, plan

Make = Callable[..., Machine]
GOVERNOR = FOLDER + "/policy{}/scaling_governor"


def policies(*governors: str) -> Dict[str, Any]:
    files: Dict[str, Any] = {"/run/systemd/system": {"names": []}, FOLDER + "/boost": "1\n"}
    for number, governor in enumerate(governors):
        files[GOVERNOR.format(number)] = governor + "\n"
        files["{}/policy{}/scaling_available_governors".format(FOLDER, number)] = "performance powersave \n"
    return files


def steps(host: Machine, want: Optional[str] = "performance", persist: bool = False) -> List[Step]:
    return list(plan(Scene(host, Inventory(), Wanted(cpu_governor=want), Expected(), persist)))


def test_nothing_is_wanted(machine: Make) -> None:
    assert steps(machine([], policies("powersave")), None) == []


def test_those_that_differ_are_written(machine: Make) -> None:
    (step,) = steps(machine([], policies("performance", "powersave", "powersave")), persist=True)
    assert (step.change.outcome, step.change.key) == (Outcome.OK, "scaling_governor")
    assert step.change.live == "powersave (2), performance (1)"
    assert (step.change.source or "").startswith("tuned, latency-performance")
    assert step.live == tuple(Write(Place("knob", GOVERNOR.format(number)), "performance") for number in (1, 2))
    (write,) = step.boot
    assert write.place == Place("file", OURS)
    assert (write.value or "").endswith("\nw {} - - - - performance\n".format(GOVERNOR.format("[0-9]*")))


def test_all_as_wanted(machine: Make) -> None:
    (step,) = steps(machine([], policies("performance", "performance")))
    assert (step.live, step.change.live) == ((), "performance")


def test_a_machine_that_has_none(machine: Make) -> None:
    for files in ({}, {FOLDER + "/boost": "1\n"}):
        (step,) = steps(machine([], files), persist=True)
        assert (step.change.outcome, step.boot) == (Outcome.NA, ())
        assert step.change.reason == "the kernel sets no clocks here: firmware or the hypervisor does"


def test_a_governor_that_is_not_offered(machine: Make) -> None:
    (step,) = steps(machine([], policies("performance", "powersave")), "schedutil")
    assert (step.change.outcome, step.live) == (Outcome.REFUSED, ())
    assert step.change.reason == "policy0 offers performance, powersave"
    (step,) = steps(machine([], {GOVERNOR.format(0): "powersave\n"}))
    assert step.change.reason == "policy0 offers no governor"


def test_what_cannot_be_read_or_written(machine: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    (step,) = steps(machine([], dict(policies("powersave"), **{GOVERNOR.format(0): {"errno": "EBUSY"}})))
    assert (step.change.outcome, step.change.reason) == (Outcome.REFUSED, "in use (EBUSY)")
    host = machine([], policies("powersave"))
    monkeypatch.setattr(host, "denies", lambda path: errno.EROFS)  # noqa: ARG005
    (step,) = steps(host)
    assert step.change.reason == "not settable here: set it on the host"


@pytest.mark.parametrize(
    ("line", "boot", "outcome"),
    [
        ("w /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor - - - - powersave", "powersave", Outcome.REFUSED),
        ("w /sys/devices/system/cpu/cpufreq/policy*/scaling_governor - - - - powersave", "powersave", Outcome.REFUSED),
        ("w /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor - - - - powersave", "powersave", Outcome.REFUSED),
        ("w /sys/devices/system/cpu/cpu*/online - - - - 1", "ondemand", Outcome.OK),
    ],
)
def test_who_else_decides_at_boot(machine: Make, line: str, boot: str, outcome: Outcome) -> None:
    files = dict(policies("performance"), **{"/proc/cmdline": "cpufreq.default_governor=ondemand\n"})
    files["/etc/tmpfiles.d/50-other.conf"] = line + "\n"
    (step,) = steps(machine([], files), persist=True)
    assert (step.change.boot, step.change.outcome, bool(step.boot)) == (boot, Outcome.OK, True)
    files["/etc/tmpfiles.d/zzz.conf"] = files.pop("/etc/tmpfiles.d/50-other.conf")  # after ours
    (step,) = steps(machine([], files), persist=True)
    assert (step.change.boot, step.change.outcome) == (boot, outcome)
