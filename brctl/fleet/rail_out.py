"""Which rail is out of the communication environment of all nodes: a small file under the state folder, for one config.

Whoever renders an environment honours it, so jobs that start later leave the rail alone on every node at once. At most
one rail is out.
"""

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path
from typing import NamedTuple

from ..mock.overlay import state_folder
from ..mock.regular import read_regular
from ..node.codec import InvalidReportError, dumps, loads
from ..node.request import RailOut


class Kept(NamedTuple):
    out: RailOut
    devices: tuple[str, ...]
    """What the rail is called, on whichever node."""
    holders: tuple[str, ...]
    """Ids of the actions that hold it out."""


class RailFile:
    def __init__(self, config: Path | None, mocked: bool) -> None:
        about = f"{config.resolve() if config else ''}\n{mocked}"
        self._path = Path(state_folder(), "rail-out", f"{hashlib.sha256(about.encode()).hexdigest()[:12]}.json")

    def read(self) -> Kept | None:
        """None: all rails are in use. A file that is broken is none, and so is one that this user may not read: it is
        another one's. Raises OSError."""
        try:
            return loads(Kept, read_regular(str(self._path)))
        except (FileNotFoundError, NotADirectoryError, PermissionError, InvalidReportError):
            return None

    def write(self, kept: Kept | None) -> None:
        """None: all rails are to be used. On disk when it returns. Raises OSError."""
        if kept is None:
            self._path.unlink(missing_ok=True)
            return
        self._path.parent.mkdir(0o700, parents=True, exist_ok=True)
        descriptor, fresh = tempfile.mkstemp(dir=self._path.parent)  # 0600
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(dumps(kept))
                file.flush()
                os.fsync(descriptor)
            Path(fresh).replace(self._path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(fresh).unlink()
            raise
