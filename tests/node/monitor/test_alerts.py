"""What samples make of alerts: each phase, each reading, and all that must not count as a value."""

from typing import List, Optional, Sequence, Tuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brctl.node.alert_facts import Alert, Event, Happening, Label, Matcher, Phase, Rule, Severity
from brctl.node.codec import dumps, loads
from brctl.node.monitor import own, registry
from brctl.node.monitor.alert_readings import duration, plausible, shown
from brctl.node.monitor.alert_rules import DEFAULTS
from brctl.node.monitor.alerts import evaluate
from brctl.node.report import Sample, Series, State

HEAT = Series("brctl_gpu_temperature_celsius", "celsius", "gauge", ("gpu", "uuid"), "", "", "gpu-temperature")
GPU3 = ("3", "GPU-3")
HOT = Rule(
    "hot", HEAT.name, ">=", 85, hold_s=2, clear=80, clear_s=3, min_samples=2, severity=Severity.CRITICAL,
    action="throttle", unit="celsius", summary="GPU {gpu} of {node} is at {value}{other}",
)  # fmt: skip
Values = Sequence[Optional[float]]


def _sample(value: Optional[float], at: float, name: str = HEAT.name, labels: Tuple[str, ...] = GPU3) -> Sample:
    return Sample(name, labels, value, State.UNSUPPORTED if value is None else State.MEASURED, at)


class _Run:
    """Feeds one series to one rule, a sample a second."""

    def __init__(self, rule: Rule, series: Series = HEAT, labels: Tuple[str, ...] = GPU3) -> None:
        self.rule, self.series, self.labels = rule, series, labels
        self.alerts: Tuple[Alert, ...] = ()
        self.now = 1000.0

    def feed(self, values: Values, step: float = 1.0) -> List[Event]:
        events: List[Event] = []
        for value in values:
            samples = [] if value is None else [_sample(value, self.now, self.series.name, self.labels)]
            alerts, found = evaluate([self.rule], self.alerts, "n", [self.series], samples, self.now)
            self.alerts = alerts
            events += found
            self.now += step
        return events

    def phase(self) -> Phase:
        (alert,) = self.alerts
        return alert.phase


def test_an_alert_from_beginning_to_end() -> None:
    run = _Run(HOT)
    assert run.feed([84, 85]) == []
    assert run.phase() is Phase.PENDING
    assert run.feed([90]) == []
    (fired,) = run.feed([91])
    assert (fired.what, fired.at) == (Happening.FIRED, 1003.0)
    assert fired.evidence == (
        'brctl_gpu_temperature_celsius{gpu="3",uuid="GPU-3"} was 91 C, >= 85 C for 2 s (3 samples)'
    )
    alert = fired.alert
    assert alert.labels == (Label("gpu", "3"), Label("uuid", "GPU-3"))
    assert (alert.label("gpu"), alert.label("port"), alert.key) == ("3", None, ("hot", "n", alert.labels))
    assert (alert.severity, alert.action, alert.summary) == (
        Severity.CRITICAL, "throttle", "GPU 3 of n is at 91 C{other}",
    )  # fmt: skip
    assert run.feed([84, 81, 79, 78, 81]) == [], "between clear and threshold it goes on"
    assert run.phase() is Phase.FIRING
    assert run.feed([79, 79, 79]) == []
    assert run.phase() is Phase.CLEARING
    (over,) = run.feed([79])
    assert (over.what, over.alert.phase, over.alert.fired_at) == (Happening.RESOLVED, Phase.INACTIVE, 1003.0)
    assert over.evidence == ('brctl_gpu_temperature_celsius{gpu="3",uuid="GPU-3"} is 79 C, no longer >= 80 C for 3 s')
    assert run.feed([70]) == []


def test_an_alert_that_stays_inactive_stays_the_same() -> None:
    """As most do in most ticks, which therefore cost little."""
    run = _Run(HOT)
    run.feed([40])
    (alert,) = run.alerts
    run.feed([41, 84])
    assert run.alerts[0] is alert
    run.feed([None])
    assert run.alerts[0].missing_since == 1003.0
    run.feed([40])
    assert run.alerts[0].missing_since is None


