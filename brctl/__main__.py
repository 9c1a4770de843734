"""`python -m brctl`, and the installed commands."""

import sys

from .cli import run


def main() -> None:
    """brctl"""
    sys.exit(run(sys.argv[1:]))


def br_node_manager() -> None:
    """br-node-manager: the check of the nodes under the name that older run books use."""
    sys.exit(run(["node-manager", "check", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
