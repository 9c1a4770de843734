"""Machine: one that is not here, from plain JSON.

    {"name": "dgx-h100",                  how it is called: letters, digits, `.`, `_`, `-`
     "recorded": false,                   read from hardware, or composed
     "sources": ["..."],                  where its figures come from
     "partial": false,                    true: it holds what was once asked for, and anything else is unknown
     "files": {"/proc/uptime": "1.5 2.5\\n",
               "/sys/class/net/eth0": {"link": "../../devices/virtual/net/eth0"},
               "/sys/devices/virtual/net/eth0": {"names": ["mtu", "speed"]},
               "/sys/devices/virtual/net/eth0/speed": {"errno": "EINVAL"},
               "/sys/kernel/debug/x": {"hung": 3.0},
               "/sys/class/infiniband": null},
     "commands": {"ethtool -i eth0": {"stdout": "driver: veth\\n", "returncode": 0},
                  "ibstat": null},
     "space": {"/": [100, 60, 50, 0, 0]}, bytes of a file system, free, available; inodes, and how many are free
     "round_trip_s": 0.0001,              to any other node; without it no other node answers
     "nvml": null,                        what its NVIDIA library answers; null: it has none
     "nvml_calls": {"gpu0": {"nvmlDeviceGetName": {"answer": "NVIDIA L40S", "ms": 0.02}}}}

A file is its text, or: `link`, where a symbolic link leads; `names`, a folder as it was listed; `errno`, why it cannot
be read; `hung`, a call on it did not return within so many seconds; null, there is none. A command answers what it
printed, `errno` or `hung`; null: it is not installed. Folders follow from the paths.

What is not in `files` is not there, and a command not installed. Of a partial machine, that is unknown: asking for it
raises NotRecordedError, unless a folder above was listed and does not have it.

What `nvml` holds is the business of the one who loads the accelerators; `nvml_calls` is evidence for people: what NVML
answered to each call when this was recorded, or its `error`, and after how many milliseconds.
"""

import errno
import re
import threading
from typing import Any, Callable, ContextManager, Dict, Mapping, Optional, Protocol, Sequence, Tuple, Union

from ..accel import Library, libraries
from ..deadline import HungError
from ..report import Mock, PairSeen
from . import COMMAND_LIMIT_S, Completed, Space
from .tree import InvalidMachineError as InvalidMachineError  # part of what this module offers
from .tree import NotRecordedError, Tree, errno_of, os_error

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
_STATISTIC = re.compile(r"^ *(\S+): (\d+)$", re.MULTILINE)
_NEEDED = ("name", "recorded", "sources", "files")
_OPTIONAL = ("partial", "commands", "space", "round_trip_s", "nvml", "nvml_calls")


class Overlay(Protocol):
    """Where writes to a machine go. Bytes that are no UTF-8 are kept in texts as Python's surrogates."""

    def read(self, path: str) -> Optional[str]:
        """What was last written, None where nothing was."""

    def write(self, path: str, text: Optional[str]) -> None:
        """None: it is removed."""

    def changed(self) -> Mapping[str, Optional[str]]:
        """All that was written, by path; None for what was removed."""

    def lock(self, path: str, holder: str) -> ContextManager[None]:
        """Raises BusyError when it is entered."""


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
        self.again: Tuple[str, ...] = ()
        """Set by the one who knows where it comes from."""
        self.name: str = plain["name"]
        self.recorded: bool = plain["recorded"]
        self._load_accelerators = load_accelerators
        self._libraries: Tuple[Library, ...] = ()
        self._loading = threading.Lock()
        self._overlay = overlay
        self._partial: bool = plain.get("partial", False)
        self._space: Mapping[str, Sequence[int]] = plain.get("space", {})
        self._round_trip_s: Optional[float] = plain.get("round_trip_s")
        self._tree = Tree(plain["files"], self._partial)
        self._commands = {argv: _command(argv, answer) for argv, answer in plain.get("commands", {}).items()}

    def read(self, path: str) -> Optional[str]:
        text = self._text(path)
        return text if text is None or text.isascii() else _bytes(text).decode("utf-8", "replace")

    def denies(self, path: str) -> Optional[int]:
        if self.listdir(path) is None and self._text(path) is None:
            raise os_error(errno.ENOENT, path)
        return errno.EROFS if self._overlay is None else None

    def reread(self, path: str) -> Optional[str]:
        return self.read(path)

    def space(self, path: str) -> Optional[Space]:
        found = self._space.get(path)
        if found is None and self._partial:
            raise NotRecordedError("statvfs " + path)
        return None if found is None else Space(*found)

    def ethtool_statistics(self, interface: str) -> Optional[Mapping[str, int]]:
        answer = self.run(["ethtool", "-S", interface])
        if answer is None or answer.returncode:
            return None
        return {name: int(value) for name, value in _STATISTIC.findall(answer.stdout)}

    def echo(self, address: str, port: int, nonce: bytes, limit_s: float) -> bool:  # noqa: ARG002
        raise os_error(errno.ENETUNREACH, "a mocked machine")

    def echo_from(self, own: str, peer: str, port: int, nonce: bytes, mtu: int, limit_s: float) -> PairSeen:  # noqa: ARG002
        raise os_error(errno.ENETUNREACH, "a mocked machine")

    def round_trip(self, address: str, port: int, limit_s: float) -> Optional[float]:  # noqa: ARG002
        return self._round_trip_s

    def read_bytes(self, path: str) -> Optional[bytes]:
        text = self._text(path)
        return None if text is None else _bytes(text)

    def listdir(self, path: str) -> Optional[Tuple[str, ...]]:
        real = self._tree.reach(path, "list")
        changed = _names(self._overlay.changed(), real) if self._overlay else {}
        try:
            there = self._tree.names(real, path)
        except NotRecordedError:
            if not any(changed.values()):
                raise
            there = ()
        if there is None and not any(changed.values()):
            return None
        kept = {name for name in there or () if changed.get(name, True)}
        return tuple(sorted(kept.union(name for name, present in changed.items() if present)))

    def readlink(self, path: str) -> Optional[str]:
        parent, _, name = path.rstrip("/").rpartition("/")
        return self._tree.link(self._tree.reach(parent, "readlink", path) + "/" + name, path)

    def write(self, path: str, text: str) -> None:
        old = self._text(path)
        if old is None:
            raise os_error(errno.ENOENT, path)
        self._writable(path).write(self._tree.reach(path, "write"), _as_kernel(old, text, path))

    def replace(self, path: str, data: bytes, mode: int = 0o644) -> None:  # noqa: ARG002
        self._writable(path).write(self._tree.reach(path, "write"), _text(data))

    def remove(self, path: str) -> None:
        overlay, real = self._writable(path), self._tree.reach(path, "remove")
        if self._text(path) is not None:
            overlay.write(real, None)

    def append(self, path: str, data: bytes) -> None:
        overlay, real = self._writable(path), self._tree.reach(path, "write")
        overlay.write(real, (self._text(path) or "") + _text(data))

    def lock(self, path: str, holder: str) -> ContextManager[None]:
        return self._writable(path).lock(path, holder)

    def _text(self, path: str) -> Optional[str]:
        real = self._tree.reach(path, "read")
        written = self._overlay.read(real) if self._overlay else None
        if written is None and self._overlay and self._overlay.changed().get(real, "") is None:
            return None
        return self._tree.text(real, path) if written is None else written

    def _writable(self, path: str) -> Overlay:
        if self._overlay is None:
            raise os_error(errno.EROFS, path)
        return self._overlay

    def run(self, argv: Sequence[str], limit_s: float = COMMAND_LIMIT_S) -> Optional[Completed]:  # noqa: ARG002
        name = " ".join(argv)
        if name not in self._commands and self._partial:
            raise NotRecordedError(name)
        answer = self._commands.get(name)
        if isinstance(answer, int):
            raise os_error(answer, name)
        if isinstance(answer, float):
            raise HungError(name, answer)
        return answer

    def accelerators(self) -> Tuple[Library, ...]:
        with self._loading:  # each request has a thread of its own
            if not self._libraries:
                self._load_accelerators()
                self._libraries = libraries(self.run)
        return self._libraries


