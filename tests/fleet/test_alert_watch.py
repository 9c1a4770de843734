"""Ticks of many nodes: what is begun, undone, silenced, kept; and the series that tell of it."""

import json
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brctl.fleet import alert_replay, alert_store
from brctl.fleet.alert_actions import Drain, Log, Proposed
from brctl.fleet.alert_courier import Courier
from brctl.fleet.alert_replay import CutShortError, InvalidRecordingError, recorded, replay
from brctl.fleet.alert_series import FIRING, NODE_UP, STRAGGLER, with_samples
from brctl.fleet.alert_store import BusyError, DamagedError, History, Silence, Store, new_id, undone
from brctl.fleet.alert_watch import Watch, Watched
from brctl.fleet.drain import NodeState
from brctl.fleet.rail_out import RailFile
from brctl.node.alert_facts import ActionRecord, Alert, Event, Happening, Label, Outcome, Rule
from brctl.node.monitor.alerts import Action
from brctl.node.report import NodeError, Report, Sample, Series, State

HEAT = Series("brctl_gpu_temperature_celsius", "celsius", "gauge", ("gpu", "uuid"), "", "", "gpu-temperature")
RULE = Rule("hot", HEAT.name, ">=", 85, clear=80, action="act", unit="celsius", summary="GPU {gpu} of {node} is hot")
SILENT = Rule("silent", NODE_UP.name, "<", 1, action="log", summary="{node} is silent")


class Deed:
    """An action that writes down what it is told."""

    name = "act"

    def __init__(self) -> None:
        self.open: list[str] = []
        self.said: list[str] = []
        self.hindered = ""

    def begin(self, event: Event, rule: Rule) -> ActionRecord:
        assert event.what is Happening.FIRED
        self.said.append(f"begin {event.alert.node} {event.alert.label('gpu')}")
        record = ActionRecord(
            new_id(), event.at, event.alert.node, rule.id, event.alert.labels, "act", event.evidence, "x", Outcome.DONE
        )
        self.open.append(record.id)
        return record

    def undo(self, event: Event, rule: Rule, begun: ActionRecord) -> Sequence[ActionRecord]:  # noqa: ARG002
        assert event.what is Happening.RESOLVED
        self.said.append(f"undo {event.alert.node} {event.alert.label('gpu')}")
        if self.hindered:
            return (begun._replace(outcome=Outcome.FAILED, result=self.hindered),)
        self.open.remove(begun.id)
        return (undone(begun, event.at),)

    def tick(self, alerts: Any, at: float) -> Sequence[ActionRecord]:  # noqa: ARG002
        return ()

    def close(self) -> Sequence[ActionRecord]:
        return ()


class Bench:
    def __init__(self, deed: "Deed | None" = None, rules: "tuple[Rule, ...]" = (RULE, SILENT)) -> None:
        self.deed, self.store, self.now = deed or Deed(), Store(Path("/etc/c.yaml"), mocked=False), 1000.0
        self.trouble: list[str] = []
        actions: dict[str, Action] = {"act": self.deed, "log": Log()}
        self.watch = Watch(lambda _: rules, actions, self.store, self.trouble.append, keep=True)

    def tick(self, **heat: "float | None") -> Watched:
        self.now += 1
        reports = [_report(node, value, self.now) for node, value in heat.items()]
        return self.watch.take(reports, self.now)


def _report(node: str, value: "float | None", now: float) -> Report:
    if value is None:
        return Report(node, now, 0.0, errors=(NodeError("timeout", "no answer"),))
    sample = Sample(HEAT.name, ("3", "GPU-3"), value, State.MEASURED, now)
    return Report(node, now, 0.0, series=(HEAT,), samples=(sample,))


def _firing(watched: Watched) -> "list[tuple[str, tuple[str, ...]]]":
    return [(each.node, one.labels) for each in watched.reports for one in each.samples if one.series == FIRING.name]


def test_begun_once_undone_once_and_kept() -> None:
    bench = Bench()
    assert bench.tick(a=70, b=70).records == ()
    watched = bench.tick(a=90, b=70)
    assert [event.what for event in watched.events] == [Happening.FIRED]
    assert _firing(watched) == [("a", ("hot", "warning", "gpu 3"))]
    for value in (90, 84, 81, 90, 84):
        assert bench.tick(a=value, b=70).records == (), "between clear and threshold nothing is done"
    (over,) = bench.tick(a=79, b=70).records
    assert (over.undone_at, over.undone) == (bench.now, "cleared")
    assert bench.deed.said == ["begin a 3", "undo a 3"]
    (kept,) = bench.store.history().records
    assert kept == over
    assert kept.evidence.endswith("was 90 C, >= 85 C")


