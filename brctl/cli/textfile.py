"""The file that node_exporter's textfile collector reads: whole at every moment, and gone when we are."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from .errors import CommandError

_MODE = 0o644
"""node_exporter runs as a user of its own."""


class TextFile:
    """`FILE.prom`, written anew in each tick. Raises CommandError: it will not be read, or cannot be written."""

    def __init__(self, file: Path) -> None:
        if file.suffix != ".prom":
            raise CommandError(f"--textfile {file}: node_exporter reads *.prom alone", f"write {file}.prom")
        if not file.parent.is_dir():
            raise CommandError(f"--textfile {file}: there is no folder {file.parent}")
        if file.exists() and not file.is_file():
            raise CommandError(f"--textfile {file}: no regular file")
        self._file = file
        self.never = False
        """It was tried to write it, and never came to that."""
        self._written = False
        self._new = file.with_name(f".{file.name}.{os.getpid()}")
        """Its name does not end in .prom, or half of it could be read."""

    def __str__(self) -> str:
        return str(self._file)

    def write(self, text: bytes) -> None:
        """As a whole or not at all. Raises OSError; what was there is then removed, for it is true no more."""
        try:
            descriptor = os.open(self._new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, _MODE)
            with os.fdopen(descriptor, "wb") as stream:
                os.fchmod(descriptor, _MODE)  # whatever the umask says
                stream.write(text)
                stream.flush()
                os.fsync(descriptor)
            self._new.replace(self._file)
        except OSError:
            self.never = not self._written
            self.remove()
            raise
        self._written, self.never = True, False

    def remove(self) -> None:
        """Values of one who measures no more are no values."""
        for file in (self._new, self._file):
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)
