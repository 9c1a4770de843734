"""Machine: one that is not here, from plain JSON.

    {"name": "dgx-h100",                  how it is called: letters, digits, `.`, `_`, `-`
     "recorded": false,                   read from hardware, or composed
     "sources": ["..."],                  where its figures come from
     "files": {"/proc/uptime": "1.5 2.5\\n",
               "/sys/class/net/eth0": {"link": "../../devices/virtual/net/eth0"},
               "/sys/devices/virtual/net/eth0/speed": {"errno": "EINVAL"}},
     "commands": {"ethtool -i eth0": {"stdout": "driver: veth\\n", "returncode": 0}},
     "nvml": null}                        what its NVIDIA library answers; null: it has none

Folders follow from the paths. A command that is not listed is not installed. What `nvml` holds is the business of the
one who loads the accelerators.
"""

import errno
import os
import re
from typing import Any, Callable, Dict, List, Optional, Protocol, Sequence, Tuple, cast

from ..accel import Library
from ..report import Mock
from . import COMMAND_LIMIT_S, Completed

LINK_LIMIT = 40
"""Links in one path; Linux gives up at the same number (MAXSYMLINKS)."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
_NEEDED = ("name", "recorded", "sources", "files")
_OPTIONAL = ("commands", "nvml")


class InvalidMachineError(ValueError):
    """The JSON is no machine; the message names the place."""


class Overlay(Protocol):
    """Where writes to a machine go."""

    def read(self, path: str) -> Optional[str]:
        """What was last written, None where nothing was."""

    def write(self, path: str, text: str) -> None: ...


class Machine:
    def __init__(
        self, plain: Any, mock: str, load_accelerators: Callable[[], None], overlay: Optional[Overlay] = None
    ) -> None:
        """`plain` is the decoded JSON and `mock` the name that users know it by. Raises InvalidMachineError.

        `load_accelerators` is called once, before accelerators are first asked for. Without an overlay every write
        is refused, as on a read-only file system.
        """
        check(plain)
        self.mock: Optional[Mock] = Mock(mock, plain["recorded"])
        self.name: str = plain["name"]
        self.recorded: bool = plain["recorded"]
        self._load_accelerators = load_accelerators
        self._libraries: Tuple[Library, ...] = ()
        self._overlay = overlay
        self._texts: Dict[str, str] = {}
        self._links: Dict[str, str] = {}
        self._errors: Dict[str, int] = {}
        self._folders: Dict[str, List[str]] = {"": []}
        self._resolved: Dict[str, str] = {}
        for path, entry in plain["files"].items():
            self._add(path, entry)
        self._commands = {argv: _command(argv, answer) for argv, answer in plain.get("commands", {}).items()}

    def read(self, path: str) -> Optional[str]:
        real = self._reach(path)
        if real in self._folders:
            raise _error(errno.EISDIR, path)
        text = self._texts.get(real)
        written = self._overlay.read(real) if self._overlay and text is not None else None
        return text if written is None else written

    def listdir(self, path: str) -> Optional[Tuple[str, ...]]:
        names = self._folders.get(self._reach(path))
        return None if names is None else tuple(sorted(names))

    def readlink(self, path: str) -> Optional[str]:
        parent, _, name = path.rstrip("/").rpartition("/")
        return self._links.get(self._reach(parent) + "/" + name)

    def write(self, path: str, text: str) -> None:
        real = self._reach(path)
        if real not in self._texts:
            raise _error(errno.EISDIR if real in self._folders else errno.ENOENT, path)
        if self._overlay is None:
            raise _error(errno.EROFS, path)
        self._overlay.write(real, text)

    def run(self, argv: Sequence[str], limit_s: float = COMMAND_LIMIT_S) -> Optional[Completed]:  # noqa: ARG002
        return self._commands.get(" ".join(argv))

    def accelerators(self) -> Tuple[Library, ...]:
        if not self._libraries:
            from ..accel.nvml import Nvml

            self._load_accelerators()
            self._libraries = (Nvml(),)
        return self._libraries

    def _add(self, path: str, entry: Any) -> None:
        if isinstance(entry, str):
            self._texts[path] = entry
        elif isinstance(entry, dict) and list(entry) == ["link"] and isinstance(entry["link"], str):
            self._links[path] = entry["link"]
        elif isinstance(entry, dict) and list(entry) == ["errno"]:
            self._errors[path] = _errno(path, entry["errno"])
        else:
            expected = 'a text, {"link": TARGET} or {"errno": NAME}'
            raise InvalidMachineError("files: {}: {} is expected".format(path, expected))
        if path in self._folders:
            raise InvalidMachineError("files: {}: other paths make this a folder".format(path))
        self._add_to_folder(path, path)

    def _add_to_folder(self, entry: str, path: str) -> None:
        """List `entry`, which is `path` or a folder on the way to it, in its own folder."""
        folder, slash, name = entry.rpartition("/")
        if not slash or name in ("", ".", ".."):
            raise InvalidMachineError("files: {!r} is no absolute path in its shortest form".format(path))
        if folder not in self._folders:
            if folder in self._texts or folder in self._links or folder in self._errors:
                raise InvalidMachineError("files: {}: {} is no folder".format(path, folder))
            self._folders[folder] = []
            self._add_to_folder(folder, path)
        self._folders[folder].append(name)

    def _reach(self, path: str) -> str:
        """The path without links; the root is empty. Raises OSError where an entry on the way is one."""
        parent, _, name = path.rstrip("/").rpartition("/")
        if parent not in self._resolved:
            self._resolved[parent] = self._walk(parent, path)
        return self._walk(name, path, self._resolved[parent])

    def _walk(self, way: str, path: str, start: str = "") -> str:
        here, names, links = start, way.split("/")[::-1], 0
        while names:
            name = names.pop()
            if name in ("", ".", ".."):
                here = here.rpartition("/")[0] if name == ".." else here
                continue
            entry = here + "/" + name
            if entry in self._errors:
                raise _error(self._errors[entry], path)
            target = self._links.get(entry)
            if target is None:
                here = entry
                continue
            links += 1
            if links > LINK_LIMIT:
                raise _error(errno.ELOOP, path)
            here = "" if target.startswith("/") else here
            names += target.split("/")[::-1]
        return here


def check(plain: Any) -> None:
    """Raises InvalidMachineError where `plain` lacks a part, or has one of the wrong kind."""
    if not isinstance(plain, dict):
        raise InvalidMachineError("an object is expected")
    missing = [key for key in _NEEDED if key not in plain]
    unknown = sorted(set(plain) - set(_NEEDED) - set(_OPTIONAL))
    if missing or unknown:
        raise InvalidMachineError("missing {}, unknown {}".format(missing, unknown))
    if not isinstance(plain["name"], str) or not _NAME.match(plain["name"]):
        raise InvalidMachineError("name: {!r} does not match {}".format(plain["name"], _NAME.pattern[:-2]))
    if not isinstance(plain["recorded"], bool):
        raise InvalidMachineError("recorded: true or false is expected")
    if not isinstance(plain["sources"], list) or not all(isinstance(source, str) for source in plain["sources"]):
        raise InvalidMachineError("sources: a list of texts is expected")
    for key in ("files", "commands"):
        if not isinstance(plain.get(key, {}), dict):
            raise InvalidMachineError("{}: an object is expected".format(key))
    if not isinstance(plain.get("nvml"), (dict, type(None))):
        raise InvalidMachineError("nvml: an object or null is expected")


def _error(code: int, path: str) -> OSError:
    return OSError(code, os.strerror(code), path)


def _errno(path: str, name: Any) -> int:
    code = getattr(errno, name, None) if isinstance(name, str) and name.startswith("E") else None
    if code is None or code == errno.ENOENT:
        hint = "leave the path out" if code else "a name such as EACCES is expected"
        raise InvalidMachineError("files: {}: errno {!r}: {}".format(path, name, hint))
    return cast(int, code)


def _command(argv: str, answer: Any) -> Completed:
    known = {"stdout": str, "stderr": str, "returncode": int}
    if not isinstance(answer, dict) or any(type(value) is not known.get(key) for key, value in answer.items()):
        raise InvalidMachineError('commands: {}: {{"stdout": TEXT, "returncode": NUMBER}} is expected'.format(argv))
    return Completed(answer.get("returncode", 0), answer.get("stdout", ""), answer.get("stderr", ""))
