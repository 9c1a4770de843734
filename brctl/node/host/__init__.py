"""Host: the one door to a machine. Nothing else in node/ touches files, processes or the network of the machine.

Local is this machine; Machine is one from a JSON file (composed or recorded).
"""

import errno
from typing import Callable, ContextManager, Mapping, NamedTuple, Optional, Protocol, Sequence, Tuple

from ..accel import Library
from ..report import Mock, PairSeen

COMMAND_LIMIT_S = 10.0

_NO_VALUE = (errno.EINVAL, errno.ENODEV, errno.EOPNOTSUPP)
"""What sysfs files answer for a link that is down, a device that is being reset, a driver that cannot tell."""


class Completed(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


class Space(NamedTuple):
    """Of a file system, as statvfs(3) tells it."""

    size_bytes: int
    free_bytes: int
    """With what is kept for root."""
    available_bytes: int
    """Without that."""
    files: int
    """Inodes; 0 where the file system has no fixed number."""
    files_free: int


class BusyError(Exception):
    """Another process holds the lock; the message says which."""


class Host(Protocol):
    mock: Optional[Mock]
    """None on a real machine."""
    again: Tuple[str, ...]
    """What makes the same Host in another process: `module:callable`, and its arguments."""

    def read(self, path: str) -> Optional[str]:
        """The text of a file, None where there is none. Raises OSError: there, but could not be read.

        Undecodable bytes become U+FFFD. `/dev/kmsg` gives what the kernel log holds now, and is not waited for.
        """

    def reread(self, path: str) -> Optional[str]:
        """As `read`, for a file of the kernel that is read again and again: it stays open."""

    def space(self, path: str) -> Optional["Space"]:
        """Of the file system that is mounted at `path`, None where there is none. Raises OSError."""

    def ethtool_statistics(self, interface: str) -> Optional[Mapping[str, int]]:
        """What `ethtool -S` prints, by name; None where the interface or its driver has none. Raises OSError."""

    def round_trip(self, address: str, port: int, limit_s: float) -> Optional[float]:
        """Seconds until a TCP handshake is answered, be it by a refusal; None where nothing answers within `limit_s`.
        Raises OSError: no such address, no route."""

    def echo(self, address: str, port: int, nonce: bytes, limit_s: float) -> bool:
        """As pair.serve: the end that echoes, of a test between two hosts. Raises OSError."""

    def echo_from(self, own: str, peer: str, port: int, nonce: bytes, mtu: int, limit_s: float) -> PairSeen:
        """As pair.probe: the other end. Raises OSError: there is no network to test."""

    def listdir(self, path: str) -> Optional[Tuple[str, ...]]:
        """Sorted names in a folder, None where there is none. Raises OSError."""

    def readlink(self, path: str) -> Optional[str]:
        """Where a symbolic link leads, as written in it; None where there is no such link. Raises OSError."""

    def write(self, path: str, text: str) -> None:
        """Write an existing file in place with one write(2), as the kernel's own files demand. Raises OSError."""

    def denies(self, path: str) -> Optional[int]:
        """The errno with which nobody may write this file, root included: EROFS on a read-only mount, EACCES where a
        container or network namespace only shows what is the host's. None: root may. Raises OSError.

        Nothing is written to find out.
        """

    def read_bytes(self, path: str) -> Optional[bytes]:
        """All bytes of a file, None where there is none. Raises OSError."""

    def replace(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Make the file hold `data`, as a whole or not at all, on disk at return; its folders are made.

        One that was there keeps its mode and owner, and a link to it stays one. Raises OSError.
        """

    def remove(self, path: str) -> None:
        """Take the file away, on disk at return; that there is none is fine. Raises OSError."""

    def append(self, path: str, data: bytes) -> None:
        """Write at the end of a file of root's own, on disk at return; it and its folders are made. Raises OSError."""

    def lock(self, path: str, holder: str) -> ContextManager[None]:
        """Hold the lock `path` in the name of `holder`. Entering it raises BusyError, OSError."""

    def run(self, argv: Sequence[str], limit_s: float = COMMAND_LIMIT_S) -> Optional[Completed]:
        """Run a command with LC_ALL=C and no stdin; None where it is not installed. Raises HungError, OSError."""

    def accelerators(self) -> Tuple[Library, ...]:
        """The vendor libraries to ask for accelerators, loaded or not; always the same objects."""


def if_valid(read: Callable[[str], Optional[str]], path: str) -> Optional[str]:
    """As `read`, and None too where the kernel says that this thing has no such value (now). Raises OSError."""
    try:
        return read(path)
    except OSError as error:
        if error.errno in _NO_VALUE:
            return None
        raise


def read_if_valid(host: Host, path: str) -> Optional[str]:
    """The same of `Host.read`."""
    return if_valid(host.read, path)
