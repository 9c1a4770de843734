"""Alerts as values: what is asked of samples, what became of it, and what was done about it.

They cross the pipe like all else, so what a rule means is the same on a node and on the admin side.
"""

from enum import Enum
from typing import NamedTuple, Optional, Tuple


class Severity(Enum):
    INFO = "info"
    WARNING = "warning"
    """Somebody looks today."""
    CRITICAL = "critical"
    """Somebody is woken."""


class Label(NamedTuple):
    name: str
    value: str


class Matcher(NamedTuple):
    """Which values of a label are meant."""

    label: str
    values: Tuple[str, ...]
    """Any of these."""
    other: bool = False
    """Any but these."""


class Rule(NamedTuple):
    """A condition on each labelled series of one name, on each node by itself."""

    id: str
    """`gpu-hot`; for Prometheus the alert is called BrctlGpuHot."""
    series: str
    comparison: str
    """`>`, `>=`, `<`, `<=`, `==` or `!=`: so the value stands to the threshold when it fires."""
    threshold: float
    reading: str = "value"
    """What of the series is compared: its `value`; its `increase` in the last `window_s` (of a counter); its `age`, for
    one that is a time; `lost`: the value, where it was 1 within `window_s`; `ratio` to `other` or `shortfall` against
    it, the series of the same labels."""
    window_s: float = 0.0
    other: Optional[str] = None
    unless: Optional[str] = None
    """A series that tells it better, or excuses it: of a part where that is measured and not 0, nothing is said."""
    only: Tuple[Matcher, ...] = ()
    hold_s: float = 0.0
    """So long it must be so before it fires."""
    clear: Optional[float] = None
    """An alert that fires ends only where the value is beyond this one too; None: the threshold."""
    clear_s: float = 0.0
    """So long it must be over before the alert ends."""
    min_samples: int = 1
    """So many samples in a row must have it before it fires."""
    severity: Severity = Severity.WARNING
    action: str = "log"
    """`log`, `exec`, `webhook`, `throttle`, `reroute` or `drain`."""
    labels: Tuple[Label, ...] = ()
    """More of them, as the config gives them: `team`, for Alertmanager's routes."""
    unit: str = ""
    """Of the threshold: `celsius`, `ratio`."""
    summary: str = ""
    """With `{gpu}`, `{node}`, `{value}` for what it is about."""


class Phase(Enum):
    INACTIVE = "inactive"
    PENDING = "pending"
    """The condition holds, but not yet for long enough."""
    FIRING = "firing"
    CLEARING = "clearing"
    """It fires still: the condition is over, but not yet for long enough."""

    def __init__(self, word: str) -> None:
        self.fires = word in ("firing", "clearing")


class Point(NamedTuple):
    at: float
    value: float


class Alert(NamedTuple):
    """A rule on one labelled series of one node, as it stands; all that is kept from one tick to the next."""

    rule: str
    node: str
    labels: Tuple[Label, ...]
    """Of the series."""
    phase: Phase = Phase.INACTIVE
    since: float = 0.0
    """When this phase began: seconds since the epoch."""
    fired_at: Optional[float] = None
    """When it last fired."""
    samples: int = 0
    """How many in a row have met the condition."""
    value: Optional[float] = None
    """What was compared; of one that is inactive it may be one of before, or None."""
    at: float = 0.0
    """When that was read; 0 where none is kept."""
    missing_since: Optional[float] = None
    """Since when there has been no value; it neither fires nor ends meanwhile."""
    silent: bool = False
    """That has been told."""
    points: Tuple[Point, ...] = ()
    """What the rule's window still holds."""
    severity: Severity = Severity.WARNING
    action: str = "log"
    summary: str = ""

    @property
    def key(self) -> Tuple[str, str, Tuple[Label, ...]]:
        return self.rule, self.node, self.labels

    def label(self, name: str) -> Optional[str]:
        """None: it has none of this name."""
        return next((label.value for label in self.labels if label.name == name), None)


class Happening(Enum):
    """What can befall an alert in a tick."""

    FIRED = "fired"
    RESOLVED = "resolved"
    MISSING = "missing"
    """Its series has had no value for a minute."""


class Event(NamedTuple):
    """A transition, of which actions are made: FIRED begins one, RESOLVED undoes it, MISSING does neither."""

    what: Happening
    alert: Alert
    """As it is after it."""
    at: float
    evidence: str
    """`brctl_gpu_temperature_celsius{gpu="3"} was 91, > 85 for 30 s (7 samples)`"""


class Outcome(Enum):
    """Of an action, or of its undoing."""

    PROPOSED = "proposed"
    """Dry run, or it is for a person to do; `result` says what."""
    BEGUN = "begun"
    """It is under way; another record of its id will say what came of it."""
    DONE = "done"
    UNCHANGED = "unchanged"
    """It was so before."""
    REFUSED = "refused"
    FAILED = "failed"


class ActionRecord(NamedTuple):
    """One action, for `brctl monitor alerts history`."""

    id: str
    """Of its own; equal in the record of its undoing, which replaces it."""
    at: float
    node: str
    rule: str
    labels: Tuple[Label, ...]
    action: str
    evidence: str
    """Why."""
    what: str
    """What was (or would be) done: `power limit 700 W -> 650 W`."""
    outcome: Outcome
    result: str = ""
    """What came of it, or why it was refused."""
    undone_at: Optional[float] = None
    undone: Optional[str] = None
    """How it was undone: `cleared`, `exit`, `guard`, `superseded`."""


class Sink(NamedTuple):
    """What `exec` or `webhook` of a rule needs. It is of the admin host, and is sent to no node."""

    rule: str
    command: Tuple[str, ...] = ()
    url: Optional[str] = None
