"""What a caller hears while the engine works."""

from __future__ import annotations

from typing import NamedTuple


class Progress(NamedTuple):
    """How far a run is, in nodes."""

    total: int
    done: int
    failed: int
    """Of those done: without a Report."""
    running: int
    slowest: str | None
    """The node that has run longest of those that still do."""
    slowest_s: float