@pytest.mark.parametrize("rule", [
    Rule("hot", HEAT.name, ">=", 85, unless="brctl_other_celsius"),
    Rule("hot", HEAT.name, ">=", 1, "ratio", other="brctl_other_celsius"),
], ids=["excused", "ratio"])  # fmt: skip
def test_a_value_is_judged_once_whatever_becomes_of_what_stands_beside_it(rule: Rule) -> None:
    """It may be read more seldom."""
    other = HEAT._replace(name="brctl_other_celsius")
    alerts: Tuple[Alert, ...] = ()
    for value in (120, 1):  # at first it excuses, or the ratio is small
        samples = [_sample(90, 1000.0), _sample(value, 1000.0 + value, other.name)]
        alerts, events = evaluate([rule], alerts, "n", [HEAT, other], samples, 1002.0)
        assert (alerts[0].phase, events) == (Phase.INACTIVE, ())
    samples = [_sample(90, 1003.0), _sample(0 if rule.unless else 1, 1003.0, other.name)]
    alerts, _ = evaluate([rule], alerts, "n", [HEAT, other], samples, 1003.0)
    assert alerts[0].phase is Phase.FIRING


def test_a_dip_makes_a_pending_alert_begin_anew() -> None:
    run = _Run(HOT)
    assert run.feed([90, 90, 70, 90, 90]) == []
    assert [event.what for event in run.feed([90])] == [Happening.FIRED]


def test_samples_are_counted_once() -> None:
    """A value that was not read again is the same value, however many ticks show it."""
    rule = HOT._replace(hold_s=0)
    one = _sample(90, 5.0)
    alerts: Tuple[Alert, ...] = ()
    for tick in range(5):
        alerts, events = evaluate([rule], alerts, "n", [HEAT], [one], 5.0 + tick)
        assert events == ()
    (alert,) = alerts
    assert (alert.phase, alert.samples) == (Phase.PENDING, 1)


@pytest.mark.parametrize("value", [0.0, -256.0, 4294967295.0, 201.0, -3.0])
def test_what_is_no_temperature_neither_fires_nor_ends(value: float) -> None:
    run = _Run(HOT)
    run.feed([90, 90, 90])
    assert run.phase() is Phase.FIRING
    assert run.feed([value] * 30) == []
    assert run.phase() is Phase.FIRING
    cold = _Run(HOT._replace(comparison="<", clear=None))
    assert cold.feed([value] * 30) == []
    assert cold.phase() is Phase.INACTIVE


def test_a_margin_may_be_below_0() -> None:
    margin = "brctl_gpu_temperature_margin_celsius"
    assert plausible(_sample(-4, 0, margin)) == -4
    assert plausible(_sample(0, 0, margin)) == 0
    assert plausible(_sample(-256, 0, margin)) is None
    assert plausible(Sample(margin, GPU3, 4, State.STALE, 0)) is None


def test_a_missing_value_is_told_after_a_minute_and_once() -> None:
    run = _Run(HOT)
    run.feed([90, 90, 90])
    assert run.feed([None] * 60) == []
    (missing,) = run.feed([None] * 60)
    assert missing.what is Happening.MISSING
    assert missing.evidence.endswith('uuid="GPU-3"} has had no value for 60 s: it still fires')
    assert run.feed([90]) == []
    assert (run.phase(), run.alerts[0].missing_since, run.alerts[0].silent) == (Phase.FIRING, None, False)
    assert run.feed([None] * 2, step=90_000) != []
    assert run.alerts == ()


def test_what_never_comes_back_ends_after_a_day() -> None:
    run = _Run(HOT)
    run.feed([90, 90, 90])
    events = run.feed([None] * 25, step=3600)
    assert [event.what for event in events] == [Happening.MISSING, Happening.RESOLVED]
    assert events[1].evidence.endswith("has had no value for a day")


