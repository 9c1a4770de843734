"""A GPU is throttled in steps for as long as its alert fires, once, and has its limit back afterwards, exactly."""

from typing import Any, Callable, ClassVar, List, Optional, Tuple

import pytest

from brctl.node import request
from brctl.node.alert_facts import ActionRecord, Alert, Event, Happening, Label, Outcome, Phase, Rule
from brctl.node.host import BusyError, detached
from brctl.node.monitor import release
from brctl.node.report import Outcome as Became
from brctl.node.tune import Place, guard, journal, throttle, undo
from brctl.node.tune.places import Places, WriteError
from brctl.node.tune.throttle import LEAST_S, REST_S, Throttle

RULE = Rule("gpu-hot", "brctl_gpu_temperature_celsius", ">=", 85, action="throttle")
OTHER = RULE._replace(id="gpu-slowed")


class FakeGuard:
    """One in this process."""

    made: ClassVar[List["FakeGuard"]] = []

    def __init__(self, _: Any, transaction: str, limit_s: float) -> None:
        self.transaction, self.limit_s, self.words = transaction, limit_s, [""]
        self.alive = True
        FakeGuard.made.append(self)

    def here(self) -> None:
        if not self.alive:
            raise BrokenPipeError
        self.words.append("here")

    def release(self) -> None:
        if not self.alive:
            raise BrokenPipeError
        self.words.append("done")

    def give_back(self) -> None:
        self.words.append("give back")


@pytest.fixture(autouse=True)
def guards(monkeypatch: pytest.MonkeyPatch) -> List[FakeGuard]:
    monkeypatch.setattr(guard, "Guard", FakeGuard)
    FakeGuard.made = []
    return FakeGuard.made


@pytest.fixture
def host(load: Callable[[str], Any], h100: str) -> Any:
    return load(h100)


class Gpu:
    """One GPU of a host, its alerts, and who throttles it."""

    def __init__(self, host: Any, index: int = 0, actions: Optional[Throttle] = None) -> None:
        self.host, (library, *_) = host, host.accelerators()
        library.driver()
        self.uuid: str = library.open(index).uuid()
        self.labels = (Label("gpu", str(index)), Label("uuid", self.uuid))
        self.actions = actions or Throttle(host, "n", "op@admin", 20)

    @property
    def place(self) -> Place:
        return Place("gpu", self.uuid, "power_limit")

    @property
    def watts(self) -> Optional[str]:
        return Places(self.host).read(self.place)

    def set(self, watts: int) -> None:
        """Somebody else does."""
        Places(self.host).write(self.place, str(watts))

    def alert(self, rule: Rule = RULE, phase: Phase = Phase.FIRING) -> Alert:
        return Alert(rule.id, "n", self.labels, phase)

    def fire(self, at: float, rule: Rule = RULE) -> ActionRecord:
        return self.actions.begin(Event(Happening.FIRED, self.alert(rule), at, "90 C"), rule)

    def clear(self, at: float, rule: Rule = RULE) -> Tuple[ActionRecord, ...]:
        alert = self.alert(rule, Phase.INACTIVE)
        return tuple(self.actions.undo(Event(Happening.RESOLVED, alert, at, "80 C")))

    def tick(self, at: float, *alerts: Alert) -> Tuple[ActionRecord, ...]:
        return tuple(self.actions.tick(alerts, at))


@pytest.fixture
def gpu(host: Any) -> Gpu:
    return Gpu(host)


def told(record: ActionRecord) -> Tuple[str, Outcome, str]:
    return record.what, record.outcome, record.result


def test_one_step_and_back(gpu: Gpu, guards: List[FakeGuard]) -> None:
    begun = gpu.fire(1000)
    assert told(begun) == ("power limit 700 W -> 630 W", Outcome.DONE, "")
    assert (begun.id, begun.at, begun.node, begun.rule, begun.evidence) == ("n-1000-1", 1000, "n", "gpu-hot", "90 C")
    assert (gpu.watts, guards[0].limit_s) == ("630", 20)
    assert gpu.tick(1005, gpu.alert()) == ()
    (back,) = gpu.clear(1000 + LEAST_S)
    assert back == begun._replace(undone_at=1000 + LEAST_S, undone="cleared", result="given back: 700 W")
    assert (gpu.watts, guards[0].words) == ("700", ["", "here", "done"])


def test_it_is_a_transaction_of_tuning(gpu: Gpu) -> None:
    gpu.fire(1000)
    (log,) = journal.logs(gpu.host)
    assert (log.state, journal.open_id(gpu.host), log.begin.who) == ("open", log.begin.id, "op@admin")
    gpu.clear(1100)
    (log,) = journal.logs(gpu.host)
    (change,) = log.told().changes
    assert (log.state, journal.open_id(gpu.host), log.entries) == ("rolled back", None, ())
    assert (change.setting, change.subject.name, change.outcome) == ("gpu-power-limit", "GPU 0", Became.RESTORED)
    assert (change.before, change.live) == ("630 W", "700 W")


