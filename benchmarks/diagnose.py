"""What diagnose finds, and what it costs: python benchmarks/diagnose.py [PAIRS [ROUNDS]]

The seeded fault suite of tests/cli/test_diagnose_faults.py: every fault of a GPU or its driver on every machine where
it makes sense, and PAIRS of two faults together. A finding that calls for somebody and follows from no other is counted
against the causes. Then the cards of the manual: on each single fault, and on every healthy machine. Goals: precision
>= .99, F1 >= .98, first cause right >= .98; 1024 Reports judged in 2 s; the quick level on 8 mocked GPUs below 25 x the
CPU time of `python -c pass`.
"""

import resource
import runpy
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from brctl.node.report import Status

PAIRS, ROUNDS = (*map(int, sys.argv[1:]), *(100, 9)[len(sys.argv) - 1 :])
ROOT = Path(__file__).resolve().parents[1]
SEED = 20
NODES, JUDGED_S, CPU = 1024, 2.0, 25.0
BRCTL = Path(sys.executable).with_name("brctl")


def main() -> None:
    """Print the figures; exit 1 where a goal is missed."""
    suite = runpy.run_path(str(ROOT / "tests" / "cli" / "test_diagnose_faults.py"))
    trials = [*suite["singles"](SEED), *suite["pairs"](SEED, PAIRS)]
    began = time.monotonic()
    missed = _score([suite["run"](trial) for trial in trials])
    print(f"{len(trials)} trials in {time.monotonic() - began:.0f} s")
    missed |= _cards()
    missed |= _judge()
    missed |= _cost()
    sys.exit(missed)


def _score(outcomes: Sequence[Any]) -> bool:
    right = sum(len(one.trial.causes & set(one.told)) for one in outcomes)
    told = sum(len(set(one.told)) for one in outcomes)
    true = sum(len(one.trial.causes) for one in outcomes)
    precision, recall = right / told, right / true
    f1 = 2 * precision * recall / (precision + recall)
    first = sum(bool(one.trial.causes & set(one.told[:1])) for one in outcomes) / len(outcomes)
    three = sum(one.trial.causes <= set(one.told[:3]) for one in outcomes) / len(outcomes)
    for one in outcomes:
        if set(one.told) != one.trial.causes:
            print(f"{one.trial.spec}: told {one.told}, is {sorted(one.trial.causes)}")
    print(f"precision {precision:.3f}, recall {recall:.3f}, F1 {f1:.3f}; {true} causes in {len(outcomes)} trials")
    print(f"first finding is a cause: {first:.3f}; all causes among the first three: {three:.3f}")
    return precision < 0.99 or f1 < 0.98 or first < 0.98


def _cards() -> bool:
    """What `diagnose symptom` says of each fault, on each machine where it makes sense; and of machines without any."""
    from brctl.mock.machines import load, names
    from brctl.node.agent import answer
    from brctl.node.diagnose import ranking
    from brctl.node.diagnose.manual import SYMPTOMS, card
    from brctl.node.request import Request

    cases = runpy.run_path(str(ROOT / "tests" / "cli" / "test_symptom_faults.py"))
    suite = runpy.run_path(str(ROOT / "tests" / "cli" / "test_diagnose_faults.py"))
    places = []
    for trial in suite["singles"](SEED):
        fault = trial.spec.partition("+")[2].partition("-")[2]
        if fault in cases["FAULTS"]:
            report = answer(load(trial.spec), Request("node", "diagnose", interval_s=0.05))
            said = cases["ranked"](fault, report)
            wanted = cases["FAULTS"][fault]
            places.append(said.index(wanted[1]) if wanted[1] in said else None)
            if places[-1] != 0:
                print(f"{trial.spec}: {wanted[0]} is {wanted[1]}, told {said}")
    healthy = [answer(load(name), Request("node", "diagnose", interval_s=0.05)) for name in names()]
    answers = [ranking.answer(card(symptom), report) for report in healthy for symptom in SYMPTOMS]
    alarms = [it for it in answers if it.conclusion is ranking.Conclusion.FOUND and it.status is not Status.INFO]
    first, three = (sum(place is not None and place < top for place in places) / len(places) for top in (1, 3))
    print(f"cards: {len(places)} faults; the cause is first: {first:.3f}; among the first three: {three:.3f}")
    print(f"cards: {len(answers)} answers about {len(healthy)} healthy machines; a cause is named in {len(alarms)}")
    began = time.process_time()
    for _ in range(NODES):
        ranking.answer(card("slow-node"), healthy[0])
    spent = time.process_time() - began
    print(f"cards: {NODES} Reports answered in {spent:.2f} s (bound {JUDGED_S} s), by the card with most causes")
    return first < 0.98 or bool(alarms) or spent > JUDGED_S


def _judge() -> bool:
    """What an admin host does with the Reports of a cluster; and every check on every node's facts."""
    from brctl.cli.verdict import exit_code
    from brctl.fleet.compare import Member, against_fleet
    from brctl.fleet.fold import fold
    from brctl.mock.machines import load
    from brctl.node.agent import answer
    from brctl.node.diagnose import engine
    from brctl.node.facts import Inventory
    from brctl.node.request import Expected, Request
    from brctl.render.headline import headline

    report = answer(load("dgx-h100"), Request("gpu0001", "diagnose", interval_s=0.05))
    reports = [report._replace(node=f"gpu{number:04d}") for number in range(1, NODES + 1)]
    seen = report.inventory or Inventory()
    other = seen._replace(kernel=seen.kernel and seen.kernel._replace(release="6.8.0"))
    halves = [each._replace(inventory=other) if number % 2 else each for number, each in enumerate(reports)]
    judged = 0.0
    for name, asked in (("alike", reports), ("on two kernels", halves)):
        began = time.process_time()
        compared = against_fleet([Member(each, "compute") for each in asked])
        groups, code = fold(compared), exit_code(compared, "warn", strict=False)
        heads = {headline(each).word for each in compared}
        took = time.process_time() - began
        judged = max(judged, took)
        said = f"{len(groups)} group, {heads}, exit {code}"
        print(f"{NODES} Reports {name} judged in {took:.2f} s (bound {JUDGED_S} s): {said}")
    began = time.process_time()
    for each in reports[:64]:
        engine.run(each.inventory or Inventory(), Expected(), (), engine.registry())
    spent_ms = (time.process_time() - began) / 64 * 1000
    print(f"all {len(engine.registry())} checks on one node's facts: {spent_ms:.1f} ms")
    return judged > JUDGED_S


def _cost() -> bool:
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "brctl node-manager show": [str(BRCTL), "node-manager", "show", "--mock", "dgx-h100"],
        "brctl diagnose run": [str(BRCTL), "diagnose", "run", "--mock", "dgx-h100"],
    }
    spent: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    base = statistics.median(spent["python -c pass"])
    for name, seconds in spent.items():
        print(f"{name:24} CPU {statistics.median(seconds) * 1000:6.1f} ms  {statistics.median(seconds) / base:5.1f} x")
    return statistics.median(spent["brctl diagnose run"]) / base > CPU


if __name__ == "__main__":
    main()
