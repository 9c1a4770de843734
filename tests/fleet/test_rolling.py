"""Batches, and where they end."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brctl.fleet.rolling import Rules, batch_size, batches, roll
from brctl.node.report import NodeError, Report

NODES = [f"n{number:02}" for number in range(1, 33)]


def _done(node: str) -> Report:
    return Report(node, 1.0, 0.1)


def _broken(node: str, kind: str = "refused") -> Report:
    return Report(node, 1.0, 0.1, errors=(NodeError(kind, "no"),))


def _roll(rules: Rules, bad: Sequence[str] = (), kind: str = "refused") -> tuple[list[list[str]], dict[str, str]]:
    """The batches that were asked, and the first error of each node."""
    asked: list[Sequence[Report]] = []

    def work(batch: Sequence[str]) -> list[Report]:
        return [_broken(node, kind) if node in bad else _done(node) for node in batch]

    reports = roll(NODES, rules, work, lambda report: bool(report.errors), asked.append)
    assert [report.node for report in reports] == NODES
    return [[report.node for report in found] for found in asked], {
        report.node: report.errors[0].message for report in reports if report.errors
    }


def test_a_canary_goes_first_and_batches_follow() -> None:
    asked, errors = _roll(Rules(canary=1, batch=10, max_failures=0))
    assert [len(batch) for batch in asked] == [1, 10, 10, 10, 1]
    assert errors == {}


def test_a_failed_canary_ends_it() -> None:
    asked, errors = _roll(Rules(2, 10, 0), bad=["n02"])
    assert asked == [["n01", "n02"]]
    assert errors["n03"] == "not attempted: 1 node failed, and at most 0 may"
    assert len(errors) == 31


def test_failures_count_over_the_whole_run() -> None:
    asked, errors = _roll(Rules(1, 8, 2), bad=["n03", "n12", "n20"])
    assert [len(batch) for batch in asked] == [1, 8, 8, 8]  # the third failure is in the fourth batch
    assert [node for node, why in errors.items() if why.startswith("not attempted")] == NODES[25:]


def test_an_interruption_ends_it_whatever_may_fail() -> None:
    asked, errors = _roll(Rules(1, 8, 32), bad=["n05"], kind="interrupted")
    assert len(asked) == 2
    assert errors["n32"] == "not attempted: interrupted before its turn"


def test_without_a_canary() -> None:
    assert batches(NODES[:3], Rules(0, 2, 0)) == [["n01", "n02"], ["n03"]]


@settings(max_examples=50)
@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 40))
def test_every_node_is_in_one_batch(nodes: int, canary: int, batch: int) -> None:
    names = [str(number) for number in range(nodes)]
    cut = batches(names, Rules(canary, batch, 0))
    assert [name for each in cut for name in each] == names
    assert all(cut)


@pytest.mark.parametrize(
    ("text", "nodes", "size"), [("8", 32, 8), ("25%", 32, 8), ("1%", 32, 1), ("100%", 3, 3), ("34%", 3, 2)]
)
def test_batch_size(text: str, nodes: int, size: int) -> None:
    assert batch_size(text, nodes) == size


@pytest.mark.parametrize("text", ["", "0", "-1", "0%", "101%", "1.5", "ten", "٣", "%", "99999999"])
def test_batch_sizes_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="a number of nodes"):
        batch_size(text, 32)
