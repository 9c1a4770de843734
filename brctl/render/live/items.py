"""What the screen is made of: sections of rows that can be sorted and filtered, each drawn when it is seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .ink import Column, Row


class Item(NamedTuple):
    """One row."""

    id: str
    keys: Sequence[float | str | None]
    """What it is sorted by, in the order of the Section's `sorts`."""
    words: str
    """What a filter looks at."""
    cells: Callable[[], Row]
    """What is drawn, if it is."""


class Section(NamedTuple):
    """One table."""

    id: str
    title: str
    columns: Sequence[Column]
    items: Sequence[Item]
    sorts: Sequence[str]
    """Names of what it can be sorted by, the first without being asked."""
    ascending: frozenset[str] = frozenset()
    """Those of them that are numbers and of which the least comes first."""
    tree: Callable[[], Sequence[Item]] | None = None
    """Its rows as a tree; None: they are none, or it is not known here."""
    fold: Callable[[Sequence[Item]], str] | None = None
    """What is said of those that find no room; without it, how many they are."""