@pytest.mark.parametrize("state", [State.STALE, State.TIMEOUT])
def test_what_is_there_and_cannot_be_read_ends_after_a_day_once(state: State) -> None:
    """Its samples go on coming: it is not gone, and is told no more often for that."""
    run = _Run(HOT)
    run.feed([90, 90, 90])
    events: List[Event] = []
    for _ in range(30):
        unread = Sample(HEAT.name, GPU3, None, state, 1002.0)
        run.alerts, found = evaluate([run.rule], run.alerts, "n", [HEAT], [unread], run.now)
        events += found
        run.now += 3600
    assert [event.what for event in events] == [Happening.MISSING, Happening.RESOLVED]
    assert run.phase() is Phase.INACTIVE
    assert run.feed([90, 90]) == []
    assert [event.what for event in run.feed([90])] == [Happening.FIRED], "it begins anew"


def test_a_pending_alert_without_values_begins_anew() -> None:
    run = _Run(HOT)
    run.feed([90, 90])
    (missing,) = run.feed([None] * 70)
    assert missing.evidence.endswith("nothing can be said")
    assert run.feed([90, 90]) == []
    assert [event.what for event in run.feed([90])] == [Happening.FIRED]
    quiet = _Run(HOT)
    quiet.feed([70])
    quiet.feed([None] * 30, step=3600)
    assert quiet.alerts == ()


def test_a_clock_that_is_set_back() -> None:
    run = _Run(HOT)
    run.feed([90, 90])
    run.now = 10.0
    assert run.feed([90, 90]) == []
    assert [event.what for event in run.feed([90])] == [Happening.FIRED]


@pytest.mark.parametrize("by_s", [7200.0, -3600.0])
def test_a_clock_that_is_set_changes_no_duration(by_s: float) -> None:
    run, rule = _Run(HOT._replace(hold_s=6)), HOT._replace(hold_s=6)
    assert run.feed([90, 90, 90]) == []  # at 0, 1 and 2 s
    run.now += by_s
    alerts, events = evaluate([rule], run.alerts, "n", [HEAT], [_sample(90, run.now)], run.now, by_s)
    assert events == ()
    run.alerts, run.now = alerts, run.now + 1
    assert run.feed([90, 90]) == []  # at 4 and 5 s
    (fired,) = run.feed([90])
    assert fired.evidence.endswith("was 90 C, >= 85 C for 6 s (7 samples)")
    run.now += by_s
    alerts, events = evaluate([rule], run.alerts, "n", [HEAT], [_sample(70, run.now)], run.now, by_s)
    assert events == ()
    assert alerts[0].fired_at == fired.at + by_s
    run.alerts, run.now = alerts, run.now + 1
    assert run.feed([70, 70]) == []
    assert [event.what for event in run.feed([70])] == [Happening.RESOLVED]


def test_a_value_that_was_read_before_the_clock_was_set_is_no_new_one() -> None:
    run, rule = _Run(HOT), HOT._replace(min_samples=1)
    run.rule = rule
    run.feed([90])
    old, run.now = _sample(90, run.now - 1), run.now + 7200
    alerts, events = evaluate([rule], run.alerts, "n", [HEAT], [old], run.now, 7200.0)
    assert events == ()
    _, events = evaluate([rule], alerts, "n", [HEAT], [_sample(90, run.now + 0.5)], run.now + 0.5)
    assert events == (), "1.5 s have passed"


def test_a_window_and_a_gap_last_as_long_as_they_do_where_the_clock_is_set() -> None:
    rule = Rule("grows", HEAT.name, ">=", 3, "increase", window_s=60, min_samples=2)
    alerts: Tuple[Alert, ...] = ()
    for at, value in ((1000.0, 1.0), (1001.0, 4.0)):
        alerts, _ = evaluate([rule], alerts, "n", [HEAT], [_sample(value, at)], at)
    alerts, _ = evaluate([rule], alerts, "n", [HEAT], [], 1002.0)
    alerts, events = evaluate([rule], alerts, "n", [HEAT], [], 8203.0, 7200.0)
    assert events == (), "it is missing for a second, not for two hours"
    _, (fired,) = evaluate([rule], alerts, "n", [HEAT], [_sample(4.0, 8204.0)], 8204.0)
    assert fired.alert.value == 3


