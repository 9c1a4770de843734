"""The samples of a tick in groups: whoever follows them looks at what has changed, and at the Series that it needs."""

from itertools import chain
from typing import Dict, Iterable, List, Optional, Sequence, Tuple

from .report import Sample

Places = Dict[str, List[int]]
"""Where the samples of each Series stand in their group."""


def places(names: Iterable[str]) -> Places:
    found: Places = {}
    for place, name in enumerate(names):
        found.setdefault(name, []).append(place)
    return found


class Group(Tuple[Sample, ...]):
    """What one collector read of one part at one time. Until that is read again it stays the same object, by which
    whoever has seen it knows it."""

    places: Places
    """Groups with one and the same object here are alike."""

    def __new__(cls, samples: Iterable[Sample], where: Optional[Places] = None) -> "Group":
        made = super().__new__(cls, samples)
        made.places = places(sample.series for sample in made) if where is None else where
        return made

    def alike(self, other: "Group") -> bool:
        """Whether it is of the same Series and labels, in the same order."""
        return self.places is other.places or [one[:2] for one in self] == [one[:2] for one in other]


class Samples(Tuple[Sample, ...]):
    """Those of `groups`, in their order."""

    groups: Tuple[Group, ...]

    def __new__(cls, groups: Iterable[Group]) -> "Samples":
        each = tuple(groups)
        made = super().__new__(cls, chain.from_iterable(each))
        made.groups = each
        return made


def grouped(samples: Sequence[Sample]) -> Sequence[Group]:
    """Samples that came by themselves are one group."""
    return samples.groups if isinstance(samples, Samples) else (Group(samples),)


def of(samples: Sequence[Sample], series: str) -> List[Sample]:
    """Those of one Series, in their order."""
    if isinstance(samples, Samples):
        return [group[place] for group in samples.groups for place in group.places.get(series, ())]
    return [sample for sample in samples if sample.series == series]