def test_a_node_that_is_silent_begins_and_undoes_nothing_but_its_own_alert() -> None:
    bench = Bench()
    bench.tick(a=90)
    watched = bench.tick(a=None)
    assert [(record.rule, record.outcome, record.what) for record in watched.records] == [
        ("silent", Outcome.DONE, "a is silent")
    ]
    assert sorted(_firing(watched)) == [("a", ("hot", "warning", "gpu 3")), ("a", ("silent", "warning", ""))]
    assert NODE_UP.name not in {one.series for one in watched.reports[0].samples}, "the exporter tells that itself"
    assert bench.deed.said == ["begin a 3"]


def test_a_restart_goes_on() -> None:
    bench = Bench()
    bench.tick(a=90)
    assert bench.watch.close(bench.now) == ()
    again = Bench(bench.deed)
    again.now = bench.now
    assert again.tick(a=90).records == (), "it is begun already"
    again.tick(a=70)
    assert bench.deed.said == ["begin a 3", "undo a 3"]
    third = Bench(bench.deed)
    third.now = again.now
    assert third.tick(a=70).records == ()


def test_a_rule_that_is_no_more_is_undone() -> None:
    bench = Bench()
    bench.tick(a=90)
    again = Bench(bench.deed, rules=(SILENT,))
    again.tick(a=90)
    assert bench.deed.said == ["begin a 3", "undo a 3"]


def test_an_action_that_is_no_more() -> None:
    bench = Bench()
    bench.tick(a=90)
    watch = Watch(lambda _: (), {}, bench.store, bench.trouble.append, keep=True)
    (record,) = watch.take([_report("a", 70, bench.now + 1)], bench.now + 1).records
    assert record.undone == "no longer among the actions"


def test_a_silence_holds_actions_back_and_what_fires_still_is_begun_after_it() -> None:
    bench = Bench()
    bench.store.silence(Silence("x", 1003.5, "ho*", ("a",), (Label("gpu", "3"),), "", "me"), bench.now)
    watched = bench.tick(a=90, b=70)
    assert _firing(watched) == []
    assert {key[0] for key in watched.silenced} == {"hot"}
    assert bench.tick(a=90, b=90).records != (), "b is not silenced"
    bench.tick(a=90, b=90)
    bench.tick(a=90, b=90)
    assert bench.deed.said == ["begin b 3", "begin a 3"]


def test_silences(tmp_path: Path) -> None:
    store = Store(None, mocked=True)
    one = Silence("x", 50.0, "hot", (), (Label("gpu", "[0-3]"),), "why", "me")
    store.silence(one, 10.0)
    assert store.silences(20.0) == (one,)
    assert store.silences(50.0) == ()
    assert not store.unsilence("y", 20.0)
    assert store.unsilence("x", 20.0)
    assert store.silences(20.0) == ()
    alert = Alert("hot", "n", (Label("gpu", "3"),))
    assert one.holds(alert, 20.0)
    assert not one.holds(alert, 50.0)
    assert not one.holds(alert._replace(labels=(Label("gpu", "4"),)), 20.0)
    assert not one._replace(nodes=("m",)).holds(alert, 20.0)
    (folder,) = (tmp_path / "state" / "alerts").iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "silences.json").stat().st_mode & 0o777 == 0o600


def test_one_acts_at_a_time() -> None:
    other, same = Store(None, mocked=True), Store(None, mocked=False)
    said = r"another brctl monitor acts on these alerts \(process \d+\)"
    with other.holding(), same.holding(), pytest.raises(BusyError, match=said):
        same.holding().__enter__()
    with same.holding():
        pass


def test_files_that_are_damaged_are_no_empty_ones(tmp_path: Path) -> None:
    bench = Bench()
    bench.tick(a=90)
    (folder,) = (tmp_path / "state" / "alerts").iterdir()
    alerts, silences = folder / "alerts.json", folder / "silences.json"
    good = alerts.read_text()
    for damaged in ("{", "", "[]", good[:-1], '{"silences": 1}'):
        alerts.write_text(damaged)
        with pytest.raises(DamagedError) as caught:
            Bench()
        assert caught.value.filename == str(alerts)
        assert alerts.read_text() == damaged, "what is begun stands in it"
    alerts.write_text(good)
    silences.write_text("[]")
    with pytest.raises(DamagedError):
        bench.store.unsilence("x", 1.0)
    assert bench.tick(a=70).silenced == frozenset()
    assert bench.trouble == [f"cannot read what is kept of alerts: {silences}: {caught.value.strerror}"]
    one = Silence("x", 50.0, "hot", (), (), "why", "me")
    aside = bench.store.silence(one, 10.0)
    assert aside is not None
    assert (aside.parent, aside.name.startswith("silences.json.damaged-"), aside.read_text()) == (folder, True, "[]")
    assert bench.store.silences(10.0) == (one,)
    assert bench.store.silence(one._replace(id="y"), 10.0) is None


