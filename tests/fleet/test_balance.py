import math
from collections.abc import Sequence

import pytest

from brctl.fleet.balance import CLOCK, UTILIZATION, Straggler, balance, evenness, stragglers
from brctl.node.monitor import UP
from brctl.node.report import Report, Sample, State


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


@pytest.mark.parametrize("used", [[0.0, 0.0, 0.0, 0.4], [0.9, 0.9, 0.1], []], ids=["idle", "too few", "none"])
def test_where_nothing_is_usual_nothing_lags(used: list[float]) -> None:
    assert stragglers([node("a", used)]) == ()
