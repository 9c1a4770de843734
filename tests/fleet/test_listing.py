from collections.abc import Callable

import pytest

from brctl.fleet.drain import NodeState
from brctl.fleet.listing import Row, arranged, chosen, row
from brctl.node.report import HOST, Finding, NodeError, Report, Status

Look = Callable[..., Report]
H100 = "NVIDIA H100 80GB HBM3"


def test_a_healthy_node(look: Look) -> None:
    state = NodeState("gpu001", "mixed", False, True, False, True)
    assert row(look("gpu001"), {"gpu001": state}) == Row(
        "gpu001", "up", "mixed", 8, 0, H100, "580.105.08", "ok", None, "dgx-h100"
    )


def test_a_node_with_a_lost_gpu_that_the_scheduler_does_not_know(look: Look) -> None:
    found = row(look("gpu001", "dgx-h100+gpu3-lost"), {})
    assert (found.scheduler, found.gpus, found.gpus_faulty) == ("absent", 7, 1)
    assert found.worst == "crit gpu-responding"


def test_a_node_without_gpus_and_without_a_scheduler(look: Look) -> None:
    found = row(look("store1", "cpu-only"), None)
    assert (found.scheduler, found.gpus, found.gpus_faulty, found.model, found.driver) == (None,) * 5


def test_a_silent_node() -> None:
    report = Report("gpu001", 0, 0, errors=(NodeError("refused", "no"),))
    drained = NodeState("gpu001", "down*", True, False, True, False, "brctl: x")
    found = row(report, {"gpu001": drained})
    assert (found.state, found.scheduler, found.worst, found.reason) == ("refused", "down*", "unknown", "brctl: x")


def _row(node: str, worst: str = "ok", driver: "str | None" = "580", gpus: "int | None" = 8) -> Row:
    return Row(node, "up", None, gpus, 0, H100, driver, worst, None)


def test_the_worst_finding_is_the_worst() -> None:
    findings = (Finding("a", Status.WARN, HOST, ""), Finding("b", Status.CRIT, HOST, ""))
    assert row(Report("n", 0, 0, findings=findings), None).worst == "crit b"


@pytest.mark.parametrize(
    ("column", "nodes"),
    [
        ("node", ["n2", "n3", "n10", "n20"]),
        ("worst", ["n20", "n3", "n2", "n10"]),
        ("driver", ["n20", "n3", "n10", "n2"]),
        ("gpus", ["n3", "n2", "n10", "n20"]),
    ],
)
def test_sorting(column: str, nodes: list[str]) -> None:
    rows = [
        _row("n10", driver="580.105"),
        _row("n20", "unknown", driver="550.9"),
        _row("n3", "crit gpu-ecc", driver="550.54", gpus=4),
        _row("n2", "warn nic-mtu", driver=None),
    ]
    assert [it.node for it in arranged(rows, column)] == nodes


@pytest.mark.parametrize(
    ("filters", "nodes"),
    [
        ([], ["a1", "b1"]),
        (["node=a*"], ["a1"]),
        (["worst!=ok"], ["b1"]),
        (["driver=-"], ["b1"]),
        (["node=*1", "gpus=8"], ["a1", "b1"]),
        (["model=*h100*"], []),
    ],
)
def test_filtering(filters: list[str], nodes: list[str]) -> None:
    rows = [_row("a1"), _row("b1", "crit x", driver=None)]
    assert [it.node for it in chosen(rows, filters)] == nodes


@pytest.mark.parametrize("text", ["state", "=up", "state>up"])
def test_what_is_no_filter_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no filter such as state=up"):
        chosen([], [text])


def test_a_filter_of_no_column_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no column 'colour'"):
        chosen([], ["colour=red"])


def test_what_is_no_column_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no column 'wurst'"):
        arranged([], "wurst")
