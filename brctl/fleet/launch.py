"""What to start for a node, and what to tell it first."""

from __future__ import annotations

import ast
import sys
import zlib
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from ..node.codec import wire
from ..node.frame import Frame, pack
from ..node.request import Request
from . import door, ssh_config
from .bundle import Bundle
from .transport import Transport, TransportError

NO_PYTHON, OLD_PYTHON = 127, 38
"""Exit statuses of the bootstrap: the shell's own for a command that is not there, and one of ours."""

# Not a quote, a backquote, a dollar, a backslash or an exclamation mark is in it: it stands in the shell's double
# quotes, and all of that in the single quotes of a login shell, which may be csh. The lambda reads so many bytes and
# not one more, as the agent reads on from there.
_PYTHON = (
    "import os,sys;"
    f"sys.version_info<(3,8) and (sys.stderr.write(sys.version.split()[0]),sys.exit({OLD_PYTHON}));"
    "import zlib;"
    "f=lambda n,b=bytes():b if len(b)==n else f(n,b+os.read(0,n-len(b)));"
    "exec(zlib.decompress(f(int(sys.argv[1]))))"
)
BOOTSTRAP = (
    'printf "\\036brctl1 shell 0 0\\n";'
    "n=$1;shift;for p do :;done;"
    f'command -v "$p" >/dev/null 2>&1||exit {NO_PYTHON};'
    f'exec "$@" -I -S -c "{_PYTHON}" "$n"'
)
"""For a POSIX sh; its arguments: the length of what comes on stdin for Python, then the words that start Python.

It says at once that there is a shell, so that whatever fails before is the connection's fault and no other.
"""


_START = "import sys; sys.path[:0] = sys.argv[1].split(':'); from {} import main; main()"
_FRESH = ("-o", "ControlPath=none", "-o", "ControlMaster=no")
"""A connection of its own: that one can be had is what a confirmation proves."""


def agent_command(mock: str | None, node: str) -> tuple[str, ...]:
    """What starts the agent of this host, or of a mocked machine, which then goes by the name `node`: one of many."""
    module = "brctl.mock.agent" if mock else "brctl.node.agent"
    # -I and -S: nothing in the caller's folder or environment is imported, and no start-up file runs (10 ms).
    command = (sys.executable, "-I", "-S", "-c", _START.format(module), ":".join(filter(None, sys.path)))
    return (*command, mock, node) if mock else command


class Launch(NamedTuple):
    argv: tuple[str, ...]
    opening: bytes
    """What its stdin gets first."""
    direct: bool
    """An agent that needs no door: the opening is the request."""


class Launcher:
    """Makes the Launch of each node. Raises TransportError where the transport cannot work from here."""

    def __init__(self, transport: Transport, connect_s: float) -> None:
        self._transport = transport
        self._connect_s = connect_s

    @cached_property
    def bundle(self) -> Bundle:
        return Bundle()

    def launch(self, node: str, request: Request, mock: str | None, via: str | None = None) -> Launch:
        """What to start for a node; `via`: the host that ssh is to go through."""
        if mock or (node == self._transport.here and request.action != "clean"):
            return Launch(agent_command(mock, node), pack(Frame("1", wire(request))), direct=True)
        opening = _program("clean", request.force) if request.action == "clean" else self._enter
        fresh = _FRESH if request.action == "tune-confirm" else ()
        hop = ("-J", self._hop(via)) if via else ()
        return Launch(self._argv(node, len(opening), (*fresh, *hop)), opening, direct=False)

    def _argv(self, node: str, length: int, more: tuple[str, ...]) -> tuple[str, ...]:
        """`more`: options of ssh."""
        transport = self._transport
        if node == transport.here:
            return "sh", "-c", BOOTSTRAP, "sh", str(length), sys.executable
        if transport.kind == "local":
            raise TransportError(f"{node} cannot be reached: the transport is local", "it reaches this host alone")
        words = ("sh", str(length), *(("sudo", "-n") if transport.sudo else ()), transport.python)
        if transport.kind == "exec":
            return (*(word.replace("%host", node) for word in transport.template), "sh", "-c", BOOTSTRAP, *words)
        # ssh hands one text to the login shell.
        return *self.ssh, *more, "--", node, f"exec sh -c '{BOOTSTRAP}' " + " ".join(words)

    def _hop(self, gateway: str) -> str:
        """User and port of the command line are the nodes' alone: a hop must be told them."""
        transport = self._transport
        return (
            (f"{transport.user}@" if transport.user else "") + gateway + (f":{transport.port}" * bool(transport.port))
        )

    @cached_property
    def ssh(self) -> tuple[str, ...]:
        """The command that reaches a node, up to its name."""
        transport = self._transport
        user = ("-l", transport.user) if transport.user else ()
        port = ("-p", str(transport.port)) if transport.port else ()
        return "ssh", "-F", str(ssh_config.write(transport, self._connect_s)), *user, *port

    @cached_property
    def _enter(self) -> bytes:
        return _program("enter", self.bundle.digest)


def _program(function: str, *arguments: object) -> bytes:
    """The door without its comments and docstrings, a third of it, and a call of one of its functions."""
    tree = ast.parse(Path(door.__file__).read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Module) and ast.get_docstring(node):
            del node.body[0]
    return zlib.compress(f"{ast.unparse(tree)}\n{function}{arguments!r}\n".encode(), 9)
