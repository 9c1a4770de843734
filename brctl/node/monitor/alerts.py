"""Samples and rules -> alerts: pure, and the same on a node, in the exporter and in `brctl monitor alerts`."""

from typing import Iterable, NamedTuple, Protocol, Sequence, Tuple

from ..alert_facts import ActionRecord, Alert, Event, Rule
from ..report import Sample, Series


class Evaluated(NamedTuple):
    """One tick of one node."""

    alerts: Tuple[Alert, ...]
    """Of every series that a rule is about."""
    events: Tuple[Event, ...]


class Action(Protocol):
    """One way to act. It is called for events of rules whose `action` is its name, of every tick in order."""

    name: str

    def begin(self, event: Event, rule: Rule) -> ActionRecord:
        """An alert has fired. Must come back soon: what takes long is done elsewhere, and `tick` tells of it."""

    def undo(self, event: Event, rule: Rule) -> Sequence[ActionRecord]:
        """An alert is over: take back what `begin` did; the records of that, as they now stand."""

    def tick(self, alerts: Iterable[Alert], at: float) -> Sequence[ActionRecord]:
        """After each tick: further steps, and records that have changed."""

    def close(self) -> Sequence[ActionRecord]:
        """The program ends: take back what must not outlive it."""


def evaluate(
    rules: Sequence[Rule], before: Sequence[Alert], node: str, series: Sequence[Series], samples: Sequence[Sample],
    at: float,
) -> Evaluated:  # fmt: skip
    """What the samples of a tick make of the alerts of `node` as they were `before` it."""
    raise NotImplementedError