def test_a_restart_keeps_state() -> None:
    run = _Run(HOT)
    run.feed([90, 90])
    run.alerts = tuple(loads(Alert, dumps(alert)) for alert in run.alerts)
    assert [event.what for event in run.feed([90])] == [Happening.FIRED]


UP = Series("brctl_gpu_up", "", "gauge", ("gpu", "uuid"), "", "", "sampler")
DOWN = Rule("gpu-down", UP.name, "<", 1)


class _Gpus:
    """Feeds brctl_gpu_up of many GPUs, by index and UUID."""

    def __init__(self) -> None:
        self.alerts: Tuple[Alert, ...] = ()
        self.now = 1000.0

    def feed(self, *up: Tuple[str, str, float]) -> List[Tuple[Happening, str, str]]:
        self.now += 1
        samples = [_sample(value, self.now, UP.name, (gpu, uuid)) for gpu, uuid, value in up]
        self.alerts, events = evaluate([DOWN], self.alerts, "n", [UP], samples, self.now)
        return [(it.what, it.alert.label("gpu") or "", it.alert.label("uuid") or "") for it in events]


def test_a_gpu_that_was_lost_at_the_start_is_over_when_it_answers() -> None:
    run = _Gpus()
    assert run.feed(("3", "", 0), ("4", "", 0), ("5", "", 1)) == [
        (Happening.FIRED, "3", ""), (Happening.FIRED, "4", ""),
    ]  # fmt: skip
    assert run.feed(("3", "GPU-3", 1), ("4", "", 0), ("5", "GPU-5", 1)) == [(Happening.RESOLVED, "3", "")]
    assert [alert.label("uuid") for alert in run.alerts] == ["GPU-3", "", "GPU-5"]
    assert run.feed(("3", "GPU-3", 0), ("4", "GPU-4", 0), ("5", "GPU-5", 1)) == [
        (Happening.FIRED, "3", "GPU-3"), (Happening.FIRED, "4", "GPU-4"), (Happening.RESOLVED, "4", ""),
    ]  # fmt: skip


def test_a_gpu_that_is_lost_when_the_sampler_starts_anew_is_the_one_of_before() -> None:
    run = _Gpus()
    assert run.feed(("3", "GPU-3", 0), ("4", "GPU-4", 1)) == [(Happening.FIRED, "3", "GPU-3")]
    assert run.feed(("3", "", 0), ("4", "", 0)) == [(Happening.FIRED, "4", "GPU-4")]
    assert run.feed(("3", "", 0), ("4", "", 0)) == []
    assert run.feed(("3", "GPU-3", 1), ("4", "GPU-4", 1)) == [
        (Happening.RESOLVED, "3", "GPU-3"), (Happening.RESOLVED, "4", "GPU-4"),
    ]  # fmt: skip
    assert len(run.alerts) == 2


def test_a_gpu_without_a_name_is_the_one_that_was_there_last() -> None:
    """Not the one that was taken out, though that fired once."""
    rule, alerts = Rule("hot", HEAT.name, ">=", 85), ()
    for at, uuid, value in (
        (1.0, "GPU-A", 90),
        (2.0, "GPU-A", 40),
        (3.0, "GPU-B", 40),
        (4.0, "GPU-B", 41),
        (5.0, "", 90),
    ):
        alerts, events = evaluate([rule], alerts, "n", [HEAT], [_sample(value, at, labels=("3", uuid))], at)
    assert [(event.what, event.alert.label("uuid")) for event in events] == [(Happening.FIRED, "GPU-B")]


def test_a_rule_that_is_asked_for_no_more() -> None:
    run = _Run(HOT)
    run.feed([90] * 3)
    assert evaluate([], run.alerts, "n", [HEAT], [], run.now) == ((), ())


COUNT = Series("brctl_gpu_ecc_uncorrected_total", "", "counter", ("gpu", "uuid"), "", "", "gpu-errors")


