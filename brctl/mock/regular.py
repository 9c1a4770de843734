"""Files that are read whole: what is no regular file could keep its reader waiting for ever."""

import errno
import os
import stat

_LIMIT = 16 << 20
"""Bytes. A bundle of a node with 16 GPUs has less than one MiB."""


def open_regular(path: str) -> int:
    """A file descriptor of it. Raises OSError, also where it is no regular file, or larger than 16 MiB."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a fifo is opened without waiting for its writer
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and status.st_size <= _LIMIT:
        return descriptor
    os.close(descriptor)
    if stat.S_ISREG(status.st_mode):
        raise OSError(errno.EFBIG, "it is larger than 16 MiB", path)
    raise OSError(errno.EINVAL, "it is no regular file", path)


def read_regular(path: str) -> bytes:
    """What is in it. Raises OSError as `open_regular` does."""
    with open(open_regular(path), "rb") as file:
        return file.read(_LIMIT) or b""