def test_a_history_with_lines_that_are_none(tmp_path: Path) -> None:
    bench = Bench()
    bench.tick(a=90)
    (folder,) = (tmp_path / "state" / "alerts").iterdir()
    with (folder / "history.jsonl").open("a") as file:
        file.write('\n{"id": "cut')
    bench.tick(a=70)
    done = bench.store.history()
    assert ([one.undone for one in done.records], done.unreadable) == (["cleared"], 1)
    (folder / "history.jsonl").write_bytes(b" " * (5 << 20))
    bench.tick(a=70)
    bench.tick(a=90)
    assert (folder / "history.jsonl.1").stat().st_size == 5 << 20


def test_a_file_that_cannot_be_written_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    store = Store(None, mocked=True)
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        store.silence(Silence("x", 50.0, "hot", (), (), "why", "me"), 10.0)
    (folder,) = (tmp_path / "state" / "alerts").iterdir()
    assert caught.value.filename == str(folder / "silences.json")
    assert [each.name for each in folder.iterdir()] == [".lock"]


def test_a_disk_that_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Store, "note", full)
    bench.tick(a=90)
    bench.tick(a=70)
    assert bench.trouble == ["cannot keep what is known of alerts: No space left on device"]
    assert bench.deed.said == ["begin a 3", "undo a 3"]


def _no_more_files(*_: object) -> bytes:
    raise OSError(24, "Too many open files")


def test_an_undo_that_fails_is_tried_again_and_told_once() -> None:
    bench = Bench()
    bench.tick(a=90)
    bench.deed.hindered = "the disk is full"
    (failed,) = bench.tick(a=70).records
    assert (failed.outcome, failed.result, failed.undone_at) == (Outcome.FAILED, "the disk is full", None)
    assert bench.store.kept().open == (failed,)
    assert bench.tick(a=70).records == ()
    assert bench.deed.said == ["begin a 3", "undo a 3"], "not in every tick"
    bench.now += 60
    assert bench.tick(a=70).records == (), "the same trouble is no news"
    assert bench.deed.said == ["begin a 3", "undo a 3", "undo a 3"]
    bench.tick(a=90)
    bench.deed.hindered = ""
    (over,) = bench.tick(a=70).records
    assert (over.id, over.undone) == (failed.id, "cleared"), "it fired again, and is over again"
    assert bench.deed.said == ["begin a 3", *["undo a 3"] * 3]
    assert (bench.deed.open, bench.store.kept().open) == ([], ())


def test_an_undo_that_failed_is_tried_again_after_a_restart() -> None:
    bench = Bench()
    bench.tick(a=90)
    bench.deed.hindered = "the disk is full"
    bench.tick(a=70)
    bench.watch.close(bench.now)
    again = Bench(bench.deed)
    bench.deed.hindered = ""
    (over,) = again.tick(a=70).records
    assert over.undone == "cleared"
    assert bench.deed.open == []


def test_what_is_silenced_stays_so_where_it_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    one = Silence("x", 1003.5, "hot", (), (), "", "me")
    bench.store.silence(one, bench.now)
    bench.tick(a=70)
    with monkeypatch.context() as full:
        full.setattr(alert_store, "read_regular", _no_more_files)
        assert {key[0] for key in bench.tick(a=90).silenced} == {"hot"}
        assert bench.deed.said == []
        with pytest.raises(OSError, match="Too many open files"):
            bench.store.silence(one._replace(id="y"), bench.now)
        bench.tick(a=90)
        bench.tick(a=90)
        assert bench.deed.said == ["begin a 3"], "its time is over"
    assert bench.trouble == ["cannot read what is kept of alerts: Too many open files"]
    assert bench.store.silences(bench.now - 3) == (one,)
    bench.tick(a=90)
    monkeypatch.setattr(alert_store, "read_regular", _no_more_files)
    bench.tick(a=90)
    assert len(bench.trouble) == 2, "it is told again when it comes again"