@pytest.mark.parametrize(
    ("values", "seen"),
    [
        ([7, 7, 7], 0.0),
        ([7, 7, 9], 2.0),
        ([7, 2], 2.0),
        ([7, 9, 1, 4], 6.0),
        ([1, 2, *[2] * 8], 1.0),
        ([1, 2, *[2] * 12], 0.0),
    ],
)
def test_increase(values: Values, seen: float) -> None:
    """What a counter is at first is no growth; one that goes back was reset."""
    run = _Run(Rule("ecc", COUNT.name, ">=", 1, "increase", 10), COUNT)
    run.feed(values)
    assert run.alerts[0].value == seen
    assert len(run.alerts[0].points) <= 4


def test_a_counter_that_never_rests_is_bounded() -> None:
    run = _Run(Rule("ecc", COUNT.name, ">=", 1, "increase", 1e9), COUNT)
    run.feed(list(range(400)))
    assert len(run.alerts[0].points) == 256


def test_a_counter_that_never_rests_is_counted_through_its_window() -> None:
    run = _Run(Rule("ecc", COUNT.name, ">", 300, "increase", 600), COUNT)
    events = run.feed(list(range(302)))
    assert [(event.what, event.alert.value) for event in events] == [(Happening.FIRED, 301)]
    run.feed(list(range(302, 600)))
    assert run.alerts[0].value == 599
    for number in range(600, 800):
        run.feed([number])
        assert 600 <= (run.alerts[0].value or 0) <= 600 * 1.01
    assert len(run.alerts[0].points) <= 256


def test_what_a_counter_grew_before_and_after_it_was_reset_is_kept() -> None:
    run = _Run(Rule("ecc", COUNT.name, ">=", 1, "increase", 1e9), COUNT)
    run.feed([*range(1000, 1300), *range(5, 200)])
    assert run.alerts[0].value == 299 + 199
    always = _Run(Rule("ecc", COUNT.name, ">=", 1, "increase", 1e9), COUNT)
    always.feed([2, 1] * 300)
    assert (len(always.alerts[0].points), always.alerts[0].value) == (256, 255)


LINK = Series("brctl_network_up", "", "gauge", ("interface",), "", "", "network-links")


def test_lost() -> None:
    rule = Rule("down", LINK.name, "<", 1, "lost", 100)
    unused = _Run(rule, LINK, ("eth1",))
    assert unused.feed([0] * 5) == []
    cut = _Run(rule, LINK, ("eth0",))
    (fired,) = cut.feed([1, 0])
    assert fired.evidence == 'brctl_network_up{interface="eth0"} was 0, < 1'
    assert [event.what for event in cut.feed([0] * 101)] == [Happening.RESOLVED], "nobody uses it any more"


def test_age() -> None:
    xid = Series("brctl_gpu_xid_last_seen_timestamp_seconds", "seconds", "gauge", ("gpu", "uuid", "xid"), "", "", "")
    rule = Rule("xid", xid.name, "<", 600, "age", only=(Matcher("xid", ("13",), other=True),))
    samples = [_sample(1000, 1000, xid.name, (*GPU3, number)) for number in ("13", "79")]
    alerts, events = evaluate([rule], (), "n", [xid], samples, 1010)
    (fired,) = events
    assert (fired.alert.label("xid"), fired.alert.value) == ("79", 10)
    assert [event.what for event in evaluate([rule], alerts, "n", [xid], samples, 1600).events] == [Happening.RESOLVED]


