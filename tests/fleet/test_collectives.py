"""all_reduce_perf on each node: whose GPUs are slow, whose results are wrong."""

from __future__ import annotations

import pytest

from brctl.fleet.collectives import findings
from brctl.node.report import NodeError, Report, Status

LOG = """#   Rank  0 Group  0 Pid 1 on {node} device  0 [0x18] NVIDIA H100 80GB HBM3
#   Rank  1 Group  0 Pid 1 on {node} device  1 [0x2a] NVIDIA H100 80GB HBM3
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
  1073741824     268435456     float     sum      -1   2900.0  {bw}  {bw}      {wrong}    2900.0  {bw}  {bw}      0
# Out of bounds values : {wrong} OK
"""


def a_report(number: int, bandwidth: float = 380.0, wrong: int = 0) -> Report:
    node = f"n{number}"
    text = LOG.format(node=node, bw=bandwidth, wrong=wrong)
    return Report(node, 1.0, 0.1, collective=text)


def told(reports: list[Report]) -> dict[str, list[tuple[str, Status]]]:
    return {node: [(one.check, one.status) for one in each] for node, each in findings(reports).items() if each}


def test_healthy_nodes() -> None:
    assert told([a_report(number, 378.0 + number) for number in range(8)]) == {}


def test_a_node_that_is_slower_than_its_peers() -> None:
    reports = [a_report(number) for number in range(8)]
    reports[3] = a_report(3, 340.0)
    (found,) = findings(reports)["n3"]
    assert (found.check, found.status, found.subject.name) == ("comm-collective", Status.WARN, "n3")
    assert found.summary == "all-reduce over its GPUs is slower than on its peers: 340 GB/s, usual 380"
    assert list(told(reports)) == ["n3"]


def test_too_few_to_compare_are_held_to_the_links() -> None:
    assert told([a_report(1), a_report(2, 340.0)]) == {}
    assert told([a_report(1), a_report(2, 200.0)]) == {"n2": [("comm-slow", Status.WARN)]}


def test_wrong_results() -> None:
    assert told([a_report(1), a_report(2, wrong=7)]) == {"n2": [("comm-corruption", Status.CRIT)]}


@pytest.mark.parametrize(
    ("note", "status"),
    [("all_reduce_perf is not installed", Status.NA), ("all_reduce_perf: no CUDA driver", Status.UNKNOWN)],
)
def test_a_tool_is_no_node(note: str, status: Status) -> None:
    assert told([Report("n1", 1.0, 0.1, notes=(note,))]) == {"n1": [("comm-tool", status)]}
    odd = Report("n1", 1.0, 0.1, collective="Segmentation fault")
    assert told([odd]) == {"n1": [("comm-tool", Status.UNKNOWN)]}


@pytest.mark.parametrize(
    ("error", "summary"),
    [
        (NodeError("timeout", "no answer"), "not measured: all_reduce_perf: no answer"),
        (NodeError("agent-died", "killed"), "not measured: all_reduce_perf: killed"),
        (NodeError("hung", "all_reduce_perf -g 8 hangs"), "not measured: all_reduce_perf -g 8 hangs"),
    ],
)
def test_a_node_that_does_not_come_back_is_told(error: NodeError, summary: str) -> None:
    (found,) = findings([Report("n1", 1.0, 0.1, errors=(error,))])["n1"]
    assert (found.check, found.status, found.reason, found.summary) == ("comm-tool", Status.UNKNOWN, "error", summary)
