"""Why a file that is to be written cannot be, as far as that can be told before anything is touched."""

import errno
from typing import Iterator, Optional

from ..host import Host
from .places import in_words

_NOWHERE = "/dev/null"


def hindrance(host: Host, path: str) -> Optional[str]:
    """In words; None: nothing is known. What only root may look at is left to the write, which will say why."""
    try:
        if host.readlink(path) == _NOWHERE:
            return "{} is masked: it is a link to {}".format(path, _NOWHERE)
        there = host.read_bytes(path) is not None
    except OSError as error:
        return "{}: {}".format(path, in_words(error)) if error.errno in (errno.EISDIR, errno.EINVAL) else None
    try:
        why = None if there else _of_folders(host, path)
    except OSError:
        return None
    return why and "{} cannot be made: {}".format(path, why)


def _of_folders(host: Host, path: str) -> Optional[str]:
    """Of the nearest one that is there: the others will be made. Raises OSError."""
    for folder in _above(path):
        if host.listdir(folder) is not None:
            return "{} is read-only".format(folder) if host.denies(folder) == errno.EROFS else None
        if host.read_bytes(folder) is not None:
            return "{} is no folder".format(folder)
    return None


def _above(path: str) -> Iterator[str]:
    """`/etc/brctl`, `/etc`, `/`"""
    folder = path.rpartition("/")[0]
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
    yield "/"
