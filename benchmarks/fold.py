"""How long it takes to compare, fold and draw the Reports of 1024 nodes. Run: python benchmarks/fold.py

The usual fleet: all are well, but for 24 nodes with five kinds of fault and 8 that do not answer. The worst one: each
of the 1024 has a fault of its own, and irregular names, so that nothing folds. Bound: 1 s for folding and drawing in
both; the best of three runs is printed, in CPU time of its one thread, as others may use the same CPUs.
"""

import io
import os
import random
import sys
import time
from collections.abc import Callable, Sequence

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from rich.console import Console

from brctl.fleet.compare import Member, against_fleet
from brctl.mock.machines import load
from brctl.node.agent import answer
from brctl.node.report import HOST, Finding, NodeError, Report, Status
from brctl.node.request import Request
from brctl.render.fleet import findings
from brctl.render.terminal import Terminal

NODES = 1024
BOUND_S = 1.0


class Paper(Terminal):
    """A terminal of 120 columns that nobody looks at."""

    def __init__(self) -> None:
        super().__init__()
        self.console = Console(file=io.StringIO(), width=120, height=25, force_terminal=True, markup=False)


def usual() -> list[Report]:
    """1024 nodes of one cluster on a bad day."""
    well = answer(load("dgx-h100", "gpu0001"), Request("gpu0001", "check"))
    fleet = [well._replace(node=f"gpu{i:04}") for i in range(1, NODES + 1)]
    for i in range(24):
        fleet[i * 40] = _with_fault(fleet[i * 40], i % 5, f"UUID {i}")
    for i in range(8):
        errors = (NodeError("refused", f"connect to 10.0.0.{i}: refused", "is sshd running?"),)
        fleet[i * 100 + 7] = Report(fleet[i * 100 + 7].node, 0, 0, errors=errors)
    return fleet


def worst() -> list[Report]:
    """Nothing is like anything."""
    names = random.Random(1).sample(range(10**6), NODES)
    return [_with_fault(report._replace(node=f"n{i}"), i, f"{i}") for report, i in zip(usual(), names, strict=True)]


def _with_fault(report: Report, kind: int, what: str) -> Report:
    finding = Finding("gpu-ecc", Status.CRIT, HOST, f"GPU 3 ({what}): 4 errors", remedy="drain it", fold=f"ecc {kind}")
    return report._replace(findings=(finding, *report.findings))


def _best(work: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def _draw(reports: Sequence[Report]) -> None:
    findings(Paper(), reports, quiet=False, verbose=False)


def main() -> None:
    """Print a line a fleet; exit 1 where the bound is missed."""
    missed = False
    for name, reports in (("usual", usual()), ("worst", worst())):
        members = [Member(report, "compute") for report in reports]
        compared = against_fleet(members)
        comparing, drawing = _best(lambda m=members: against_fleet(m)), _best(lambda c=compared: _draw(c))
        missed |= drawing > BOUND_S
        print(f"{name}: {NODES} Reports compared in {comparing:.3f} s, folded and drawn in {drawing:.3f} s")
    sys.exit(missed)


if __name__ == "__main__":
    main()
