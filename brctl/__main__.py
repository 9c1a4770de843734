"""`python -m brctl`, and the installed commands."""

import gc
import os
import signal
import sys

from . import SELDOM

_INTERRUPTED = 130
_inside = False
"""Whether somebody catches KeyboardInterrupt."""
_interrupted = False
"""Python drops a KeyboardInterrupt that is raised in a callback of its own; this stays."""


def _interrupt(_number: int, _frame: object) -> None:
    global _interrupted
    _interrupted = True
    if not _inside:
        os._exit(_INTERRUPTED)
    raise KeyboardInterrupt


if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else the caller has it ignored
    signal.signal(signal.SIGINT, _interrupt)  # at once: the imports take longest
signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # daemons ignore it, and then no program's exit status is known


def main(*group: str) -> None:
    """brctl"""
    global _inside
    try:
        _inside = True
        code = _run([*group, *sys.argv[1:]])
        _inside = False
    except KeyboardInterrupt:  # before run could look after it itself
        _inside = False
        code = _INTERRUPTED
    if _interrupted or code == _INTERRUPTED:
        os._exit(_INTERRUPTED)  # what was to be printed is; the rest could wait for its reader for ever
    _end(code)


def br_node_manager() -> None:
    """br-node-manager: discover and check every node of the config, under the name that older run books use."""
    main("node-manager", "check", "--discover", "--nodes", "@all")


def br_monitor() -> None:
    """br-monitor: `brctl monitor` under the name that older run books use."""
    main("monitor")


def _end(code: int) -> None:
    """All is done and printed: to take the interpreter down in order would take a sixth of the time of a command."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # contextlib takes as long as all else here
        pass
    os._exit(code)


def _run(argv: list[str]) -> int:
    gc.set_threshold(SELDOM)
    _open_standard()
    from .cli import run

    return run(argv)


def _open_standard() -> None:
    """A stream that the caller closed becomes /dev/null; else the next file or pipe to be opened would be in its place,
    and `print` would take stdout for a stderr that is None."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free number is this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115


if __name__ == "__main__":
    main()
