"""gpu-power-limit: watts, percent or by model; the range; what is capped; what is lost."""

from typing import Any, Callable, Optional, Sequence

import pytest

from brctl.node.report import Change, Outcome, Report
from brctl.node.request import PowerLimit
from brctl.node.tune import boot

Ask = Callable[..., Report]  # the fixtures of conftest.py
Load = Callable[[str], Any]
Changed = Callable[..., str]
H100 = "NVIDIA H100 80GB HBM3"


def limits(*given: PowerLimit) -> Any:
    return {"power_limits": given, "settings": ("gpu-power-limit",)}


def of_first(report: Report) -> Change:
    (change,) = [change for change in report.changes if change.subject.name == "GPU 0"]
    return change


@pytest.mark.parametrize(
    ("given", "watts"),
    [
        ([PowerLimit(None, 650.0)], "650 W"),
        ([PowerLimit("*", None, 93.0)], "651 W"),
        ([PowerLimit(H100, 600.0), PowerLimit(None, 500.0)], "600 W"),
        ([PowerLimit(None, 500.0), PowerLimit("*H100*", 600.0)], "600 W"),
        ([PowerLimit("NVIDIA H*", 500.0), PowerLimit(H100, None, 50.0)], "350 W"),
    ],
)
def test_what_is_wanted_of_a_model(ask: Ask, given: Sequence[PowerLimit], watts: str, h100: str) -> None:
    change = of_first(ask(h100, "tune-plan", **limits(*given)))
    assert (change.outcome, change.live, change.wanted) == (Outcome.PENDING, "700 W", watts)


def test_another_model_is_left_alone(ask: Ask, h100: str) -> None:
    (change,) = ask(h100, "tune-plan", **limits(PowerLimit("NVIDIA L40S", 300.0))).changes
    assert (change.outcome, change.subject.name) == (Outcome.NA, "host")
    assert change.reason == "no GPU of this machine is of a model that tune.gpu.power_limit names"


def test_a_cut_is_told(ask: Ask, h100: str) -> None:
    change = of_first(ask(h100, "tune-plan", **limits(PowerLimit(None, 300.0))))
    assert change.effects == (
        "default 700 W, 200 W to 700 W possible",
        "a cut of 57 % for jobs that are bound by power",
    )
    assert (change.boot, change.boot_source) == ("700 W", "the driver's default")


@pytest.mark.parametrize("watts", [199.0, 701.0])
def test_out_of_range_refuses_the_whole_node(ask: Ask, load: Load, watts: float, h100: str) -> None:
    report = ask(h100, "tune-apply", persistence_mode=False, power_limits=(PowerLimit(None, watts),))
    assert report.transactions == ()
    refused = [change for change in report.changes if change.setting == "gpu-power-limit"]
    assert {change.outcome for change in refused} == {Outcome.REFUSED}
    assert refused[0].reason == "{:g} W is outside of what this GPU takes: 200 W to 700 W".format(watts)
    (other, *_) = report.changes
    assert (other.setting, other.outcome) == ("gpu-persistence", Outcome.NOT_ATTEMPTED)
    assert other.reason == "nothing was touched: power limit of GPU 0 is impossible here"
    assert of_first(ask(h100, "tune-plan", **limits(PowerLimit(None, 700.0)))).outcome is Outcome.OK


def test_it_is_set_and_comes_back(ask: Ask, h100: str) -> None:
    wanted = limits(PowerLimit(None, 650.5))
    done = of_first(ask(h100, "tune-apply", **wanted))
    assert (done.outcome, done.before, done.live) == (Outcome.CHANGED, "700 W", "650.5 W")
    assert {change.outcome for change in ask(h100, "tune-plan", **wanted).changes} == {Outcome.OK}
    back = of_first(ask(h100, "tune-rollback"))
    assert (back.outcome, back.before, back.live) == (Outcome.RESTORED, "650.5 W", "700 W")


def test_held_lower_out_of_band(ask: Ask, changed: Changed) -> None:
    spec = changed(enforced_power_limit_watts=400.0)
    change = of_first(ask(spec, "tune-plan", **limits(PowerLimit(None, 700.0))))
    assert (change.outcome, change.live) == (Outcome.CAPPED, "700 W, 400 W in force")
    assert change.reason == "400 W are in force: a BMC, the chassis or the site's power management holds it lower"
    done = of_first(ask(spec, "tune-apply", **limits(PowerLimit(None, 650.0))))
    assert (done.outcome, done.before, done.live) == (
        Outcome.CAPPED,
        "700 W, 400 W in force",
        "650 W, 400 W in force",
    )


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("vgpu-guest", "this GPU has no power limit that can be set"),
        ("dgx-h100+gpu0-lost", "lost: nvmlDeviceGetHandleByIndex_v2: GPU is lost"),
        ("dgx-h100+no-driver", "nvmlInitWithFlags: Driver Not Loaded"),
    ],
)
def test_what_cannot_be_set(ask: Ask, spec: str, reason: str) -> None:
    (change, *_) = ask(spec, "tune-plan", **limits(PowerLimit(None, None, 80.0))).changes
    assert (change.outcome, change.wanted) == (Outcome.REFUSED, "80 % of the default")
    assert change.reason == reason


