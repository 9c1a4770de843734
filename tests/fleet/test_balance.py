import math
from collections.abc import Sequence

import pytest

from brctl.fleet.balance import CLOCK, UTILIZATION, Straggler, balance, evenness, stragglers
from brctl.node.monitor import UP
from brctl.node.report import Report, Sample, Series, State

INFO = Series("brctl_gpu_info", "", "gauge", ("gpu", "uuid", "pci", "name"), "", "", "gpu-info")


def of_model(report: Report, model: str) -> Report:
    gpus = [sample.labels for sample in report.samples if sample.series == UP]
    told = tuple(Sample(INFO.name, (*gpu, "0000:18:00.0", model), 1.0, State.MEASURED, 0.0) for gpu in gpus)
    return report._replace(series=(INFO,), samples=(*report.samples, *told))


def node(name: str, used: Sequence[float | None], clocks: Sequence[float] = ()) -> Report:
    samples = []
    for gpu, value in enumerate(used):
        labels = (str(gpu), f"GPU-{gpu}")
        samples.append(Sample(UP, labels, 1.0, State.MEASURED, 0.0))
        state = State.TIMEOUT if value is None else State.MEASURED
        samples.append(Sample(UTILIZATION, labels, value, state, 0.0))
    for gpu, hertz in enumerate(clocks):
        labels = (str(gpu), f"GPU-{gpu}")
        samples.append(Sample(CLOCK, (*labels, "sm"), hertz, State.MEASURED, 0.0))
        samples.append(Sample(CLOCK, (*labels, "memory"), 2.6e9, State.MEASURED, 0.0))
    return Report(name, 0.0, 0.0, samples=tuple(samples))


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([0.5, 0.5, 0.5], 1.0),
        ([1.0, 0.0], 0.0),
        ([0.75, 0.25], (0.75 * math.log(4 / 3) + 0.25 * math.log(4)) / math.log(2)),
        ([0.0, 0.0], None),
        ([0.7], None),
        ([], None),
    ],
)
def test_evenness_is_the_normalised_entropy(values: list[float], wanted: float | None) -> None:
    assert evenness(values) == (wanted if wanted is None else pytest.approx(wanted))


def test_gpus_that_are_not_measured_are_left_out_and_counted() -> None:
    seen = balance([node("a", [0.9, None]), node("b", [0.3, 0.6]), Report("c", 0.0, 0.0)])
    assert (seen.counted, seen.unknown) == (3, 1)
    assert seen.mean == pytest.approx(0.6)
    assert seen.minimum == 0.3
    assert seen.evenness == pytest.approx(evenness([0.9, 0.3, 0.6]))


def test_idle_gpus_have_a_mean_and_no_balance() -> None:
    seen = balance([node("a", [0.0, 0.0])])
    assert (seen.evenness, seen.mean, seen.minimum) == (None, 0.0, 0.0)


def test_no_gpus_at_all() -> None:
    seen = balance([Report("a", 0.0, 0.0)])
    assert (seen.evenness, seen.mean, seen.minimum, seen.counted, seen.unknown) == (None, None, None, 0, 0)


def test_a_gpu_that_lags_is_named() -> None:
    reports = [node("a", [0.98, 0.97]), node("b", [0.99, 0.3])]
    assert stragglers(reports) == (Straggler("b", "1", "GPU-1", UTILIZATION, 0.3, pytest.approx(0.975)),)


def test_so_is_one_of_a_low_clock_among_those_that_work() -> None:
    clocks = [1.98e9, 1.95e9, 1.2e9, 1.98e9, 0.3e9]
    (slow,) = stragglers([node("a", [0.9, 0.9, 0.9, 0.9, 0.46], clocks)])
    assert (slow.gpu, slow.series, slow.value) == ("2", CLOCK, 1.2e9)


def test_each_model_is_compared_with_its_like() -> None:
    """4 of 12 run at 1410 MHz because they can no more: none lags."""
    a100 = of_model(node("a", [0.95] * 4, [1.41e9] * 4), "NVIDIA A100-SXM4-40GB")
    h100 = of_model(node("h", [0.95] * 8, [1.98e9] * 8), "NVIDIA H100 80GB HBM3")
    assert stragglers([a100, h100]) == ()
    slow = of_model(node("a", [0.95] * 4, [1.41e9, 1.41e9, 1.2e9, 1.41e9]), "NVIDIA A100-SXM4-40GB")
    assert stragglers([h100, slow]) == (Straggler("a", "2", "GPU-2", CLOCK, 1.2e9, 1.41e9),)


def test_labels_that_do_not_fit_tell_no_model() -> None:
    report = of_model(node("a", [0.9, 0.9, 0.9, 0.1]), "NVIDIA H100 80GB HBM3")
    for odd in ((INFO._replace(labels=("name",)),), (INFO._replace(labels=("gpu", "uuid")),), (INFO, INFO)):
        assert [one.gpu for one in stragglers([report._replace(series=odd)])] == ["3"]
    cut = tuple(one._replace(labels=one.labels[:1]) if one.series == INFO.name else one for one in report.samples)
    assert [one.gpu for one in stragglers([report._replace(samples=cut)])] == ["3"]


def test_a_model_that_idles_does_not_lag_behind_one_that_works() -> None:
    idle = of_model(node("a", [0.0] * 4), "NVIDIA A100-SXM4-40GB")
    works = of_model(node("h", [0.95] * 7 + [0.2]), "NVIDIA H100 80GB HBM3")
    assert [(one.node, one.gpu, one.median) for one in stragglers([idle, works])] == [("h", "7", 0.95)]


@pytest.mark.parametrize("used", [[0.0, 0.0, 0.0, 0.4], [0.9, 0.9, 0.1], []], ids=["idle", "too few", "none"])
def test_where_nothing_is_usual_nothing_lags(used: list[float]) -> None:
    assert stragglers([node("a", used)]) == ()