def test_nobody_acts_who_cannot_read_what_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    bench.tick(a=90)
    with monkeypatch.context() as full:
        full.setattr(alert_store, "read_regular", _no_more_files)
        with pytest.raises(OSError, match="Too many open files"):
            Bench()
        with pytest.raises(OSError, match="Too many open files"):
            bench.store.history()
        looking = Watch(lambda _: (RULE,), {}, bench.store, bench.trouble.append, keep=False)
        assert [event.what for event in looking.take([_report("a", 90, 1002.0)], 1002.0).events] == [Happening.FIRED]
    assert bench.trouble == ["cannot read what is kept of alerts: Too many open files"]
    assert [one.outcome for one in bench.store.kept().open] == [Outcome.DONE]


def test_a_state_folder_that_is_none_holds_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("BRCTL_STATE_DIR", str(tmp_path / "file"))
    store = Store(None, mocked=False)
    assert (store.kept(), store.silences(1.0), store.history()) == (alert_store.Kept(), (), History((), 0))
    assert RailFile(None, mocked=False).read() is None


def test_stragglers_are_told() -> None:
    use = Series("brctl_gpu_utilization_ratio", "ratio", "gauge", ("gpu", "uuid"), "", "", "")
    samples = tuple(Sample(use.name, (str(i), f"G{i}"), 0.9, State.MEASURED, 1.0) for i in range(4))
    report = Report("a", 1.0, 0.0, series=(use,), samples=samples)
    told = with_samples(report, {("a", "2", "G2")}, 1.0)
    assert [(one.labels[0], one.value) for one in told.samples if one.series == STRAGGLER.name] == [
        ("0", 0.0), ("1", 0.0), ("2", 1.0), ("3", 0.0),
    ]  # fmt: skip
    waiting = report._replace(errors=(NodeError("not-asked", "interrupted"),), samples=())
    assert with_samples(waiting, (), 1.0).samples == ()


def test_a_report_that_comes_twice_is_the_same_after_it_too() -> None:
    """By that its notes, and what its node did, are told once."""
    bench = Bench()
    done = ActionRecord("id", 1.0, "a", "hot", (), "throttle", "why", "what", Outcome.DONE)
    report = _report("a", 90, 1001.0)._replace(notes=("GPU 3: lost",), actions=(done,))
    first = bench.watch.take([report], 1001.0)
    second = bench.watch.take([report], 1002.0)
    assert done in first.records
    assert second.records == ()
    assert second.reports[0] is first.reports[0]


def test_a_node_that_stays_silent_is_so_for_longer_and_longer() -> None:
    bench = Bench(rules=(SILENT._replace(hold_s=2),))
    report = _report("a", None, 1001.0)
    seen = [bench.watch.take([report], at).events for at in (1001.0, 1002.0, 1003.0)]
    assert [len(events) for events in seen] == [0, 0, 1]


def test_a_clock_that_is_set_makes_nothing_last_longer() -> None:
    """The node's own, or ours: a node that is silent is told by that."""
    for silent in (False, True):
        bench = Bench(rules=(RULE._replace(hold_s=4), SILENT._replace(hold_s=4)))
        found = []
        for at_s in range(8):
            now = 1000.0 + at_s + (7200 if at_s >= 2 else 0)
            report = _report("a", None if silent else 90, now)
            watched = bench.watch.take([report], now if silent else 1000.0 + at_s, float(at_s))
            found += [(at_s, event.what, event.evidence[-19:]) for event in watched.events]
        assert found == [(4, Happening.FIRED, "for 4 s (5 samples)")]


@pytest.mark.parametrize(("gap_s", "pending", "clearing"), [(10, 1, 1), (7200, 0, 0)])
def test_a_time_in_which_nobody_looked_does_not_count(gap_s: int, pending: int, clearing: int) -> None:
    rules = (RULE._replace(hold_s=5, clear_s=5),)
    bench = Bench(rules=rules)
    bench.tick(a=90, b=90)
    bench.now += 5
    assert len(bench.tick(a=70, b=90).events) == 1
    bench.tick(a=90, b=70)  # a is pending, b clearing
    bench.watch.close(bench.now)
    later = Bench(bench.deed, rules)
    later.now = bench.now + gap_s
    events = later.tick(a=90, b=70).events
    assert [event.alert.node for event in events] == ["a"] * pending + ["b"] * clearing
    assert later.tick(a=90, b=70).events == ()
    later.now += 4
    assert len(later.tick(a=90, b=70).events) == 2 - pending - clearing


