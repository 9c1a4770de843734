"""What fires, in the live view: of one node a table, of many a word."""

from brctl.fleet.alert_series import FIRING
from brctl.node.report import Report, Sample, State
from brctl.render.live import alerts
from brctl.render.live.seen import Node


def _report(*firing: "tuple[str, ...]", node: str = "n") -> Report:
    samples = tuple(Sample(FIRING.name, labels, 1.0, State.MEASURED, 1.0) for labels in firing)
    return Report(node, 1.0, 0.0, series=(FIRING,), samples=samples)


HOT, LOST, SLOW = ("gpu-hot", "warning", "gpu 3"), ("gpu-down", "critical", "gpu 10"), ("odd", "?", "")


def test_a_row_each_the_worst_first() -> None:
    section = alerts.section(Node(_report(HOT, LOST, SLOW, ("of", "another", "form", "x"))))
    rows = sorted(section.items, key=lambda item: item.keys)
    assert [[cell.text for cell in item.cells()] for item in rows] == [  # type: ignore[union-attr]
        ["gpu-down", "critical", "gpu 10"],
        ["gpu-hot", "warning", "gpu 3"],
        ["odd", "?", "the node"],
    ]
    assert rows[0].words == "gpu-down critical gpu 10"
    assert section.sorts[0] == "severity"


def test_old_values_are_none() -> None:
    assert alerts.section(Node(_report(HOT), silent=True)).items == []


def test_a_word_of_many() -> None:
    def said(*reports: Report) -> "list[str]":
        return [cell.text for line in alerts.counted(reports) for cell in line]

    assert said(_report()) == []
    assert said(_report(HOT)) == ["1 alert"]
    assert said(_report(HOT), _report(LOST, SLOW, node="m")) == ["3 alerts, 1 critical"]
