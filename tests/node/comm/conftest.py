"""Machines to render and lint for."""

from functools import lru_cache
from typing import Callable

import pytest

from brctl.mock.machines import load
from brctl.node.facts import Inventory
from brctl.node.probe import inventory


@lru_cache(maxsize=None)
def _seen(name: str) -> Inventory:
    return inventory(load(name, "n1"))


@pytest.fixture
def seen() -> Callable[[str], Inventory]:
    """What a mocked machine is, by its name."""
    return _seen
