"""Communication environments, as programs take them: never folded to a terminal's width, never coloured."""

from __future__ import annotations

from collections.abc import Sequence

from ..fleet.fold import node_set
from ..node.comm.formats import FORMATS, ORDER
from ..node.report import Report
from .clean import clean
from .headline import mocks


def environments(reports: Sequence[Report], kind: str) -> None:
    """Print one text for each group of nodes that share it, with their names where there are several nodes."""
    groups: dict[tuple[str, ...], list[Report]] = {}
    for report in reports:
        if report.environment and not report.environment.refused:
            text = tuple(FORMATS[kind](report.environment.variables))
            groups.setdefault(text, []).append(report)
    for text, alike in groups.items():
        comments = [f"# {ORDER}", *(f"# {mock}" for mock in mocks(alike))]
        comments += [f"# on {node_set(report.node for report in alike)}"] if len(reports) > 1 else []
        first = 1 if text[:1] and text[0].startswith("#!") else 0  # a script's first line is the kernel's
        print("\n".join(clean(line) for line in (*text[:first], *comments, *text[first:])))
