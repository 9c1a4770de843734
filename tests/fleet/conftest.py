"""Reports of mocked machines."""

from collections.abc import Callable
from functools import lru_cache

import pytest

from brctl.mock.machines import load
from brctl.node.agent import answer
from brctl.node.report import Report
from brctl.node.request import Request

Look = Callable[..., Report]


@lru_cache(maxsize=None)
def _look(spec: str) -> Report:
    return answer(load(spec, "gpu001"), Request("gpu001", "check"))


@pytest.fixture
def look() -> Look:
    """`look("gpu007", "dgx-h100+gpu3-lost")`: what a node's check of that machine gives."""

    def report(node: str, spec: str = "dgx-h100") -> Report:
        return _look(spec)._replace(node=node)

    return report