def test_without_a_gpu_nothing_is_to_do(ask: Ask) -> None:
    (change,) = ask("cpu-only", "tune-plan", **limits(PowerLimit("a", 1.0), PowerLimit("b", 2.0))).changes
    assert (change.outcome, change.wanted, change.reason) == (Outcome.NA, "by model", "this machine has no GPU")


def test_what_is_lost_without_persistence_mode(ask: Ask, h100: str) -> None:
    ask(h100, "tune-apply", persistence_mode=False, settings=("gpu-persistence",))
    lost = "persistence mode is off: it is lost when the last process on the GPU ends"
    assert of_first(ask(h100, "tune-plan", **limits(PowerLimit(None, 650.0)))).effects[-1] == lost


def test_it_needs_the_persistence_mode_that_is_wanted(ask: Ask, changed: Changed) -> None:
    broken = {"nvmlDeviceSetPersistenceMode": "NVML_ERROR_UNKNOWN"}
    spec = changed(persistence_mode=False, errors=broken)
    report = ask(spec, "tune-apply", persistence_mode=True, power_limits=(PowerLimit(None, 650.0),))
    first = [change for change in report.changes if change.subject.name == "GPU 0"]
    assert [(change.setting, change.outcome) for change in first] == [
        ("gpu-persistence", Outcome.REFUSED),
        ("gpu-power-limit", Outcome.NOT_ATTEMPTED),
    ]
    assert first[0].reason == "nvmlDeviceSetPersistenceMode: Unknown Error"
    assert first[1].reason == "persistence mode of GPU 0 failed, without which it cannot be"
    others = {(change.setting, change.outcome) for change in report.changes if change.subject.name != "GPU 0"}
    assert others == {("gpu-persistence", Outcome.OK), ("gpu-power-limit", Outcome.CHANGED)}
    assert report.transactions[0].state == "failed"


def test_without_permission_there_is_one_clear_line(ask: Ask, changed: Changed) -> None:
    spec = changed(errors={"nvmlDeviceSet*": "NVML_ERROR_NO_PERMISSION"})
    done = of_first(ask(spec, "tune-apply", **limits(PowerLimit(None, 650.0))))
    assert (done.outcome, done.before, done.live) == (Outcome.REFUSED, "700 W", "700 W")
    assert done.reason == (
        "no permission (nvmlDeviceSetPowerManagementLimit): run as root; a container also needs CAP_SYS_ADMIN"
    )


def test_what_boot_json_has_of_it(ask: Ask, load: Load, h100: str) -> None:
    wanted = dict(limits(PowerLimit(H100, None, 90.0)), persist=True)
    done = of_first(ask(h100, "tune-apply", **wanted))
    assert (done.outcome, done.boot, done.boot_source) == (Outcome.CHANGED, "630 W", boot.JSON)
    held: Optional[boot.Boot] = boot.read(load(h100))
    assert held is not None
    assert held.request.tune.wanted.power_limits == (PowerLimit(H100, None, 90.0),)


def test_a_gpu_in_use_is_left_alone_unless_forced(ask: Ask, changed: Changed) -> None:
    spec = changed(processes=[{"pid": 4000 + n, "kind": "compute", "memory_bytes": 1} for n in range(5)])
    wanted = limits(PowerLimit(None, 650.0))
    who = "in use by 5 processes: 4000, 4001, 4002, 4003, ..."
    assert of_first(ask(spec, "tune-plan", **wanted)).effects[-1] == who + ": apply refuses without --force-busy"
    report = ask(spec, "tune-apply", **wanted)
    assert [change.outcome for change in report.changes] == [Outcome.REFUSED, Outcome.NOT_ATTEMPTED]
    assert of_first(report).reason == who + ": drain the node, or give --force-busy"
    assert report.changes[1].reason == "nothing was touched: a GPU is in use"
    assert report.transactions == ()
    forced = ask(spec, "tune-apply", force_busy=True, **wanted)
    assert {change.outcome for change in forced.changes} == {Outcome.CHANGED}