def test_step_by_step_to_the_floor(gpu: Gpu) -> None:
    gpu.fire(0)
    seen = []
    for number in range(1, 8):
        gpu.tick(number * REST_S, gpu.alert())
        seen.append(gpu.watts)
    assert seen == ["560", "490", "420", "350", "350", "350", "350"]
    (log,) = journal.logs(gpu.host)
    assert [(entry.before, entry.after) for entry in log.entries] == [("700", "350")]


def test_no_step_while_it_clears(gpu: Gpu) -> None:
    gpu.fire(0)
    assert gpu.tick(REST_S, gpu.alert(phase=Phase.CLEARING)) == ()
    assert gpu.watts == "630"


def test_an_alert_that_flaps_does_not_flap_the_limit(gpu: Gpu) -> None:
    seen = []
    for at in range(0, 50, 2):
        gpu.fire(at)
        gpu.clear(at + 1)
        gpu.tick(at + 1)
        seen.append(gpu.watts)
    assert set(seen) == {"630"}
    assert [record.undone for record in gpu.tick(LEAST_S)] == ["cleared"]
    assert gpu.watts == "700"
    assert len(tuple(journal.logs(gpu.host))) == 1


def test_one_that_is_back_in_time_goes_on(gpu: Gpu) -> None:
    begun = gpu.fire(0)
    assert gpu.clear(10) == ()
    assert gpu.fire(20) == begun
    assert gpu.tick(LEAST_S + 5, gpu.alert(phase=Phase.CLEARING)) == ()
    assert gpu.watts == "630"


