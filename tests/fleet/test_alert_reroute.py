"""A lossy rail is out on all nodes or on none, once, and in again when the loss is over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from brctl.fleet import rail_out
from brctl.fleet.alert_courier import Result
from brctl.fleet.alert_reroute import Reroute
from brctl.fleet.rail_out import Kept, RailFile
from brctl.node.alert_facts import ActionRecord, Alert, Event, Happening, Label, Outcome, Rule
from brctl.node.report import Environment, NodeError, Report
from brctl.node.request import RailOut

RULE = Rule("network-loss", "brctl_rdma_loss_ratio", ">=", 1e-5, action="reroute")
NODES = ("gpu1", "gpu2", "gpu3")
RAILS = ("mlx5_0", "mlx5_3", "mlx5_4:2")


class Waits:
    """A courier whose work is done when the test says so."""

    def __init__(self) -> None:
        self.jobs: list[tuple[str, Callable[[float], Result]]] = []
        self.done: dict[str, Result] = {}

    def send(self, name: str, work: Callable[[float], Result]) -> Result:
        self.jobs.append((name, work))
        return Result(Outcome.BEGUN, "")

    def work(self) -> None:
        for name, work in self.jobs:
            self.done[name] = work(1)
        self.jobs = []

    def results(self) -> dict[str, Result]:
        found, self.done = self.done, {}
        return found

    def close(self) -> None:
        self.work()


def report(node: str, hcas: Sequence[str] = RAILS, refused: str | None = None) -> Report:
    return Report(node, 0, 0, environment=Environment(hcas=tuple(hcas), refused=refused))


class Fabric:
    def __init__(self) -> None:
        self.file, self.courier = RailFile(Path("cluster.yaml"), mocked=True), Waits()
        self.nodes: tuple[str, ...] = NODES
        self.reports: list[Report] = [report(node) for node in NODES]
        self.rail_only = False

    @property
    def action(self) -> Reroute:
        return Reroute(self.file, self.nodes, self.rail_only, lambda: self.reports, self.courier)  # type: ignore[arg-type]


@pytest.fixture
def fabric(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Fabric:
    monkeypatch.setenv("BRCTL_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("TZ", "UTC")
    return Fabric()


def event(node: str = "gpu2", device: str = "mlx5_3", port: str = "1", at: float = 1000.0) -> Event:
    labels = (Label("device", device), Label("port", port))
    return Event(Happening.FIRED, Alert(RULE.id, node, labels), at, "0.1 %")


def lost(fabric: Fabric, action: Reroute, one: Event) -> ActionRecord:
    begun = action.begin(one, RULE)
    fabric.courier.work()
    told = action.tick((), 0)
    return told[0] if told else begun


def test_out_and_in_again(fabric: Fabric) -> None:
    action = fabric.action
    begun = action.begin(event(), RULE)
    assert begun.outcome is Outcome.BEGUN
    assert fabric.file.read() is None
    fabric.courier.work()
    (done,) = action.tick((), 0)
    assert (done.id, done.outcome) == (begun.id, Outcome.DONE)
    assert done.what == "leave mlx5_3 out of the communication environment of all nodes"
    assert done.result == "rail 1 of 3 is out on 3 nodes, for jobs that start from now on"
    kept = fabric.file.read()
    assert kept
    assert (kept.out.rail, kept.out.rails, kept.devices, kept.holders) == (1, 3, ("mlx5_3",), (begun.id,))
    assert kept.out.reason.startswith("network-loss on gpu2 since 1970-01-01 ")
    assert action.close() == []
    assert fabric.file.read() == kept
    (back,) = fabric.action.undo(event(at=2000), RULE, done)  # after a restart
    assert (back.undone_at, back.undone) == (2000, "cleared")
    assert back.result == "given back: jobs that start from now on use it again"
    assert fabric.file.read() is None


def test_the_rail_is_known_by_its_place(fabric: Fabric) -> None:
    fabric.reports[0] = report("gpu1", ("rdma0", "rdma1", "rdma2"))
    lost(fabric, fabric.action, event(device="mlx5_4", port="2"))
    kept = fabric.file.read()
    assert kept
    assert (kept.out.rail, kept.devices) == (2, ("mlx5_4:2", "rdma2"))


def test_the_same_rail_on_another_node(fabric: Fabric) -> None:
    action = fabric.action
    first, second = lost(fabric, action, event()), lost(fabric, action, event("gpu3"))
    assert (second.outcome, second.result[:36]) == (Outcome.UNCHANGED, "it is out already: network-loss on g")
    assert action.undo(event(), RULE, first)[0].result == "still out for another alert"
    assert fabric.file.read()
    action.undo(event(), RULE, second)
    assert fabric.file.read() is None


def refused(fabric: Fabric, one: Event) -> str:
    before = fabric.file.read()
    record = lost(fabric, fabric.action, one)
    assert record.outcome is Outcome.REFUSED
    assert fabric.file.read() == before
    why, _, instead = record.result.partition("; ")
    assert instead == f"`brctl -w {one.alert.node} node-manager drain` takes the node out instead"
    return why


def test_another_rail_is_refused(fabric: Fabric) -> None:
    lost(fabric, fabric.action, event())
    assert refused(fabric, event(device="mlx5_0")).startswith("rail 1 is out already: network-loss on gpu2 since ")


def test_a_fabric_of_rails_alone(fabric: Fabric) -> None:
    fabric.rail_only = True
    assert refused(fabric, event()) == "the fabric is rail-only: without a rail, its GPUs have no way"


def test_one_node_alone(fabric: Fabric) -> None:
    fabric.nodes = ("gpu2",)
    assert refused(fabric, event()) == "with another set of devices on one node alone, NCCL hangs"


def test_an_alert_of_no_device(fabric: Fabric) -> None:
    none = event()._replace(alert=Alert(RULE.id, "gpu2", (Label("gpu", "0"),)))
    assert refused(fabric, none) == "this alert is of no RDMA device"


def test_a_device_that_carries_no_rail(fabric: Fabric) -> None:
    assert refused(fabric, event(device="mlx5_9")) == "mlx5_9 carries no rail of gpu2"
    fabric.reports[1] = report("gpu2", refused="no link on mlx5_0")
    assert refused(fabric, event()) == "mlx5_3 carries no rail of gpu2"


def test_nodes_that_differ(fabric: Fabric) -> None:
    fabric.reports[2] = report("gpu3", RAILS[:2])
    assert refused(fabric, event()) == "not all nodes have 3 rails, as gpu3: see tune env --compare"


def test_the_last_rail(fabric: Fabric) -> None:
    fabric.reports = [report(node, ("mlx5_3",)) for node in NODES]
    assert refused(fabric, event()) == "it is the last rail"


def test_nobody_else_answers(fabric: Fabric) -> None:
    gone = Report("gpu1", 0, 0, errors=(NodeError("refused", "Connection refused"),))
    fabric.reports = [gone, fabric.reports[1], report("gpu3", (), "this node has no GPU")]
    assert refused(fabric, event()) == "no other node answers with an environment"


def test_over_before_it_was_known(fabric: Fabric) -> None:
    action = fabric.action
    begun = action.begin(event(), RULE)
    assert action.undo(event(at=1001), RULE, begun)[0].undone == "cleared"
    fabric.courier.work()
    assert action.tick((), 0) == []
    assert fabric.file.read() is None


def test_what_is_under_way_at_the_end(fabric: Fabric, monkeypatch: pytest.MonkeyPatch) -> None:
    action = fabric.action
    action.begin(event(), RULE)
    monkeypatch.setattr(fabric.courier, "work", lambda: None)
    assert [(one.outcome, one.result) for one in action.close()] == [
        (Outcome.FAILED, "brctl ended before it was known")
    ]


def test_a_disk_that_takes_nothing(fabric: Fabric, monkeypatch: pytest.MonkeyPatch) -> None:
    action = fabric.action
    done = lost(fabric, action, event())

    def full(_: Kept | None) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(fabric.file, "write", full)
        (failed,) = action.undo(event(), RULE, done)
    assert (failed.outcome, failed.result, failed.undone_at) == (
        Outcome.FAILED, "cannot be given back: No space left on device", None,
    )  # fmt: skip
    second = lost(fabric, action, event("gpu3"))
    action.undo(event("gpu3"), RULE, second)
    assert fabric.file.read(), "it is still held out"
    assert action.undo(event(), RULE, failed)[0].undone == "cleared"
    assert fabric.file.read() is None


def test_a_file_that_cannot_be_read_is_not_taken_for_none(fabric: Fabric, monkeypatch: pytest.MonkeyPatch) -> None:
    action = fabric.action
    done, kept = lost(fabric, action, event()), fabric.file.read()

    def no_more(_: str) -> bytes:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as full:
        full.setattr(rail_out, "read_regular", no_more)
        assert action.undo(event(), RULE, done)[0].result == "cannot be given back: Too many open files"
    assert fabric.file.read() == kept
    assert action.undo(event(), RULE, done)[0].undone == "cleared"
    assert fabric.file.read() is None


def test_a_file_that_is_broken_takes_no_rail_out(fabric: Fabric, tmp_path: Path) -> None:
    fabric.file.write(Kept(RailOut(1, 3, "why"), (), ("a",)))
    (path,) = (tmp_path / "rail-out").iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("{")
    assert fabric.file.read() is None
    assert RailFile(None, mocked=True).read() is None


def test_a_write_that_fails_leaves_nothing(fabric: Fabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        fabric.file.write(Kept(RailOut(1, 3, "why"), (), ("a",)))
    assert list((tmp_path / "rail-out").iterdir()) == []
