"""The node whose environment differs is named."""

from __future__ import annotations

import pytest

from brctl.fleet import environments
from brctl.fleet.environments import compared
from brctl.node.facts import Inventory
from brctl.node.report import Environment, EnvironmentVariable, NodeError, Report, Status

EIGHT = "=mlx5_0,mlx5_1"


def a_report(node: str, hcas: str = EIGHT, conf: str | None = None, **values: str) -> Report:
    given = {"NCCL_IB_HCA": hcas, **values}
    variables = tuple(EnvironmentVariable(name, value, "why", "where") for name, value in given.items())
    found = Environment(variables, tuple(hcas[1:].split(",")), configured=conf)
    return Report(node, 1.0, 0.1, inventory=Inventory(), environment=found)


def test_all_equal() -> None:
    found = compared([a_report(f"n{number}") for number in range(3)])
    assert [finding.status for report in found for finding in report.findings] == [Status.PASS] * 3


def test_hcas_that_differ_are_critical() -> None:
    found = compared([a_report("n1"), a_report("n2", "=mlx5_0"), a_report("n3")])
    (odd,) = found[1].findings
    assert odd.status is Status.CRIT
    assert odd.summary == "NCCL_IB_HCA: =mlx5_0 here, =mlx5_0,mlx5_1 on most: with HCA sets that differ NCCL hangs"
    assert odd.evidence[1].source == "n[1,3]"
    assert [finding.status for finding in found[0].findings] == [Status.PASS]


def test_other_values_and_the_file_are_warned_of() -> None:
    found = compared([a_report("n1"), a_report("n2"), a_report("n3", conf="NCCL_DEBUG=INFO\n", NCCL_IB_TC="96")])
    assert [(each.subject.name, each.status) for each in found[2].findings] == [
        ("/etc/nccl.conf", Status.WARN),
        ("NCCL_IB_TC", Status.WARN),
    ]


def test_who_most_are_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes 10 ms for a thousand nodes, and each one that differs is told it."""
    folded: list[list[str]] = []

    def node_set(names: list[str]) -> str:
        folded.append(names)
        return "most"

    monkeypatch.setattr(environments, "node_set", node_set)
    found = compared([a_report(f"n{number}", NCCL_IB_TC="106" if number < 5 else "96") for number in range(8)])
    assert [report.findings[0].evidence[1].source for report in found[5:]] == ["most"] * 3
    assert folded == [["n0", "n1", "n2", "n3", "n4"]]


def test_refused_and_silent_nodes() -> None:
    none = Report("n2", 1.0, 0.1, inventory=Inventory(), environment=Environment(refused="this node has no GPU"))
    silent = Report("n3", 1.0, 0.1, errors=(NodeError("refused", "no"),))
    found = compared([a_report("n1"), none, silent])
    assert [[finding.status for finding in report.findings] for report in found] == [[Status.PASS], [Status.NA], []]