def test_ticks_that_come_fast_are_looked_at_twice_a_second_and_have_what_the_last_look_saw() -> None:
    bench = Bench()
    done = ActionRecord("id", 1.0, "a", "hot", (), "throttle", "why", "what", Outcome.DONE)
    seen = []
    for tick in range(40):
        at_s = tick / 10
        report = _report("a", 90 if 7 <= tick < 27 else 70, 1000.0 + at_s)
        report = report._replace(actions=(done,)) if tick == 15 else report
        watched = bench.watch.take([report], 1000.0 + at_s, at_s)
        (told,) = watched.reports
        assert told.samples[: len(report.samples)] == report.samples
        assert told.series == (*report.series, STRAGGLER, FIRING)
        assert bool(_firing(watched)) == (10 <= tick < 30)
        seen += [(tick, event.what) for event in watched.events]
        seen += [(tick, record.rule) for record in watched.records if record.id == "id"]
    assert seen == [(10, Happening.FIRED), (15, "hot"), (30, Happening.RESOLVED)]


def test_a_clock_that_is_set_between_two_looks_makes_nothing_last_longer() -> None:
    """Also where the report that told of it first is told again when alerts are looked at."""
    bench, events = Bench(rules=(RULE._replace(hold_s=300),)), []
    report = _report("a", 90, 1000.0)
    for tick in range(12):
        at_s = tick * 0.31
        if tick % 2:
            report = _report("a", 90, 1000.0 + at_s + (3600 if tick >= 3 else 0))
        events += bench.watch.take([report], 1000.0 + at_s, at_s).events
    assert events == []


def test_a_node_that_falls_silent_between_two_looks_is_looked_at_at_once() -> None:
    bench = Bench()
    bench.watch.take([_report("a", 70, 1000.0), _report("b", 70, 1000.0)], 1000.0, 0.0)
    watched = bench.watch.take([_report("a", 70, 1000.1), _report("b", None, 1000.1)], 1000.1, 0.1)
    assert [event.alert.node for event in watched.events] == ["b"]
    again = bench.watch.take([_report("a", 70, 1000.2), _report("b", 70, 1000.2)], 1000.2, 0.2)
    assert [event.what for event in again.events] == [Happening.RESOLVED]


def test_a_report_that_comes_twice_tells_no_time() -> None:
    bench = Bench(rules=(RULE._replace(hold_s=20),))
    first = _report("a", 90, 1000.0)
    for at_s in (0.0, 5.0, 10.0, 15.0):
        bench.watch.take([first], 1000.0 + at_s, at_s)
    watched = bench.watch.take([_report("a", 90, 1020.0)], 1020.0, 20.0)
    assert [event.evidence[-20:] for event in watched.events] == ["for 20 s (2 samples)"]


class Slurm:
    name = "Slurm"

    def __init__(self, closed: "dict[str, str]") -> None:
        self.closed = closed

    def states(self) -> "dict[str, NodeState]":
        return {
            node: NodeState(node, "idle", node in self.closed, None, False, True, self.closed.get(node))
            for node in ("a", "b", "c")
        }

    def close(self, state: NodeState, reason: str) -> None:
        self.closed[state.node] = reason

    def open(self, state: NodeState) -> None:  # noqa: ARG002
        raise AssertionError

    def settle(self, nodes: Sequence[str], limit_s: float) -> "dict[str, Any]":  # noqa: ARG002
        return {}


@settings(max_examples=25)
@given(st.lists(st.sampled_from("abc"), max_size=6), st.integers(1, 3), st.sets(st.sampled_from("bc")))
def test_never_more_nodes_are_drained_than_may_be(nodes: "list[str]", most: int, before: "set[str]") -> None:
    slurm = Slurm(dict.fromkeys(before, "brctl: alert cold"))
    drain = Drain(slurm, most, Courier((), workers=1))
    for node in nodes:
        alert = Alert("hot", node, ())
        record = drain._drain(node, "alert hot")
        assert record.outcome in (Outcome.DONE, Outcome.UNCHANGED, Outcome.REFUSED)
        assert len(slurm.closed) <= max(most, len(before)), alert
    assert all(reason.startswith("brctl: alert ") for reason in slurm.closed.values())


