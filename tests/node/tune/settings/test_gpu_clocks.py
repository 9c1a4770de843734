"""gpu-clocks: a range that NVML does not tell, so the journal does."""

import json
from pathlib import Path
from typing import Any, Callable

import pytest

from brctl.node.accel import AcceleratorError
from brctl.node.accel.nvml_set import NvmlSetters
from brctl.node.report import Change, Outcome, Report
from brctl.node.request import Clocks
from brctl.node.tune import boot

Ask = Callable[..., Report]  # the fixtures of conftest.py
Load = Callable[[str], Any]
WANTED = {"locked_clocks": Clocks(1200, 1980), "settings": ("gpu-clocks",)}
UNSEEN = "a range that brctl did not set cannot be read back; rollback resets it to the default"


def of_first(report: Report) -> Change:
    (change,) = [change for change in report.changes if change.subject.name == "GPU 0"]
    return change


def test_a_lock_is_known_from_the_journal_and_reset(ask: Ask, load: Load, h100: str) -> None:
    plan = of_first(ask(h100, "tune-plan", **WANTED))
    assert (plan.outcome, plan.live, plan.wanted, plan.effects) == (
        Outcome.PENDING,
        None,
        "1200 to 1980 MHz",
        (UNSEEN,),
    )
    done = of_first(ask(h100, "tune-apply", **WANTED))
    assert (done.outcome, done.before, done.live) == (Outcome.CHANGED, None, "1200 to 1980 MHz")
    again = of_first(ask(h100, "tune-plan", **WANTED))
    assert (again.outcome, again.effects) == (Outcome.OK, ())
    narrower = dict(WANTED, locked_clocks=Clocks(1300, 1900))
    assert of_first(ask(h100, "tune-apply", **narrower)).before == "1200 to 1980 MHz"
    assert of_first(ask(h100, "tune-rollback")).live == "1200 to 1980 MHz"
    assert of_first(ask(h100, "tune-plan", **WANTED)).outcome is Outcome.OK
    back = of_first(ask(h100, "tune-rollback"))
    assert (back.outcome, back.before, back.live) == (Outcome.RESTORED, "1200 to 1980 MHz", "not locked")
    assert of_first(ask(h100, "tune-plan", **WANTED)).live is None
    assert load(h100)._overlay.read("nvml:gpu0:locked_clocks_mhz") == "null"


def test_a_boot_takes_it_away(ask: Ask, load: Load, h100: str) -> None:
    ask(h100, "tune-apply", **WANTED)
    load(h100).write("/proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555\n")
    assert of_first(ask(h100, "tune-plan", **WANTED)).outcome is Outcome.PENDING


def test_what_the_driver_refuses_is_not_locked(ask: Ask, h100: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AcceleratorError("permission", "nvmlDeviceSetGpuLockedClocks", "Insufficient Permissions")

    with monkeypatch.context() as patch:
        patch.setattr(NvmlSetters, "lock_clocks", refuse)
        assert of_first(ask(h100, "tune-apply", **WANTED)).outcome is Outcome.REFUSED
    plan = of_first(ask(h100, "tune-plan", **WANTED))
    assert (plan.outcome, plan.live) == (Outcome.PENDING, None)


def test_a_rollback_after_a_boot_finds_them_unlocked(ask: Ask, load: Load, h100: str) -> None:
    ask(h100, "tune-apply", **WANTED)
    load(h100).write("/proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555\n")
    back = ask(h100, "tune-rollback")
    assert {(change.outcome, change.live) for change in back.changes} == {(Outcome.OK, "not locked")}
    assert back.transactions[0].state == "rolled back"


def test_a_rollback_after_a_boot_unlocks_what_the_boot_locked(ask: Ask, load: Load, h100: str) -> None:
    ask(h100, "tune-apply", persist=True, **WANTED)
    machine = load(h100)
    machine.write("/proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555\n")
    held = boot.read(machine)
    assert held is not None
    assert boot.run(machine, held, 0) == ()
    back = of_first(ask(h100, "tune-rollback"))
    assert (back.outcome, back.live) == (Outcome.RESTORED, "not locked")
    assert load(h100)._overlay.read("nvml:gpu0:locked_clocks_mhz") == "null"
    plan = of_first(ask(h100, "tune-plan", **WANTED))
    assert (plan.outcome, plan.live) == (Outcome.PENDING, None)


def test_more_than_the_part_has_is_refused(ask: Ask, h100: str) -> None:
    change = of_first(ask(h100, "tune-plan", **dict(WANTED, locked_clocks=Clocks(1200, 1981))))
    assert (change.outcome, change.reason) == (
        Outcome.REFUSED,
        "1981 MHz are more than this GPU's greatest SM clock, 1980 MHz",
    )


def test_a_part_that_tells_no_clocks(ask: Ask, h100: str) -> None:
    change = of_first(ask(h100 + "+gpu0-unsupported:nvmlDeviceGetMaxClockInfo", "tune-plan", **WANTED))
    assert (change.outcome, change.reason) == (Outcome.REFUSED, "this GPU tells no clocks that could be locked")


def test_what_the_next_boot_gives(ask: Ask, load: Load, h100: str) -> None:
    plan = of_first(ask(h100, "tune-plan", **WANTED))
    assert (plan.boot, plan.boot_source) == ("not locked", "the driver's default")
    done = of_first(ask(h100, "tune-apply", persist=True, **WANTED))
    assert (done.boot, done.boot_source) == ("1200 to 1980 MHz", boot.JSON)
    held = boot.read(load(h100))
    assert held is not None
    assert held.request.tune.wanted.locked_clocks == Clocks(1200, 1980)


def test_nothing_wanted_nothing_planned(ask: Ask, h100: str) -> None:
    assert ask(h100, "tune-plan", settings=("gpu-clocks",)).changes == ()


def test_whoever_plans_needs_no_root(ask: Ask, h100: str) -> None:
    file = Path(h100)
    plain = json.loads(file.read_text())
    plain["files"]["/var/lib/brctl"] = {"errno": "EACCES"}
    file.write_text(json.dumps(plain))
    change = of_first(ask(h100, "tune-plan", **WANTED))
    assert (change.outcome, change.live) == (Outcome.PENDING, None)
