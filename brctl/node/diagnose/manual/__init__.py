"""The troubleshooting manual as data: a card a symptom, one file each; ranking.py weighs the evidence.

A weight is a log-odds (natural): 1 is a hint, 3 makes a cause likely where nothing speaks against it, from 5 on it
decides. They are judged by hand from what vendors and operators of clusters write of these faults, and held by the
fixtures in the tests: no rates are measured.
"""

from importlib import import_module
from typing import FrozenSet, NamedTuple, Tuple

SYMPTOMS = (
    "nan-loss",
    "mpi-timeout",
    "sched-jitter",
    "slow-comm",
    "slow-node",
    "gpu-memory",
    "network-contention",
    "gpu-lost",
)
BAD, NOTED, PASS, HUNG = "bad", "noted", "pass", "hung"
"""What a check found: warn or crit; info; pass; a call that never returned."""
PRIOR = -2.0
"""Of any cause before there is evidence: about one in eight, as many as a card has."""


class Fact(NamedTuple):
    """What a finding of a check says for a cause (a weight above 0) or against it."""

    check: str
    found: str
    """BAD, NOTED, PASS or HUNG."""
    weight: float
    why: str
    says: Tuple[str, ...] = ()
    """Only a finding that has one of these words, in its summary or the names of its evidence."""


class Step(NamedTuple):
    """A next test, and what it costs."""

    do: str
    cost: str
    disturbs: str


class Fix(NamedTuple):
    step: str
    risk: str
    verified: str
    """How one sees that it helped."""


class PossibleCause(NamedTuple):
    id: str
    title: str
    facts: Tuple[Fact, ...]
    tests: Tuple[Step, ...]
    fixes: Tuple[Fix, ...]
    masks: Tuple[str, ...] = ()
    """Checks whose bad findings on the same part of the machine it explains, so that they speak for no other cause."""


class Needs(NamedTuple):
    """Checks without which the card names no cause."""

    every: Tuple[str, ...] = ()
    """Each of them is needed."""
    any: Tuple[str, ...] = ()
    """One of them is needed."""
    optional: Tuple[str, ...] = ()
    """Where they could not be read, a cause can be ruled out all the same."""


class Card(NamedTuple):
    symptom: str
    title: str
    needs: Needs
    causes: Tuple[PossibleCause, ...]
    beyond: Tuple[Step, ...]
    """Where to look if nothing on the host explains it."""
    notes: Tuple[str, ...] = ()
    """What is often advised and does not help, and why."""

    def checks(self) -> FrozenSet[str]:
        """Those that are evidence here."""
        return frozenset(fact.check for cause in self.causes for fact in cause.facts)


def card(symptom: str) -> Card:
    """That one of SYMPTOMS."""
    found: Card = import_module("{}.{}".format(__name__, symptom.replace("-", "_"))).CARD
    return found
