"""`python -m brctl`, and the installed commands."""

import sys

from .cli import run


def main() -> None:
    """brctl"""
    sys.exit(run(sys.argv[1:]))


def br_node_manager() -> None:
    """br-node-manager: discover and check every node of the config, under the name that older run books use."""
    sys.exit(run(["--nodes", "@all", "node-manager", "check", "--discover", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