def test_what_cannot_be_ended_now_is_ended_later(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = type(gpu.host).lock

    def busy(*_: object) -> None:
        raise BusyError("bob")

    gpu.fire(0)
    gpu.set(500)
    monkeypatch.setattr(type(gpu.host), "lock", busy)
    assert [record.result for record in gpu.tick(5, gpu.alert())] == [
        "not given back yet: another brctl is at work: bob"
    ]
    monkeypatch.setattr(type(gpu.host), "lock", lock)
    assert [(record.undone, record.outcome) for record in gpu.tick(10, gpu.alert())] == [("superseded", Outcome.DONE)]
    assert (gpu.watts, journal.open_id(gpu.host)) == ("500", None)


def test_two_alerts_hold_it_once(gpu: Gpu) -> None:
    gpu.fire(0)
    second = gpu.fire(1, OTHER)
    assert told(second) == (
        "lower its power limit",
        Outcome.UNCHANGED,
        "it is lowered already: power limit 700 W -> 630 W",
    )
    assert gpu.clear(100) == ()
    assert gpu.watts == "630"
    assert {(record.rule, record.undone) for record in gpu.clear(101, OTHER)} == {
        ("gpu-hot", "cleared"),
        ("gpu-slowed", "cleared"),
    }
    assert gpu.watts == "700"


def test_two_gpus_share_a_transaction(gpu: Gpu) -> None:
    other = Gpu(gpu.host, 1, gpu.actions)
    gpu.fire(0)
    other.fire(1)
    assert gpu.clear(100)[0].undone == "cleared"
    assert (gpu.watts, other.watts) == ("700", "630")
    (log,) = journal.logs(gpu.host)
    assert (log.state, [entry.place.name for entry in log.entries]) == ("open", [other.uuid])
    other.clear(101)
    (log,) = journal.logs(gpu.host)
    assert (log.state, len(log.told().changes)) == ("rolled back", 2)


def test_the_end_gives_all_back(gpu: Gpu, guards: List[FakeGuard]) -> None:
    gpu.fire(0)
    (back,) = gpu.actions.close()
    assert (back.undone, gpu.watts, guards[0].words[-1]) == ("exit", "700", "done")
    assert gpu.tick(1) == ()
    assert gpu.actions.close() == ()


def test_somebody_else_who_sets_it_is_left_alone(gpu: Gpu) -> None:
    gpu.fire(0)
    gpu.set(500)
    (left,) = gpu.tick(5, gpu.alert())
    assert (left.undone, left.result) == (
        "superseded",
        "its power limit is 500 W, and we set 630 W: it is left to whoever set it",
    )
    assert gpu.tick(5 + 2 * REST_S, gpu.alert()) == ()
    assert gpu.fire(70, OTHER).result == "somebody else sets its power limit"
    gpu.clear(80, OTHER)
    assert gpu.clear(90) == ()
    assert gpu.watts == "500"
    (log,) = journal.logs(gpu.host)
    assert (log.state, log.told().changes[0].outcome) == ("rolled back", Became.CONFLICT)
    assert gpu.fire(100).what == "power limit 500 W -> 430 W"


def test_rollback_by_hand_is_final(gpu: Gpu) -> None:
    gpu.fire(0)
    undo.rollback(gpu.host, None, "alice")
    (left,) = gpu.tick(5, gpu.alert())
    assert (left.undone, left.result) == (
        "superseded",
        "its power limit is 700 W, and we set 630 W: alice gave it back",
    )
    assert gpu.watts == "700"
    assert [log.end and log.end.who for log in journal.logs(gpu.host)] == ["alice"]


def test_what_the_guard_gave_back_is_lowered_anew(gpu: Gpu) -> None:
    gpu.fire(0)
    undo.rollback(gpu.host, None, guard.WHO)
    assert [record.undone for record in gpu.tick(5, gpu.alert())] == ["guard"]
    gpu.tick(REST_S + 5, gpu.alert())
    assert gpu.watts == "630"
    assert len(tuple(journal.logs(gpu.host))) == 2


def test_without_a_guard_nothing_stays(gpu: Gpu, guards: List[FakeGuard]) -> None:
    gpu.fire(0)
    guards[0].alive = False
    assert [record.undone for record in gpu.tick(5, gpu.alert())] == ["guard"]
    assert gpu.watts == "700"
    (again,) = gpu.tick(REST_S + 5, gpu.alert())
    assert (gpu.watts, len(guards), again.undone, again.undone_at) == ("630", 2, None, None)


def test_a_guard_that_does_not_start(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise detached.NotStartedError("no memory")

    monkeypatch.setattr(guard, "Guard", fails)
    assert told(gpu.fire(0)) == ("lower its power limit", Outcome.REFUSED, "no memory")
    assert (gpu.watts, journal.open_id(gpu.host)) == ("700", None)


def test_where_the_guard_would_end_with_us(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detached, "dies_with_us", lambda _: "it runs in a pod")
    assert gpu.fire(0).result == "nothing would be left to give the limit back, as it runs in a pod"
    assert gpu.watts == "700"


def test_a_transaction_of_somebody_else(gpu: Gpu) -> None:
    other = journal.begin(gpu.host, request.Request("n", "tune-apply", tune=request.Tuning(who="bob")))
    assert gpu.fire(0).result == "{} by bob was cut short: `tune rollback` takes back what it did".format(other.id)
    other.end("done", "bob", ())
    assert gpu.tick(REST_S, gpu.alert())[0].outcome is Outcome.DONE
    assert gpu.watts == "630"


def test_what_a_dead_one_left_is_taken_back_first(gpu: Gpu) -> None:
    gpu.fire(0)  # and is heard of no more
    fresh = Gpu(gpu.host)
    assert fresh.fire(100).what == "power limit 700 W -> 630 W"
    assert [log.state for log in journal.logs(gpu.host)] == ["open", "rolled back"]
    fresh.clear(200)
    assert fresh.watts == "700"


def test_another_one_who_tunes(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: object) -> None:
        raise BusyError("bob: brctl tune apply")

    monkeypatch.setattr(type(gpu.host), "lock", busy)
    assert gpu.fire(0).result == "another brctl is at work: bob: brctl tune apply"


def test_who_is_not_root_is_told_in_a_line(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "/run/brctl")

    monkeypatch.setattr(type(gpu.host), "lock", denied)
    record = gpu.fire(0)
    assert (record.outcome, record.result) == (
        Outcome.REFUSED,
        "permission denied: run as root; in a container or network namespace it is set on the host",
    )
    assert gpu.clear(1) == ()


def test_a_driver_that_refuses(load: Any, changed: Callable[..., str]) -> None:
    gpu = Gpu(load(changed(errors={"nvmlDeviceSetPowerManagementLimit": "NVML_ERROR_NO_PERMISSION"})))
    assert "no permission (nvmlDeviceSetPowerManagementLimit): run as root" in gpu.fire(0).result
    assert (gpu.watts, [log.entries for log in journal.logs(gpu.host)]) == ("700", [()])
    assert journal.open_id(gpu.host) is None


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"power_limit_watts": None}, "this GPU has no power limit that can be set"),
        ({"power_limit_watts": 350.0}, "its power limit, 350 W, is at the floor already"),
        (
            {"power_limit_watts": 600.0, "min_power_limit_watts": 600.0},
            "its power limit, 600 W, is at the floor already",
        ),
    ],
)
def test_a_gpu_that_cannot(load: Any, changed: Callable[..., str], values: Any, why: str) -> None:
    gpu = Gpu(load(changed(**values)))
    assert told(gpu.fire(0)) == ("lower its power limit", Outcome.REFUSED, why)
    assert journal.open_id(gpu.host) is None