def test_two_series() -> None:
    seen = Series("brctl_gpus_visible", "", "gauge", (), "", "", "")
    missing = Rule("missing", seen.name, ">=", 1, "shortfall", other="brctl_gpus_expected")
    samples = [_sample(7, 1, seen.name, ()), _sample(8, 1, "brctl_gpus_expected", ())]
    (fired,) = evaluate([missing], (), "n", [seen], samples, 1).events
    assert fired.evidence == "what lacks of brctl_gpus_visible was 1, >= 1"
    assert fired.alert.summary == "brctl_gpus_visible of n: 1"
    assert evaluate([missing], (), "n", [seen], samples[:1], 1).events == ()
    ratio = missing._replace(reading="ratio", comparison="<", threshold=0.9, unit="ratio")
    assert evaluate([ratio], (), "n", [seen], samples, 1).alerts[0].value == 0.875
    nothing = [samples[0], _sample(0, 1, "brctl_gpus_expected", ())]
    assert evaluate([ratio], (), "n", [seen], nothing, 1).alerts[0].value is None


def test_a_better_series_excuses() -> None:
    rule = HOT._replace(hold_s=0, min_samples=1, unless="brctl_gpu_temperature_margin_celsius", clear_s=0)
    margin = _sample(30, 1, "brctl_gpu_temperature_margin_celsius")
    assert evaluate([rule], (), "n", [HEAT], [_sample(90, 1), margin], 1).events == ()
    other = margin._replace(labels=("4", "GPU-4"))
    alerts, events = evaluate([rule], (), "n", [HEAT], [_sample(90, 1), other], 1)
    assert [event.what for event in events] == [Happening.FIRED]
    _, events = evaluate([rule], alerts, "n", [HEAT], [_sample(90, 2), margin], 2)
    assert [event.what for event in events] == [Happening.RESOLVED]


def test_samples_that_do_not_fit_their_series() -> None:
    assert evaluate([HOT], (), "n", [HEAT], [_sample(90, 1, labels=("3",))], 1) == ((), ())
    assert evaluate([HOT], (), "n", [], [_sample(90, 1)], 1) == ((), ())
    only = HOT._replace(only=(Matcher("port", ("1",)),))
    assert evaluate([only], (), "n", [HEAT], [_sample(90, 1)], 1) == ((), ())


_VALUES = st.one_of(st.none(), st.sampled_from([0.0, -256.0, 70.0, 79.0, 80.0, 84.0, 85.0, 95.0]))


@settings(max_examples=60)
@given(st.lists(_VALUES, max_size=60), st.integers(0, 4), st.integers(0, 4), st.integers(1, 3))
def test_fired_and_resolved_alternate(values: Values, hold: int, clear: int, least: int) -> None:
    """Whatever the samples are; and what fires has had `least` values in a row at the threshold."""
    run = _Run(HOT._replace(hold_s=hold, clear_s=clear, min_samples=least))
    firing, row = False, 0
    for value in values:
        events = run.feed([value])
        if value and value > 0:
            row = row + 1 if value >= 85 else 0
        for event in events:
            assert (event.what is Happening.RESOLVED) is firing
            firing = event.what is Happening.FIRED
            assert not firing or row >= max(least, hold + 1 if None not in values else 1)
        assert firing is any(alert.phase.fires for alert in run.alerts)


def test_rules_ask_for_what_there_is() -> None:
    known = {one.name: one for each in registry() for one in each.series}
    known.update((one.name, one) for one in own.SERIES)
    admin = {"brctl_node_up", "brctl_gpu_straggler"}
    for default in DEFAULTS:
        rule = default.rule
        names = {rule.series, rule.other, rule.unless} - {None} - admin
        assert names <= set(known), rule.id
        if rule.series in known:
            assert {matcher.label for matcher in rule.only} <= set(known[rule.series].labels)
        assert rule.summary, rule.id
        assert default.why, rule.id
        assert default.do, rule.id
    assert len({default.rule.id for default in DEFAULTS}) == len(DEFAULTS)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (45, "45s"), (90, "90s"), (600, "10m"), (7200, "2h"), (86400, "1d"), (0.25, "250ms")],
)
def test_durations_as_prometheus_writes_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "", "?"),
        (1e-5, "ratio", "0.001 %"),
        (85.0, "celsius", "85 C"),
        (4.0, "", "4"),
        (1.5, "hertz", "1.5 hertz"),
    ],
)
def test_values_in_words(value: Optional[float], unit: str, text: str) -> None:
    assert shown(value, unit) == text
