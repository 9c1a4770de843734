"""What holds of rerouting whatever is measured: one rail at most, never the last one, and all in again at the end."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brctl.fleet.alert_courier import Result
from brctl.fleet.alert_reroute import Reroute
from brctl.fleet.alert_store import Store
from brctl.fleet.alert_watch import Watch
from brctl.fleet.rail_out import RailFile
from brctl.node.alert_facts import ActionRecord, Outcome, Rule
from brctl.node.report import Environment, Report, Sample, Series, State

LOSS = Series("brctl_rdma_loss_ratio", "ratio", "gauge", ("device", "port"), "", "", "rdma")
RULE = Rule("network-loss", LOSS.name, ">=", 1e-3, clear=1e-4, action="reroute")
NODES, DEVICES = ("n1", "n2", "n3"), ("mlx5_0", "mlx5_1", "mlx5_2")
LOSSY = st.dictionaries(st.tuples(st.sampled_from(NODES), st.sampled_from(DEVICES)), st.sampled_from((0.0, 0.5)))


class Late:
    """A courier whose work is done `after` so many looks at what came of it."""

    def __init__(self, after: int) -> None:
        self._after = after
        self._jobs: list[tuple[int, str, Callable[[float], Result]]] = []
        self._looks = 0

    def send(self, name: str, work: Callable[[float], Result]) -> Result:
        self._jobs.append((self._looks + self._after, name, work))
        return Result(Outcome.BEGUN, "")

    def results(self) -> dict[str, Result]:
        self._looks += 1
        due = [job for job in self._jobs if job[0] <= self._looks]
        self._jobs = [job for job in self._jobs if job not in due]
        return {name: work(1) for _, name, work in due}

    def close(self) -> None:
        self._after = 0


def _report(node: str, losses: dict[tuple[str, str], float], at: float) -> Report:
    samples = tuple(
        Sample(LOSS.name, (device, "1"), loss, State.MEASURED, at)
        for (where, device), loss in losses.items()
        if where == node
    )
    return Report(node, at, 0.0, series=(LOSS,), samples=samples)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ticks=st.lists(LOSSY, max_size=12), rails=st.integers(1, 3), after=st.integers(0, 3))
def test_whatever_is_measured(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    ticks: list[dict[tuple[str, str], float]],
    rails: int,
    after: int,
) -> None:
    monkeypatch.setenv("BRCTL_STATE_DIR", str(tmp_path))
    file = RailFile(Path("c.yaml"), mocked=True)
    file.write(None)
    looked = [Report(node, 0, 0, environment=Environment(hcas=DEVICES[:rails])) for node in NODES]
    action = Reroute(file, NODES, False, lambda: looked, Late(after))  # type: ignore[arg-type]  # all that it needs
    watch = Watch(lambda _: (RULE,), {"reroute": action}, Store(None, mocked=True), lambda _: None, keep=False)
    records: dict[str, ActionRecord] = {}
    all_clear = dict.fromkeys(itertools.product(NODES, DEVICES), 0.0)
    for at, losses in enumerate([*ticks, *[all_clear] * (after + 2)], 1):
        watched = watch.take([_report(node, losses, at) for node in NODES], at)
        records.update((one.id, one) for one in watched.records)
        kept = file.read()
        if kept:
            assert rails >= 2, "never the last one"
            assert kept.devices == (DEVICES[kept.out.rail],)
            firing = {alert.label("device") for alert in watched.alerts if alert.phase.fires}
            assert kept.devices[0] in firing
    watch.close(99)
    assert file.read() is None
    assert [one for one in records.values() if one.undone_at is None] == []


def test_a_disk_that_is_full_once_leaves_no_rail_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BRCTL_STATE_DIR", str(tmp_path))
    file = RailFile(Path("c.yaml"), mocked=True)
    looked = [Report(node, 0, 0, environment=Environment(hcas=DEVICES)) for node in NODES]
    action = Reroute(file, NODES, False, lambda: looked, Late(0))  # type: ignore[arg-type]  # all that it needs
    watch = Watch(lambda _: (RULE,), {"reroute": action}, Store(None, mocked=True), lambda _: None, keep=False)

    def look(loss: float, at: float) -> list[Outcome]:
        watched = watch.take([_report("n1", {("n1", "mlx5_1"): loss}, at)], at)
        return [one.outcome for one in watched.records]

    def full(_: object) -> None:
        raise OSError(28, "No space left on device")

    look(0.5, 1)
    assert file.read()
    with monkeypatch.context() as disk:
        disk.setattr(file, "write", full)
        assert look(0.0, 2) == [Outcome.FAILED]
    assert look(0.0, 3) == []
    assert look(0.0, 62) == [Outcome.DONE]
    assert file.read() is None
