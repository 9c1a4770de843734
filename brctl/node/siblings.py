"""Equal parts of one machine, and which of them is the odd one."""

from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from .report import Subject


class Part(NamedTuple):
    """A part, and the value of it that is judged."""

    subject: Subject
    value: Any
    """Hashable. None: this part is not judged, and `text` says why."""
    text: str
    """`MTU 9000`; where there is no value `not read`, `no link`."""
    source: str
    kin: Any = None
    """Compared only with parts of the same kin: GPUs of one model, ports of one type of card."""
    reason: Optional[str] = None
    """Of one that could not be read: `hung`, `permission` or `error`."""


class Group(NamedTuple):
    """Siblings that agree."""

    value: Any
    subjects: Tuple[Subject, ...]


class Comparison(NamedTuple):
    common: Optional[Group]
    """A strict majority; None where no value has one, and so nobody knows which is right."""
    others: Tuple[Group, ...]
    """All other groups, the largest first; empty where all agree."""


def median(values: Iterable[float]) -> float:
    """Of one value at the least. `statistics` has one too, and imports far more than it needs."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def compare(values: Sequence[Tuple[Subject, Any]]) -> Optional[Comparison]:
    """Group by value, which must be hashable. None for fewer than two: there is nothing to compare."""
    if len(values) < 2:
        return None
    found: Dict[Any, List[Subject]] = {}
    for subject, value in values:
        found.setdefault(value, []).append(subject)
    groups = [Group(value, tuple(subjects)) for value, subjects in found.items()]
    groups.sort(key=lambda group: -len(group.subjects))
    if 2 * len(groups[0].subjects) > len(values):
        return Comparison(groups[0], tuple(groups[1:]))
    return Comparison(None, tuple(groups))