def _names(changed: Mapping[str, Optional[str]], folder: str) -> Dict[str, bool]:
    """Names in `folder` of what was written or removed in it or below, and whether there is anything of it now."""
    found: Dict[str, bool] = {}
    for path, text in changed.items():
        if path.startswith(folder + "/"):
            name, _, below = path[len(folder) + 1 :].partition("/")
            if text is not None or not below:  # a folder outlives what was in it
                found[name] = found.get(name, False) or text is not None
    return found


def _as_kernel(old: str, new: str, path: str) -> str:
    """A choice, `always [madvise] never`, takes one of its words and marks it; anything else is kept as written."""
    words, wanted = old.split(), new.strip()
    plain = [word.strip("[]") for word in words]
    if len(words) < 2 or sum(word != bare for word, bare in zip(words, plain)) != 1:
        return new
    if wanted not in plain:
        raise os_error(errno.EINVAL, path)
    return " ".join("[{}]".format(word) if word == wanted else word for word in plain) + "\n"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


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
    for key in ("recorded", "partial"):
        if not isinstance(plain.get(key, False), bool):
            raise InvalidMachineError("{}: true or false is expected".format(key))
    if not isinstance(plain["sources"], list) or not all(isinstance(source, str) for source in plain["sources"]):
        raise InvalidMachineError("sources: a list of texts is expected")
    for key in ("files", "commands", "nvml_calls"):
        if not isinstance(plain.get(key, {}), dict):
            raise InvalidMachineError("{}: an object is expected".format(key))
    _check_measures(plain)
    if not isinstance(plain.get("nvml"), (dict, type(None))):
        raise InvalidMachineError("nvml: an object or null is expected")


def _check_measures(plain: Any) -> None:
    space = plain.get("space", {})
    if not isinstance(space, dict) or not all(map(_is_space, space.values())):
        raise InvalidMachineError("space: five whole numbers of each mount are expected")
    if type(plain.get("round_trip_s")) not in (float, int, type(None)):
        raise InvalidMachineError("round_trip_s: a number is expected")


def _is_space(numbers: Any) -> bool:
    fits = isinstance(numbers, list) and len(numbers) == len(Space._fields)
    return fits and all(type(number) is int and number >= 0 for number in numbers)


def _command(argv: str, answer: Any) -> Union[Completed, int, float, None]:
    """What it answers; an errno, the seconds after which it was given up, or None: it is not installed."""
    if answer is None:
        return None
    if isinstance(answer, dict) and list(answer) == ["errno"]:
        return errno_of("commands: " + argv, answer["errno"])
    if isinstance(answer, dict) and list(answer) == ["hung"] and type(answer["hung"]) in (int, float):
        return float(answer["hung"])
    known = {"stdout": str, "stderr": str, "returncode": int}
    if not isinstance(answer, dict) or any(type(value) is not known.get(key) for key, value in answer.items()):
        raise InvalidMachineError('commands: {}: {{"stdout": TEXT, "returncode": NUMBER}} is expected'.format(argv))
    return Completed(answer.get("returncode", 0), answer.get("stdout", ""), answer.get("stderr", ""))
