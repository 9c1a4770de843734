"""`python -m brctl`, and the installed commands."""

import sys

from .cli import run


def main(*group: str) -> None:
    """brctl"""
    try:
        sys.exit(run([*group, *sys.argv[1:]]))
    except KeyboardInterrupt:  # before run could look after it itself
        sys.exit(130)


def br_node_manager() -> None:
    """br-node-manager: discover and check every node of the config, under the name that older run books use."""
    main("node-manager", "check", "--discover", "--nodes", "@all")


if __name__ == "__main__":
    main()
