"""The text that Prometheus scrapes; its own Python client reads it back."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_open_metrics
from prometheus_client.parser import text_string_to_metric_families as read_text

from brctl.node.report import Mock, Report, Sample, Series, State
from brctl.node.samples import Group, Samples
from brctl.render.prometheus import Exposition, Health, number

TEMPERATURE = Series("brctl_gpu_temperature_celsius", "celsius", "gauge", ("gpu",), "Of the die.", "NVML", "t")
BYTES = Series("brctl_network_receive_bytes_total", "bytes", "counter", ("device",), "Since boot.", "/sys", "n")


def _report(samples: "list[Sample]", series: "tuple[Series, ...]" = (TEMPERATURE, BYTES), **more: Any) -> Report:
    return Report("gpu001", 0.0, 0.0, series=series, samples=tuple(samples), **more)


def _measured(series: Series, label: str, value: float) -> Sample:
    return Sample(series.name, (label,), value, State.MEASURED, 0.0)


def _written(reports: "list[Report]", healths: "list[Health]", cpu_s: float, open_metrics: bool = False) -> bytes:
    return Exposition().write(reports, healths, cpu_s, open_metrics)


def _read(text: bytes) -> "dict[tuple[str, tuple[tuple[str, str], ...]], float]":
    samples = [sample for family in read_text(text.decode()) for sample in family.samples]
    return {(sample.name, tuple(sample.labels.items())): sample.value for sample in samples}


def test_every_family_has_its_help_and_type_once_and_every_line_its_node() -> None:
    report = _report(
        [_measured(TEMPERATURE, "0", 61), _measured(BYTES, "ens1", 2.5e9), _measured(TEMPERATURE, "1", 60.5)]
    )
    assert _written([report], [Health("gpu001", True, 1700000000.25)], 1.5).decode().splitlines() == [
        "# HELP brctl_exporter_cpu_seconds_total What the exporter has used itself, without the agents.",
        "# TYPE brctl_exporter_cpu_seconds_total counter",
        "brctl_exporter_cpu_seconds_total 1.5",
        "# HELP brctl_node_up Whether the node answered in this tick.",
        "# TYPE brctl_node_up gauge",
        'brctl_node_up{node="gpu001"} 1',
        "# HELP brctl_node_last_success_timestamp_seconds When the node last answered.",
        "# TYPE brctl_node_last_success_timestamp_seconds gauge",
        'brctl_node_last_success_timestamp_seconds{node="gpu001"} 1700000000.25',
        "# HELP brctl_gpu_temperature_celsius Of the die.",
        "# TYPE brctl_gpu_temperature_celsius gauge",
        'brctl_gpu_temperature_celsius{node="gpu001",gpu="0"} 61',
        'brctl_gpu_temperature_celsius{node="gpu001",gpu="1"} 60.5',
        "# HELP brctl_network_receive_bytes_total Since boot.",
        "# TYPE brctl_network_receive_bytes_total counter",
        'brctl_network_receive_bytes_total{node="gpu001",device="ens1"} 2500000000',
    ]


@pytest.mark.parametrize("state", [State.STALE, State.UNSUPPORTED, State.TIMEOUT])
def test_what_was_not_measured_has_no_line(state: State) -> None:
    text = _written([_report([Sample(TEMPERATURE.name, ("0",), None, state, 0.0)])], [], 0.0)
    assert b"temperature" not in text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None])
def test_what_is_no_number_has_no_line(value: "float | None") -> None:
    text = _written([_report([Sample(TEMPERATURE.name, ("0",), value, State.MEASURED, 0.0)])], [], 0.0)
    assert b"temperature" not in text


def test_a_node_that_never_answered_is_down_and_has_no_time() -> None:
    text = _written([], [Health("gpu002", False, None)], 0.0)
    assert _read(text)["brctl_node_up", (("node", "gpu002"),)] == 0
    assert b"last_success" not in text


def test_open_metrics_has_another_type_line_and_an_end() -> None:
    text = _written([_report([_measured(BYTES, "ens1", 7)])], [], 0.0, open_metrics=True).decode()
    assert "# TYPE brctl_network_receive_bytes counter\n" in text
    assert text.endswith("# EOF\n")
    families = {family.name: family for family in read_open_metrics(text)}
    (sample,) = families["brctl_network_receive_bytes"].samples
    assert (sample.name, sample.value) == ("brctl_network_receive_bytes_total", 7)


def test_a_mock_says_so() -> None:
    text = _written([_report([], mock=Mock("dgx-h100+gpu3-lost", False))], [], 0.0)
    assert _read(text)["brctl_mock_info", (("node", "gpu001"), ("machine", "dgx-h100+gpu3-lost"))] == 1


def test_what_one_node_sends_costs_the_others_nothing() -> None:
    bad = (
        TEMPERATURE._replace(name='x{} 1\nbrctl_node_up{node="gpu002"} 1'),
        TEMPERATURE._replace(name="brctl_node_up"),
        TEMPERATURE._replace(name="brctl_histogram", kind="histogram"),
        TEMPERATURE._replace(name="brctl_label", labels=("__name__",)),
        TEMPERATURE._replace(name="brctl_node", labels=("node",)),
        TEMPERATURE._replace(name="brctl_twice", labels=("a", "a")),
        BYTES._replace(name="brctl_counter"),
    )
    lines = [Sample(series.name, ("0",) * len(series.labels), 1.0, State.MEASURED, 0.0) for series in bad]
    few = Sample(TEMPERATURE.name, (), 3.0, State.MEASURED, 0.0)
    undeclared = Sample("brctl_undeclared", (), 3.0, State.MEASURED, 0.0)
    twice = [_measured(TEMPERATURE, "0", 61), _measured(TEMPERATURE, "0", 62)]
    text = _written([_report([*lines, few, undeclared, *twice], (TEMPERATURE, *bad))], [], 0.0)
    assert _read(text) == {
        ("brctl_exporter_cpu_seconds_total", ()): 0,
        ("brctl_gpu_temperature_celsius", (("node", "gpu001"), ("gpu", "0"))): 61,
    }


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=12), st.floats(allow_nan=False, allow_infinity=False))
def test_any_label_and_any_value_is_read_back(label: str, value: float) -> None:
    text = _written([_report([_measured(TEMPERATURE, label, value)])], [], 0.0)
    read = {pairs[1][1]: seen for (name, pairs), seen in _read(text).items() if name == TEMPERATURE.name}
    assert read == {label: value}


def test_half_a_letter_is_no_reason_to_fail() -> None:
    text = _written([_report([_measured(TEMPERATURE, "\udcff", 1)])], [], 0.0)
    assert 'gpu="?"' in text.decode()


def test_a_help_of_two_lines_stays_one() -> None:
    text = _written([_report([_measured(TEMPERATURE, "0", 1)], (TEMPERATURE._replace(help="a\nb\\c"),))], [], 0.0)
    assert b"celsius a\\nb\\\\c\n" in text


@pytest.mark.parametrize(
    ("value", "text"), [(8.0, "8"), (0.25, "0.25"), (-3.0, "-3"), (1e300, "1e+300"), (2.0**53, "9007199254740992.0")]
)
def test_a_number_is_as_short_as_it_can_be_read_back(value: float, text: str) -> None:
    assert number(value) == text


def test_the_second_tick_is_as_the_first_but_for_what_has_changed() -> None:
    it = Exposition()
    first = it.write([_report([_measured(TEMPERATURE, "0", 61), _measured(TEMPERATURE, "1", 50)])], [], 0.0)
    second = it.write([_report([_measured(TEMPERATURE, "1", 51), _measured(TEMPERATURE, "2", 40)])], [], 0.0)
    assert b'{node="gpu001",gpu="0"} 61\n' in first
    assert b'gpu="0"' not in second
    assert b'{node="gpu001",gpu="1"} 51\n' in second
    assert b'{node="gpu001",gpu="2"} 40\n' in second
    assert b"temperature" not in it.write([_report([_measured(TEMPERATURE, "1", 51)], ())], [], 0.0)


def test_what_another_group_tells_from_now_on_is_told_once() -> None:
    it = Exposition()
    zero, one, two = (_measured(TEMPERATURE, label, 10.0 + int(label)) for label in "012")
    kept = Group([one, two])

    def lines(*groups: Group) -> "list[str]":
        report = _report([])._replace(samples=Samples(groups))
        return [line for line in it.write([report], [], 0.0).decode().splitlines() if "celsius{" in line]

    assert len(lines(Group([zero]), kept)) == 3
    assert len(lines(Group([zero, one._replace(value=50.0)]), kept)) == 3
    assert [line.split()[-1] for line in lines(Group([zero]), kept)] == ["10", "11", "12"]


def test_what_is_declared_otherwise_is_written_so_from_then_on() -> None:
    it, samples = Exposition(), [_measured(TEMPERATURE, "0", 61), _measured(TEMPERATURE, "0", 62)]
    first = it.write([_report(samples)], [], 0.0)
    again = it.write([_report(samples)], [], 0.0)
    assert first == again
    assert first.count(b"celsius{") == 1, "twice the same costs the whole scrape: the first one counts"
    assert b"temperature" not in it.write([_report(samples, ())], [], 0.0)
    other = it.write([_report(samples, (TEMPERATURE._replace(labels=("card",)),))], [], 0.0)
    assert b'{node="gpu001",card="0"} 61\n' in other


def test_nothing_is_left_of_a_series_that_nobody_tells_any_more() -> None:
    it = Exposition()
    both = [_measured(TEMPERATURE, "0", 61), _measured(BYTES, "ens1", 5)]
    assert b"receive_bytes" in it.write([_report(both)], [], 1.0)
    assert it.write([_report(both[:1])], [], 1.0) == _written([_report(both[:1])], [], 1.0)
    assert it.write([], [], 1.0) == _written([], [], 1.0)
    assert it.write([_report(both)], [], 1.0) == _written([_report(both)], [], 1.0)


def test_another_kind_and_other_words_hold_from_then_on() -> None:
    it, samples = Exposition(), [_measured(TEMPERATURE, "0", 61)]
    it.write([_report(samples)], [], 1.0)
    other = [_report(samples, (TEMPERATURE._replace(help="Of its memory."),))]
    assert it.write(other, [], 1.0) == _written(other, [], 1.0)


def test_the_words_of_the_first_node_that_is_still_there_hold() -> None:
    it = Exposition()
    other = TEMPERATURE._replace(help="Of its memory.")
    first = _report([_measured(TEMPERATURE, "0", 61)])
    second = _report([_measured(other, "0", 62)], (other,))._replace(node="gpu002")
    for reports in ([first, second], [second], [second], [second, first], [first]):
        assert it.write(reports, [], 1.0) == _written(reports, [], 1.0)
