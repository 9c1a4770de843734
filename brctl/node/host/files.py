"""Files of this machine that are changed: whole or not at all, and on disk at return."""

import contextlib
import errno
import fcntl
import os
import stat
import time
from typing import Iterator, Optional, Tuple

from . import BusyError

_NEW = ".brctl-new"
"""A suffix that no folder of configuration files is searched for."""
_REST_S = 3600


def read(path: str) -> Optional[bytes]:
    """All bytes, None where there is no such file. Raises OSError."""
    try:
        with open(path, "rb", buffering=0, opener=opener) as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def opener(path: str, flags: int) -> int:
    """For `open`: a pipe among the files, whose writer may never come, is refused. Raises OSError."""
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "no regular file", path)
    return descriptor


def replace(path: str, data: bytes, mode: int) -> None:
    """Raises OSError; what was there is there still."""
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    make_folders(folder, 0o755)
    kept = _kept(target)
    # Of this writer alone, as another may be at work.
    temporary = os.path.join(folder, ".{}.{}{}".format(os.path.basename(target), os.urandom(4).hex(), _NEW))
    try:
        _fill(temporary, data, mode if kept is None else kept[0], kept)
        os.rename(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _remove_rests(folder)
    _sync_folder(folder)


def remove(path: str) -> None:
    """What `replace` made: of a link what it leads to, and the link stays. Raises OSError: that is no regular file."""
    target = os.path.realpath(path)
    try:
        if _kept(target) is None:
            return
        os.unlink(target)
    except (FileNotFoundError, NotADirectoryError):
        return
    _sync_folder(os.path.dirname(target))


def append(path: str, data: bytes) -> None:
    """To a file that nobody else may read. Raises OSError; what was there is there still, and no part of `data`."""
    folder = os.path.dirname(path)
    make_folders(folder, 0o700)
    new = not os.path.lexists(path)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        try:
            if os.write(descriptor, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)
    if new:
        _sync_folder(folder)


@contextlib.contextmanager
def lock(path: str, holder: str) -> Iterator[None]:
    """Raises BusyError, OSError. The kernel frees it when the process ends, however it ends."""
    make_folders(os.path.dirname(path), 0o755)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            who = os.read(descriptor, 1000).decode("utf-8", "replace").strip()
            raise BusyError(who or "another process") from None
        since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
        with contextlib.suppress(OSError):  # on a full disk it is held without a name
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, "{}, process {}, since {}\n".format(holder, os.getpid(), since).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def make_folders(folder: str, mode: int) -> None:
    """Those that are missing, on disk at return. Raises OSError."""
    if os.path.isdir(folder):
        return
    parent = os.path.dirname(folder)
    make_folders(parent, mode)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, mode)
    _sync_folder(parent)


def _kept(target: str) -> Optional[Tuple[int, int, int]]:
    """Mode and owner of what is there. Raises OSError: it is no regular file."""
    try:
        status = os.lstat(target)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "no regular file", target)
    return stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid


def _fill(temporary: str, data: bytes, mode: int, owner: Optional[Tuple[int, int, int]]) -> None:
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        if owner and owner[1:] != (os.geteuid(), os.getegid()):
            os.fchown(descriptor, owner[1], owner[2])
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)


def _remove_rests(folder: str) -> None:
    """What writers left that were killed. A younger one may be of somebody who is at work, on another host as well."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):  # the next one will
            if name.startswith(".") and name.endswith(_NEW) and time.time() - os.lstat(path).st_mtime > _REST_S:
                os.unlink(path)


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
