"""The search for the bad node, simulated: nodes that are 10 % slow, noise of 1.2 %, and tests that fail by chance."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brctl.fleet.pairing import Outcome, Pair, find, matchings


def nodes(number: int) -> list[str]:
    return [f"n{place}" for place in range(number)]


class Rig(NamedTuple):
    """What each pair measures."""

    bad: frozenset[str] = frozenset()
    paths: frozenset[Pair] = frozenset()
    dead: frozenset[str] = frozenset()
    broken: frozenset[str] = frozenset()
    """Here the tool itself fails."""
    transients: float = 0.0
    sigma: float = 0.012
    seed: int = 0

    def find(self, names: Sequence[str]) -> Outcome:
        chance = random.Random(self.seed)
        asked: list[Sequence[Pair]] = []

        def measure(pairs: Sequence[Pair]) -> Mapping[Pair, float | None]:
            assert len({node for pair in pairs for node in pair}) == 2 * len(pairs), "a node in two tests at once"
            asked.append(pairs)
            return {pair: self._value(pair, chance) for pair in pairs}

        outcome = find(names, measure)
        assert outcome.rounds == len(asked)
        return outcome

    def _value(self, pair: Pair, chance: random.Random) -> float | None:
        if self.broken & set(pair):
            return None
        if self.dead & set(pair):
            return 0.0
        slow = bool(self.bad & set(pair)) + (pair in self.paths) + (chance.random() < self.transients)
        return 100 * (1 + chance.gauss(0, self.sigma)) * 0.9**slow


class Score(NamedTuple):
    precision: float
    recall: float
    most_tests: int
    most_rounds: int


def simulate(number: int, bad: int, transients: float, trials: int) -> Score:
    names, hits, false, missed, tests, rounds = nodes(number), 0, 0, 0, 0, 0
    for seed in range(trials):
        slow = frozenset(random.Random(seed + 1).sample(names, bad))
        found = Rig(slow, transients=transients, seed=seed).find(names)
        hits += len(slow & set(found.bad))
        false += len(set(found.bad) - slow)
        missed += len(slow - set(found.bad))
        tests, rounds = max(tests, found.tests), max(rounds, found.rounds)
    return Score(hits / (hits + false), hits / (hits + missed), tests, rounds)


@pytest.mark.parametrize(
    ("number", "bad", "transients", "trials", "precision", "recall", "tests"),
    [
        (256, 2, 0.03, 60, 0.99, 0.99, 281),
        (256, 2, 0.10, 60, 0.94, 0.98, 300),
        (1024, 1, 0.03, 6, 1.0, 1.0, 1126),
    ],
)
def test_precision_and_recall(
    number: int, bad: int, transients: float, trials: int, precision: float, recall: float, tests: int
) -> None:
    """Two matchings and three confirmations: 1.0/1.0 and .969/.998 of 256 nodes, 1.0/1.0 of 1024, in 5 rounds."""
    score = simulate(number, bad, transients, trials)
    assert score.precision >= precision
    assert score.recall >= recall
    assert score.most_tests <= tests
    assert score.most_rounds == 5


@given(st.integers(2, 70))
@settings(max_examples=69)
def test_matchings_share_no_pair_and_reach_everybody(number: int) -> None:
    names = nodes(number)
    found = matchings(names)
    pairs = [frozenset(pair) for matching in found for pair in matching]
    assert len(set(pairs)) == len(pairs)
    assert {node for pair in pairs for node in pair} == set(names)
    for matching in found:
        ends = [node for pair in matching for node in pair]
        assert len(set(ends)) == len(ends) >= number - 1
    assert len(found) == (1 if number == 2 else 2)


def names_of(pairs: Iterable[Pair]) -> set[frozenset[str]]:
    return {frozenset(pair) for pair in pairs}


def test_healthy_nodes_cost_a_test_each() -> None:
    found = Rig().find(nodes(32))
    assert (found.bad, found.paths, found.tests, found.rounds) == ((), (), 32, 2)


def test_two_at_once() -> None:
    assert set(Rig(frozenset({"n3", "n19"})).find(nodes(32)).bad) == {"n3", "n19"}  # partners of each other


def test_one_that_cannot_be_reached() -> None:
    assert Rig(dead=frozenset({"n7"})).find(nodes(32)).bad == ("n7",)


def test_a_path_is_no_node() -> None:
    found = Rig(paths=frozenset({Pair("n4", "n5")})).find(nodes(32))
    assert (found.bad, found.paths) == ((), (Pair("n4", "n5"),))


def test_a_tool_that_fails_says_nothing() -> None:
    found = Rig(broken=frozenset({"n7"})).find(nodes(32))
    assert (found.bad, found.paths) == ((), ())


def test_of_two_nobody_can_tell_which() -> None:
    found = Rig(dead=frozenset({"n0"})).find(nodes(2))
    assert (found.bad, found.ambiguous) == ((), (Pair("n0", "n1"),))


def test_a_quarter_bad_is_what_they_have_in_common() -> None:
    found = Rig(dead=frozenset(nodes(12))).find(nodes(32))
    assert found.common
    assert found.rounds == 2


def test_few_nodes_have_no_usual_value() -> None:
    assert Rig(frozenset({"n1"})).find(nodes(4)).bad == ()


def test_one_node_alone() -> None:
    assert Rig().find(["n0"]) == Outcome()
