"""Many nodes changed one batch after another: a canary first, and no further where too many failed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..node.report import NodeError, Report

NOT_ATTEMPTED = "not-attempted"
"""The kind of NodeError of a node whose turn never came."""


class Rules(NamedTuple):
    canary: int
    """Nodes that go first, as a batch of their own; 0: none does."""
    batch: int
    """Nodes of each batch after that."""
    max_failures: int
    """Nodes that may fail or be out of reach, over the whole run, before it ends."""


def batch_size(text: str, nodes: int) -> int:
    """`8`, or `25%` of so many nodes, rounded up. Raises ValueError."""
    number, percent = (text[:-1], True) if text.endswith("%") else (text, False)
    if not number.isascii() or not number.isdigit() or not 1 <= int(number) <= (100 if percent else 65536):
        raise ValueError("a number of nodes, or 1% to 100% of them, is expected")
    return max(1, math.ceil(nodes * int(number) / 100)) if percent else int(number)


def batches(nodes: Sequence[str], rules: Rules) -> list[Sequence[str]]:
    """The nodes in their order, cut."""
    first = min(rules.canary, len(nodes))
    cuts = range(first, len(nodes), rules.batch)
    return ([nodes[:first]] if first else []) + [nodes[start : start + rules.batch] for start in cuts]


def roll(
    nodes: Sequence[str],
    rules: Rules,
    work: Callable[[Sequence[str]], Sequence[Report]],
    failed: Callable[[Report], bool],
    after_batch: Callable[[Sequence[Report]], None],
) -> tuple[Report, ...]:
    """Do the `work` on batch after batch: a Report of each node, in order; of those that were not attempted too.

    `after_batch` is told what came of each. Whatever interrupts a batch ends the run.
    """
    reports: list[Report] = []
    failures, why = 0, ""
    for batch in batches(nodes, rules):
        if why:
            reports += [_left(node, why) for node in batch]
            continue
        found = work(batch)
        after_batch(found)
        reports += found
        failures += sum(map(failed, found))
        why = _ends(found, failures, rules)
    return tuple(reports)


def _ends(found: Sequence[Report], failures: int, rules: Rules) -> str:
    if any(error.kind in ("interrupted", "not-asked") for report in found for error in report.errors):
        return "interrupted before its turn"
    if failures > rules.max_failures:
        return f"{failures} {'node' if failures == 1 else 'nodes'} failed, and at most {rules.max_failures} may"
    return ""


def _left(node: str, why: str) -> Report:
    hint = "mend what failed, then run the same command again: it goes on from here"
    return Report(node, 0.0, 0.0, errors=(NodeError(NOT_ATTEMPTED, f"not attempted: {why}", hint),))