def test_a_drain_is_not_undone_by_itself() -> None:
    slurm = Slurm({"c": "somebody else's"})
    drain = Drain(slurm, 1, Courier((), workers=1))
    event = Event(Happening.FIRED, Alert("hot", "a", ()), 1.0, "why")
    begun = drain.begin(event, RULE._replace(action="drain"))
    (done,) = drain.close()
    assert (begun.outcome, done.id, done.outcome) == (Outcome.BEGUN, begun.id, Outcome.DONE)
    assert slurm.closed["a"] == "brctl: alert hot"
    (over,) = drain.undo(event._replace(what=Happening.RESOLVED), RULE, done)
    assert over.undone_at is None
    assert "`brctl -w a node-manager resume` gives the node back" in over.result
    assert drain._drain("c", "alert hot").outcome is Outcome.REFUSED
    for outcome in (Outcome.REFUSED, Outcome.FAILED):
        nothing = done._replace(outcome=outcome)
        assert drain.undo(event, RULE, nothing) == (undone(nothing, 1.0),), "there is nothing to give back"


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([None, 0.0, 70.0, 82.0, 90.0])), max_size=40))
def test_no_more_actions_than_undos_whatever_comes(ticks: "list[tuple[str, float | None]]") -> None:
    """What is in force is what fires; and when all is cold, nothing is."""
    deed = Deed()
    store = Store(Path("/nowhere"), mocked=False)
    watch = Watch(lambda _: (RULE,), {"act": deed}, store, lambda _: None, keep=False)
    now = 0.0
    for node, value in ticks:
        now += 1
        watched = watch.take([_report(node, value, now)], now)
        assert len(deed.open) == sum(alert.phase.fires for alert in watched.alerts) <= 2
    for node in "ab":
        now += 1
        watch.take([_report(node, 60.0, now)], now)
    assert deed.open == []
    begun = [line for line in deed.said if line.startswith("begin")]
    assert len(begun) * 2 == len(deed.said)


def test_what_is_proposed() -> None:
    proposed = Proposed("drain", lambda event, _: f"drain {event.alert.node}")
    event = Event(Happening.FIRED, Alert("hot", "a", ()), 1.0, "why")
    begun = proposed.begin(event, RULE)
    assert (begun.outcome, begun.what, begun.result) == (Outcome.PROPOSED, "drain a", "--act was not given")
    assert proposed.undo(event, RULE, begun) == (begun._replace(undone_at=1.0, undone="cleared"),)


def _line(value: "float | None", at: float) -> str:
    state = "measured" if value is not None else "stale"
    sample = {"series": HEAT.name, "labels": {"gpu": "3", "uuid": "G"}, "value": value, "state": state, "at": at}
    return json.dumps({"schema_version": 1, "node": "n", "time": at, "samples": [sample]})


def test_a_recording_is_tried_by_its_own_clock() -> None:
    rule = RULE._replace(hold_s=2)
    events = list(replay([_line(90, at) for at in range(1, 5)] + ["", _line(None, 5), _line(70, 6)], lambda _: [rule]))
    assert [(event.what, event.at) for event in events] == [(Happening.FIRED, 3.0), (Happening.RESOLVED, 6.0)]


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"node": "n", "time": 1, "samples": [{"series": "x"}]}', "1"])
def test_what_is_no_recording(line: str) -> None:
    with pytest.raises(InvalidRecordingError, match="line 2 is no tick"):
        list(replay([_line(70, 1) + "\n", line + "\n"], lambda _: [RULE]))
    with pytest.raises(InvalidRecordingError, match="line 1 is no tick"):
        list(replay([line], lambda _: [RULE]))


def test_of_a_recording_that_is_cut_short_all_but_the_last_line_is_judged() -> None:
    events: list[Event] = []
    whole = [_line(70, 1) + "\n", _line(90, 2) + "\n"]
    with pytest.raises(CutShortError, match=r"^the last line, 3, is cut short, and was left out$"):
        events.extend(replay([*whole, _line(70, 3)[:-1]], lambda _: [RULE]))
    assert [(event.what, event.at) for event in events] == [(Happening.FIRED, 2.0)]
    assert len(list(replay([*whole, _line(70, 3)], lambda _: [RULE]))) == 2, "only the end of the line is missing"


def test_lines_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alert_replay, "_LONGEST_BYTES", 9)
    assert list(recorded(BytesIO(b"12345678\n\xffabc"))) == ["12345678\n", "\N{REPLACEMENT CHARACTER}abc"]
    with pytest.raises(InvalidRecordingError, match="line 2 is longer than 0 MiB, and no tick is"):
        list(recorded(BytesIO(b"1\n123456789\n")))
