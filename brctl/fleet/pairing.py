"""Which of many nodes is the bad one, from tests between pairs of them: few rounds, disjoint pairs, no verdict from one
test alone.

Two matchings that share no pair give every node two partners; a node is suspect where its best pair is bad. Suspects
are tested three times more, with partners that passed, and the median decides. Where a test stays bad between two nodes
that are not, it is the path. tests/fleet/test_pairing.py simulates what that finds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..node.siblings import median

RETESTS = 3
DEVIATIONS = 4.5
"""Below the median: of normal noise one value in 290,000 strays so far, and a run measures a thousand pairs or two."""
SIGMA_OF_MAD = 1.4826
"""The standard deviation of normal noise, of its median absolute deviation."""
LEAST_SHARE = 0.03
"""Of the median: less than this below it is no fault, however alike the others are. Our own: between the noise of a
healthy pair, 1.2 %, and the 10 % by which a node is called slow (FALCON, arXiv 2410.12588)."""
LEAST_SAMPLES = 6
"""Below this many nobody knows what is usual: a deviation told by fewer is that of the bad ones themselves."""
MOST_BAD = 0.25
"""Of the nodes: where more are bad, it is what they have in common."""
MOST_RETESTS = 0.1
"""Of the nodes, as pair tests beyond the matchings: suspects first, then paths."""
LEAST_RETESTS = 12
"""That many in any case: of few nodes a tenth is nothing."""


class Pair(NamedTuple):
    a: str
    b: str

    def other(self, node: str) -> str:
        return self.b if node == self.a else self.a


class Outcome(NamedTuple):
    """What the tests say."""

    bad: tuple[str, ...] = ()
    """Nodes that were bad with partners that are not."""
    paths: tuple[Pair, ...] = ()
    """Pairs that stayed bad, of nodes that are not."""
    ambiguous: tuple[Pair, ...] = ()
    """Pairs of which one is bad, and nobody else is there to tell which."""
    common: bool = False
    """More than a quarter are bad: what they have in common is."""
    values: Mapping[Pair, tuple[float, ...]] = {}  # nobody writes to it
    """What was measured, in the order of the rounds."""
    rounds: int = 0

    @property
    def tests(self) -> int:
        return sum(map(len, self.values.values()))


Measure = Callable[[Sequence[Pair]], Mapping[Pair, float | None]]
"""Tests disjoint pairs at once. More is better; 0: it cannot be reached; None: the test itself failed, which says
nothing."""


def matchings(nodes: Sequence[str]) -> tuple[tuple[Pair, ...], ...]:
    """Two that share no pair: neighbours, then nodes half of all apart. In the order of the leaves the first stays
    inside one and the second goes across. Of an odd number each leaves another one out; two nodes have but one pair."""
    half = len(nodes) // 2
    near = tuple(Pair(nodes[2 * place], nodes[2 * place + 1]) for place in range(half))
    turned = [*nodes[1:], nodes[0]] if len(nodes) % 2 else nodes
    far = tuple(Pair(turned[place], turned[place + half]) for place in range(half))
    return (near, far) if half > 1 or len(nodes) % 2 else (near,)


def find(nodes: Sequence[str], measure: Measure, share: float = LEAST_SHARE) -> Outcome:
    """Test, and say who is bad. `share`: as LEAST_SHARE."""
    if len(nodes) < 2:
        return Outcome()
    search = _Search(measure, share)
    for matching in matchings(nodes):
        search.test(matching)
    search.first_part_ends()
    suspects = search.suspects(nodes)
    if len(suspects) > MOST_BAD * len(nodes) and len(nodes) > 3:
        return search.outcome(bad=suspects, common=True)
    trusted = [node for node in nodes if search.passed(node)]
    if suspects and not trusted:
        return search.outcome(ambiguous=search.bad_pairs())
    paths = search.between(trusted)
    most = max(LEAST_RETESTS, int(MOST_RETESTS * len(nodes)))
    for number in range(RETESTS):
        left = most - search.retested - (RETESTS - number) * len(suspects)
        again = [pair for pair in paths if search.may_stay_bad(pair)][: max(left, 0)]
        search.test(_retests(suspects, trusted, again, search.values, number))
    return search.outcome(
        [node for node in suspects if search.is_confirmed(node)],
        [pair for pair in paths if search.is_confirmed_path(pair)],
    )


def _retests(
    suspects: Sequence[str], trusted: Sequence[str], paths: Sequence[Pair], tested: Iterable[Pair], number: int
) -> tuple[Pair, ...]:
    """Each suspect with a partner that passed, another one in each round as far as there are any; then the paths again,
    as far as their nodes are free."""
    done = {frozenset(pair) for pair in tested}
    free = list(trusted)
    random.Random(number).shuffle(free)  # noqa: S311  # so that no partner meets the same suspects
    pairs: list[Pair] = []
    for node in suspects[: len(free)]:
        partner = next((each for each in free if frozenset((node, each)) not in done), free[0])
        free.remove(partner)
        pairs.append(Pair(node, partner))
    busy = {node for pair in pairs for node in pair}
    for pair in paths:
        if not busy & set(pair):
            pairs.append(pair)
            busy |= set(pair)
    return tuple(pairs)


class _Round(NamedTuple):
    found: Mapping[Pair, float]
    bad: frozenset[Pair]


class _Search:
    """The tests so far: the matchings, then the retests."""

    def __init__(self, measure: Measure, share: float) -> None:
        self._measure, self._share = measure, share
        self.values: dict[Pair, tuple[float, ...]] = {}
        self._first: list[_Round] = []
        self._again: list[_Round] = []
        self._least: float | None = None
        """What is asked of the retests, most of which may be bad: as the matchings say."""

    def test(self, pairs: Sequence[Pair]) -> None:
        if not pairs:
            return
        found = {pair: value for pair, value in self._measure(pairs).items() if value is not None}
        for pair, value in found.items():
            self.values[pair] = (*self.values.get(pair, ()), value)
        if self._least is None:
            self._first.append(_Round(found, frozenset()))
        else:
            self._again.append(_Round(found, frozenset(pair for pair, value in found.items() if value < self._least)))

    def first_part_ends(self) -> None:
        """Judge the matchings. Inside a leaf and across are not the same, so each has a middle of its own; how far
        values stray is told by all of them together, as few values tell it badly."""
        every = [value for each in self._first for value in each.found.values() if value > 0]
        middles = [self._middle(each, every) for each in self._first]
        strays = [
            abs(value / middle - 1)
            for each, middle in zip(self._first, middles, strict=True)
            for value in each.found.values()
            if value > 0 and middle
        ]
        share = max(DEVIATIONS * SIGMA_OF_MAD * median(strays or [0.0]), self._share)
        enough = len(every) >= LEAST_SAMPLES
        for place, (each, middle) in enumerate(zip(self._first, middles, strict=True)):
            least = middle * (1 - share) if enough else 0.0
            bad = frozenset(pair for pair, value in each.found.items() if value <= 0 or value < least)
            self._first[place] = each._replace(bad=bad)
        self._least = max(median(every) * (1 - share) if enough else 0.0, 1e-9)

    def _middle(self, matching: _Round, every: Sequence[float]) -> float:
        own = [value for value in matching.found.values() if value > 0]
        return median(own if len(own) >= LEAST_SAMPLES else every or [0.0])

    @property
    def retested(self) -> int:
        return sum(len(each.found) for each in self._again)

    def bad_pairs(self) -> list[Pair]:
        return [pair for each in self._first for pair in each.found if pair in each.bad]

    def suspects(self, nodes: Sequence[str]) -> list[str]:
        """Nodes of which every pair was bad."""
        tested = {node for each in self._first for pair in each.found for node in pair}
        return [node for node in nodes if node in tested and not self.passed(node)]

    def passed(self, node: str) -> bool:
        return any(node in pair for each in self._first for pair in each.found if pair not in each.bad)

    def between(self, trusted: Sequence[str]) -> list[Pair]:
        """Bad pairs of nodes that passed with others."""
        return [pair for pair in self.bad_pairs() if set(pair) <= set(trusted)]

    def is_confirmed(self, node: str) -> bool:
        """Whether most of its retests were bad, and there were any."""
        verdicts = [pair in each.bad for each in self._again for pair in each.found if node in pair]
        return 2 * sum(verdicts) > len(verdicts)

    def may_stay_bad(self, pair: Pair) -> bool:
        return all(pair in each.bad for each in self._again if pair in each.found)

    def is_confirmed_path(self, pair: Pair) -> bool:
        return self.may_stay_bad(pair) and sum(pair in each.found for each in self._again) > 1

    def outcome(
        self,
        bad: Sequence[str] = (),
        paths: Sequence[Pair] = (),
        ambiguous: Sequence[Pair] = (),
        common: bool = False,
    ) -> Outcome:
        rounds = len(self._first) + len(self._again)
        return Outcome(tuple(bad), tuple(paths), tuple(ambiguous), common, self.values, rounds)