def test_an_alert_of_no_gpu(gpu: Gpu) -> None:
    event = Event(Happening.FIRED, Alert("network-loss", "n", (Label("device", "mlx5_0"),)), 0, "")
    assert gpu.actions.begin(event, RULE).result == "this alert is of no GPU: there is no power limit to lower"
    assert gpu.actions.undo(event) == ()


def test_one_that_cannot_be_given_back_is_tried_again(
    gpu: Gpu, guards: List[FakeGuard], monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu.fire(0)
    write = Places.write

    def fails(*_: object) -> None:
        raise WriteError("the GPU is lost")

    monkeypatch.setattr(Places, "write", fails)
    (failed,) = gpu.clear(100)
    assert told(failed)[1:] == (Outcome.FAILED, "not given back yet: the GPU is lost")
    assert failed.undone is None
    monkeypatch.setattr(Places, "write", write)
    (back,) = gpu.tick(101)
    assert (back.undone, back.outcome, gpu.watts) == ("cleared", Outcome.DONE, "700")


def test_at_the_end_that_is_left_to_the_guard(
    gpu: Gpu, guards: List[FakeGuard], monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu.fire(0)

    def fails(*_: object) -> None:
        raise WriteError("the GPU is lost")

    monkeypatch.setattr(Places, "write", fails)
    assert [record.outcome for record in gpu.actions.close()] == [Outcome.FAILED]
    assert "give back" in guards[0].words
    assert journal.open_id(gpu.host) == guards[0].transaction


def test_a_gpu_that_was_let_go_is_not_touched(gpu: Gpu) -> None:
    gpu.fire(0)
    release.release(gpu.host, 60)
    assert gpu.tick(REST_S, gpu.alert()) == ()
    release.release(gpu.host, 0)
    gpu.tick(REST_S, gpu.alert())
    assert gpu.watts == "560"


def test_a_step_that_fails_leaves_the_one_before(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu.fire(0)
    write = Places.write

    def fails(*_: object) -> None:
        raise WriteError("busy")

    monkeypatch.setattr(Places, "write", fails)
    assert [record.result for record in gpu.tick(REST_S, gpu.alert())] == ["busy"]
    monkeypatch.setattr(Places, "write", write)
    (log,) = journal.logs(gpu.host)
    assert [(entry.before, entry.after) for entry in log.entries] == [("700", "630")]
    gpu.tick(2 * REST_S, gpu.alert())
    assert gpu.watts == "560"


def test_a_step_that_hangs_is_left_to_the_guard(
    gpu: Gpu, guards: List[FakeGuard], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be done yet: then it is ours, and not the limit that the GPU had."""
    write = Places.write

    def hangs(*_: object) -> None:
        raise WriteError("it did not return within 3 s", hung=True)

    monkeypatch.setattr(Places, "write", hangs)
    assert gpu.fire(0).result == "it did not return within 3 s"
    (log,) = journal.logs(gpu.host)
    assert [(entry.before, entry.after) for entry in log.entries] == [("700", "630")]
    assert (guards[0].words, journal.open_id(gpu.host)) == (["", "give back"], log.begin.id)
    monkeypatch.setattr(Places, "write", write)
    gpu.set(630)
    assert gpu.tick(REST_S, gpu.alert())[0].what == "power limit 700 W -> 630 W"
    gpu.clear(REST_S + LEAST_S)
    assert gpu.watts == "700"


def test_what_waited_for_a_confirmation_before_the_boot_hinders_nobody(gpu: Gpu) -> None:
    waiting = journal.begin(gpu.host, request.Request("n", "tune-apply"))
    waiting.end("unconfirmed", "op", ())
    assert "waits for its confirmation" in gpu.fire(0).result
    gpu.host.write("/proc/sys/kernel/random/boot_id", "another\n")
    assert told(gpu.tick(REST_S, gpu.alert())[0]) == ("power limit 700 W -> 630 W", Outcome.DONE, "")
    assert journal.load(gpu.host, waiting.id).state == "rolled back"


def test_a_clock_that_was_set_back_blocks_nothing(gpu: Gpu) -> None:
    gpu.fire(1_000_000)
    assert [record.undone for record in gpu.clear(10)] == ["cleared"]
    assert throttle._passed(None, 0, 1)


def test_one_that_fires_again_at_once_has_to_wait(gpu: Gpu) -> None:
    gpu.fire(0)
    gpu.clear(LEAST_S)
    again = gpu.fire(LEAST_S + 1)
    why = "its power limit was tried or changed less than 30 s ago: again while this fires"
    assert told(again) == ("lower its power limit", Outcome.REFUSED, why)
    assert gpu.watts == "700"
    (lowered,) = gpu.tick(LEAST_S + REST_S, gpu.alert())
    assert (lowered.id, told(lowered)) == (again.id, ("power limit 700 W -> 630 W", Outcome.DONE, ""))
