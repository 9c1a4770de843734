"""Files that commands are given to read, and those that they write: as a whole or not at all, whatever ends the command
meanwhile."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from .errors import INCOMPLETE, CommandError

_BEGINNING = 4096
_HINT = "name a file that is not there yet, or with --force a regular file"


def unreadable(name: object, error: OSError) -> CommandError:
    """Of a file that is to be read: 2 everywhere, as for each argument that is wrong."""
    return CommandError(f"cannot read {name}: {error.strerror or error}")


def read(file: Path, most: int, begins: bytes = b"") -> bytes | None:
    """What is in it, a pipe too; None where it does not begin so (white space apart), or is longer than `most` bytes:
    an endless one is not read for ever. Raises CommandError."""
    try:
        with file.open("rb") as stream:
            data = stream.read(_BEGINNING)
            if data.lstrip().startswith(begins):
                data += stream.read(max(0, most + 1 - len(data)))
                return data if len(data) <= most else None
    except OSError as error:
        raise unreadable(file, error) from None
    return None


def refuse(file: Path, force: bool) -> None:
    """Raises CommandError where it can be told now that `file` will not be written."""
    try:
        mode = file.lstat().st_mode
    except FileNotFoundError:
        if not os.access(file.parent, os.W_OK):
            raise CommandError(f"nothing can be written to {file.parent}", "name a file in another folder") from None
        return
    except OSError as error:
        raise CommandError(f"cannot write {file}: {error.strerror}", _HINT) from None
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a symbolic link" if stat.S_ISLNK(mode) else "no regular file"
        raise CommandError(f"{file} is {kind}", _HINT)
    if not force:
        raise CommandError(f"{file} exists", "--force overwrites it")
    if not os.access(file.parent, os.W_OK):
        raise CommandError(f"nothing can be written to {file.parent}", "name a file in another folder")


def write(file: Path, text: str, force: bool, private: bool = False) -> None:
    """The whole file or none; `private`: for its owner alone. Raises CommandError; what was there is there still."""
    new = file.with_name(f".brctl-{os.urandom(8).hex()}")
    try:
        with _ending_in_order():
            try:
                _fill(new, text, 0o600 if private else 0o666)
                if file.exists() and not private:
                    new.chmod(stat.S_IMODE(file.stat().st_mode))
                _publish(new, file, force)
            finally:
                new.unlink(missing_ok=True)
    except FileExistsError:
        raise CommandError(f"{file} exists by now", "--force overwrites it") from None
    except OSError as error:
        raise CommandError(f"cannot write {file}: {error.strerror}", code=INCOMPLETE) from None


def _fill(new: Path, text: str, mode: int) -> None:
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(descriptor)


def _publish(new: Path, file: Path, force: bool) -> None:
    """Give it its name. A link is refused where a file has come in the meantime, a rename is not. Raises OSError."""
    try:
        if not force:
            file.hardlink_to(new)
            return
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP):  # FAT and its like have no links
            raise
    new.replace(file)


@contextlib.contextmanager
def _ending_in_order() -> Iterator[None]:
    """SIGTERM and SIGHUP, where they would end the process, end it as ^C does, with the code that a shell shows."""
    numbers = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)
