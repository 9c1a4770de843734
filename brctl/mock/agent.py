"""The agent of a mocked node, one of many: the same agent, handed another Host."""

import sys

from ..node import agent
from .machines import load


def main() -> None:
    """Arguments: the search path (taken by the one who starts us), the machine's spec, the node's name."""
    agent.run(lambda: load(sys.argv[2], sys.argv[3]))
