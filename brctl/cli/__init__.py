"""The command line: parse -> call -> render. One thin file per command group.

This file answers what needs nothing else, before anything heavy is imported.
"""

import os
import sys

from .. import __version__

BRIDGE_WORDS = frozenset(
    "addbr delbr addif delif hairpin setageing setbridgeprio setfd setgcint sethello setmaxage setpathcost "
    "setportprio show showmacs showstp stp".split()
)
"""The commands of bridge-utils' program, which has our name: brctl(8)."""


def run(argv: list[str]) -> int:
    """Run one command; give its exit code (docs/exit-codes.md)."""
    if "--version" in argv[:1]:
        return print_version()
    if argv and argv[0] in BRIDGE_WORDS:
        from .errors import USAGE, say

        say(_bridge_hint(argv[0]))
        return USAGE
    from .app import run_app

    return run_app(argv)


def print_version() -> int:
    """The exit code."""
    try:
        print(f"brctl {__version__}", flush=True)
    except OSError as error:
        from .errors import tell_lost

        return tell_lost(error)
    return 0


def _bridge_hint(word: str) -> str:
    other = _other_brctl()
    where = f"bridge-utils' brctl ({other})" if other else "bridge-utils' brctl, which is not installed"
    return f"error: '{word}' belongs to {where}; this brctl keeps GPU clusters. See also `ip link` and `bridge`."


def _other_brctl() -> str | None:
    """The path of a brctl that is not this one: where the shell would look, and where Debian puts it."""
    ours = os.path.realpath(sys.argv[0])
    folders = [*os.environ.get("PATH", "").split(os.pathsep), "/usr/sbin", "/sbin"]
    for path in (os.path.join(folder, "brctl") for folder in folders):
        if os.access(path, os.X_OK) and os.path.realpath(path) != ours and not _is_ours(path):
            return path
    return None


def _is_ours(path: str) -> bool:
    """Whether it is the script that pip wrote for this program, or nothing that could be told apart from it."""
    try:
        with open(path, "rb") as file:
            return b"brctl.__main__" in file.read(500)
    except OSError:  # a folder, or not to be read
        return True
