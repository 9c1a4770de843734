"""Overlay: what was written to a mocked machine. One JSON file each, path -> text, or null
for what was removed, so that it outlives the process."""

import contextlib
import fcntl
import json
import os
import time
from typing import ClassVar, Dict, Iterator, Optional, Tuple

from ..node.host import files
from . import MockError
from .regular import open_regular

Texts = Dict[str, Optional[str]]

_FRESH_S = 0.005
"""How late the write of another process may be seen."""


def state_folder() -> str:
    """$BRCTL_STATE_DIR, else brctl in $XDG_STATE_HOME, else in ~/.local/state (XDG base directories)."""
    own = os.environ.get("BRCTL_STATE_DIR")
    if own:
        return own
    base = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):  # the specification says to ignore a relative one
        base = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "brctl")


class Overlay:
    _written_s: ClassVar[float] = 0.0
    """When this process last wrote to any."""

    def __init__(self, name: str) -> None:
        """Of the machine `name`. Raises MockError: it is there, but broken or not to be read."""
        self._folder = os.path.join(state_folder(), "mock")
        self._path = os.path.join(self._folder, name + ".json")
        self._stamp: Optional[Tuple[int, int, int]] = None
        self._looked_s = 0.0
        self._name = name
        self._texts: Texts = {}
        self._refresh()

    def read(self, path: str) -> Optional[str]:
        """What was last written to `path`, by any process; None where nothing was. Raises MockError."""
        self._look()
        return self._texts.get(path)

    def write(self, path: str, text: Optional[str]) -> None:
        """None: it is removed. Returns when that is on disk. Raises MockError, OSError."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        # The lock is a file of its own: the data file is replaced under it.
        with open(os.path.join(self._folder, ".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._refresh()
            self._replace(dict(self._texts, **{path: text}))
            Overlay._written_s = time.monotonic()

    def changed(self) -> Texts:
        """All that any process has written, None for what was removed. Raises MockError."""
        self._look()
        return self._texts

    @contextlib.contextmanager
    def lock(self, path: str, holder: str) -> Iterator[None]:
        """Raises BusyError when it is entered, OSError."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        with files.lock(os.path.join(self._folder, "{}.{}".format(self._name, os.path.basename(path))), holder):
            self._looked_s = 0.0  # what the last holder wrote is seen
            yield

    def _look(self) -> None:
        """Each read of a mocked file comes here."""
        now_s = time.monotonic()
        if now_s - self._looked_s >= _FRESH_S or self._looked_s <= Overlay._written_s:
            self._refresh()
            self._looked_s = now_s

    def _refresh(self) -> None:
        try:
            if _stamp(os.stat(self._path)) == self._stamp:
                return
            with open(open_regular(self._path), "rb") as file:
                stamp = _stamp(os.fstat(file.fileno()))
                self._texts = self._parse(file.read())
                self._stamp = stamp
        except FileNotFoundError:
            self._texts, self._stamp = {}, None
        except OSError as error:
            message = "cannot read {}: {}".format(self._path, error.strerror)
            raise MockError(message, "remove it, or name another folder in $BRCTL_STATE_DIR") from None

    def _parse(self, data: bytes) -> Texts:
        try:
            texts = json.loads(data)
        except ValueError as error:
            raise self._broken(str(error)) from None
        except RecursionError:
            raise self._broken("it is nested too deep") from None
        if not isinstance(texts, dict) or not all(isinstance(text, (str, type(None))) for text in texts.values()):
            raise self._broken("an object of texts is expected")
        return texts

    def _broken(self, reason: str) -> MockError:
        message = "{} does not hold what was written to this mocked machine: {}".format(self._path, reason)
        return MockError(message, "remove the file: the machine then is as it was at first")

    def _replace(self, texts: Texts) -> None:
        files.replace(self._path, json.dumps(texts, indent=0, sort_keys=True).encode(), 0o600)


def _stamp(status: os.stat_result) -> Tuple[int, int, int]:
    return status.st_ino, status.st_mtime_ns, status.st_size
