"""gpu-persistence: NVML now, the daemon's own command line at boot, our service where there is no daemon."""

import json
from typing import Any, Callable, List, Tuple

import pytest

from brctl.node.report import Change, Outcome, Report
from brctl.node.tune import boot, persistenced

Ask = Callable[..., Report]  # the fixtures of conftest.py
Load = Callable[[str], Any]

UNIT = "/usr/lib/systemd/system/nvidia-persistenced.service"
COMMAND = "/usr/bin/nvidia-persistenced --user nvidia-persistenced --no-persistence-mode --verbose"
ONLY = ("gpu-persistence",)


def of_first(report: Report) -> Change:
    (change,) = [change for change in report.changes if change.subject.name == "GPU 0"]
    return change


def outcomes(report: Report) -> List[Tuple[str, str]]:
    return [(change.subject.name, change.outcome.value) for change in report.changes]


def test_it_is_switched_for_each_gpu_and_back(ask: Ask, h100: str) -> None:
    plan = of_first(ask(h100, "tune-plan", persistence_mode=False))
    assert (plan.outcome, plan.live, plan.wanted) == (Outcome.PENDING, "on", "off")
    assert plan.effects == ("power limit and clocks go back to default when the last process ends",)
    done = ask(h100, "tune-apply", persistence_mode=False)
    assert outcomes(done) == [("GPU {}".format(n), "changed") for n in range(2)]
    assert (of_first(done).before, of_first(done).live) == ("on", "off")
    assert of_first(ask(h100, "tune-plan", persistence_mode=False)).outcome is Outcome.OK
    back = ask(h100, "tune-rollback")
    assert outcomes(back) == [("GPU {}".format(n), "restored") for n in reversed(range(2))]
    assert of_first(ask(h100, "tune-plan", persistence_mode=True)).outcome is Outcome.OK


def test_nothing_is_planned_where_nothing_is_wanted(ask: Ask, h100: str) -> None:
    assert ask(h100, "tune-plan", settings=ONLY).changes == ()


def test_without_the_daemon_our_service_sets_it_at_boot(ask: Ask, load: Load, h100: str) -> None:
    wanted = {"persistence_mode": True, "persist": True, "settings": ONLY}
    plan = of_first(ask(h100, "tune-plan", **wanted))
    assert (plan.outcome, plan.boot, plan.boot_source) == (Outcome.PENDING, "off", "the driver's default")
    done = of_first(ask(h100, "tune-apply", **wanted))
    assert (done.outcome, done.boot, done.boot_source) == (Outcome.CHANGED, "on", boot.JSON)
    held = boot.read(load(h100))
    assert held is not None
    assert (len(held.gpus), held.request.tune.settings) == (2, ONLY)
    assert held.request.tune.wanted.persistence_mode is True
    assert {change.outcome for change in ask(h100, "tune-plan", **wanted).changes} == {Outcome.OK}


@pytest.mark.parametrize("where", ["/usr/lib/systemd/system/", "/etc/systemd/system/"])
def test_with_the_daemon_a_drop_in_gives_it_the_option(ask: Ask, load: Load, where: str, h100: str) -> None:
    machine = load(h100)
    machine.replace(where + persistenced.NAME, "[Service]\nExecStart={}\n".format(COMMAND).encode())
    wanted = {"persistence_mode": True, "persist": True, "settings": ONLY}
    plan = of_first(ask(h100, "tune-plan", **wanted))
    assert (plan.outcome, plan.boot, plan.boot_source) == (Outcome.PENDING, "off", where + persistenced.NAME)
    done = of_first(ask(h100, "tune-apply", **wanted))
    assert (done.outcome, done.boot, done.boot_source) == (Outcome.CHANGED, "on", persistenced.DROP_IN)
    assert load(h100).read(persistenced.DROP_IN) == (
        "# Written by brctl: `brctl tune rollback` takes it away.\n[Service]\nExecStart=\n"
        "ExecStart=/usr/bin/nvidia-persistenced --persistence-mode --user nvidia-persistenced --verbose\n"
    )
    assert load(h100).read(boot.JSON) is None
    ask(h100, "tune-rollback")
    assert load(h100).read(persistenced.DROP_IN) is None


def test_of_several_drop_ins_the_last_name_holds(load: Load, h100: str) -> None:
    machine = load(h100)
    assert persistenced.read(machine) is None
    machine.replace(UNIT, b"[Service]\nExecStart=/usr/bin/nvidia-persistenced \\\n  --verbose\n")
    assert persistenced.read(machine) == ("/usr/bin/nvidia-persistenced    --verbose", UNIT)
    for folder, name, mode in (
        ("/usr/lib", "50-a.conf", "--persistence-mode"),
        ("/etc", "50-a.conf", "--no-persistence-mode"),
        ("/etc", "40-b.conf", "--verbose"),
        ("/etc", "readme", "--verbose"),
        ("/etc", "60-c.conf", ""),
    ):
        path = "{}/systemd/system/{}.d/{}".format(folder, persistenced.NAME, name)
        text = "[Service]\nExecStart=\nExecStart=nvidia-persistenced {}\n".format(mode) if mode else "[Unit]\n"
        machine.replace(path, text.encode())
    unit = persistenced.read(machine)
    assert unit == ("nvidia-persistenced --no-persistence-mode",
                    "/etc/systemd/system/{}.d/50-a.conf".format(persistenced.NAME))  # fmt: skip
    assert not unit.on


def test_a_part_without_the_mode(ask: Ask, h100: str) -> None:
    wanted = ask(h100 + "+gpu0-unsupported:nvmlDeviceGetPersistenceMode", "tune-plan", persistence_mode=True)
    assert (of_first(wanted).outcome, of_first(wanted).reason) == (
        Outcome.REFUSED,
        "this GPU has no persistence mode",
    )
    off = ask(h100 + "+gpu0-unsupported:nvmlDeviceGetPersistenceMode", "tune-plan", persistence_mode=False)
    assert (of_first(off).outcome, of_first(off).reason) == (Outcome.NA, None)


def test_what_boot_json_holds_is_plain(ask: Ask, load: Load, h100: str) -> None:
    ask(h100, "tune-apply", persistence_mode=True, persist=True, settings=ONLY)
    plain = json.loads(load(h100).read(boot.JSON))
    assert plain["request"]["action"] == "tune-apply"
    assert plain["request"]["tune"]["who"] == "brctl-boot.service"
