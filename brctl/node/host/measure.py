"""What this machine is asked again and again: its counters, in as few system calls as can be."""

import array
import contextlib
import errno
import fcntl
import os
import resource
import socket
import struct
import threading
import time
from typing import Dict, Mapping, Optional, Tuple

from . import Space

_MOST_OPEN = 2048
"""Files kept open, and no more than half of what the process may: the other half is for commands and what else there
is. A node with eight RDMA ports of 25 counters has 200."""
_CHUNK = 65536
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ESRCH)
_REFUSED = (errno.EOPNOTSUPP, errno.ENODEV, errno.EINVAL)
"""What the ethtool call answers of an interface whose driver has no statistics."""

# linux/sockios.h, linux/ethtool.h
_SIOCETHTOOL = 0x8946
_GSTRINGS, _GSTATS, _GSSET_INFO = 0x1B, 0x1D, 0x37
_STATISTICS_SET = 1
_NAME_LENGTH = 32
_MOST_STATISTICS = 65536
_SPARE = bytes(1 << 16)
"""Behind what we ask for: the kernel writes all that there is by then, as with a channel more, whatever room we said
that there is (ethtool_get_stats). 8192 values: a channel has some tens."""
_IFREQ = struct.Struct("16sQ16x")


class KeptFiles:
    """Files of /proc and /sys that stay open: to read one again takes 1.2 us, to open it 16."""

    def __init__(self) -> None:
        self._open: Dict[str, int] = {}
        self._lock = threading.Lock()
        self._most = min(_MOST_OPEN, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)

    def read(self, path: str) -> Optional[str]:
        """None where there is none. Raises OSError."""
        with self._lock:
            descriptor = self._open.pop(path, None)  # nobody else closes or reads it meanwhile
        try:
            if descriptor is not None:
                with contextlib.suppress(OSError):  # the device went away, and may be there again
                    return self._text(path, descriptor)
                os.close(descriptor)
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in _GONE:
                return None
            raise
        try:
            return self._text(path, descriptor)
        except BaseException:
            os.close(descriptor)
            raise

    def _text(self, path: str, descriptor: int) -> str:
        data = os.pread(descriptor, _CHUNK, 0)
        while len(data) % _CHUNK == 0 and data:
            more = os.pread(descriptor, _CHUNK, len(data))
            if not more:
                break
            data += more
        with self._lock:
            if len(self._open) < self._most and path not in self._open:
                self._open[path] = descriptor
                descriptor = -1
        if descriptor >= 0:
            os.close(descriptor)
        return data.decode("utf-8", "replace")


def space(path: str) -> Optional[Space]:
    try:
        seen = os.statvfs(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    unit = seen.f_frsize
    return Space(seen.f_blocks * unit, seen.f_bfree * unit, seen.f_bavail * unit, seen.f_files, seen.f_ffree)


class Ethtool:
    """`ethtool -S` without a process for each: the names are asked for once."""

    def __init__(self) -> None:
        self._names: Dict[Tuple[str, int], Tuple[str, ...]] = {}

    def statistics(self, interface: str) -> Optional[Mapping[str, int]]:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
            try:
                count = self._count(door, interface)
                if not count:
                    return None
                names = self._names.get((interface, count)) or self._ask_names(door, interface, count)
                answer = bytearray(struct.pack("=II", _GSTATS, count) + bytes(8 * count))
                _call(door, interface, answer)
                _check(answer, 4, count)
            except OSError as error:
                if error.errno in _REFUSED:
                    return None
                raise
        return dict(zip(names, struct.unpack_from("={}Q".format(count), answer, 8)))

    def _count(self, door: socket.socket, interface: str) -> int:
        answer = bytearray(struct.pack("=IIQI", _GSSET_INFO, 0, 1 << _STATISTICS_SET, 0))
        _call(door, interface, answer)
        mask, count = struct.unpack_from("=QI", answer, 8)
        return min(count, _MOST_STATISTICS) if mask else 0

    def _ask_names(self, door: socket.socket, interface: str, count: int) -> Tuple[str, ...]:
        answer = bytearray(struct.pack("=III", _GSTRINGS, _STATISTICS_SET, count) + bytes(_NAME_LENGTH * count))
        _call(door, interface, answer)
        _check(answer, 8, count)
        cut = (bytes(answer[place : place + _NAME_LENGTH]) for place in range(12, len(answer), _NAME_LENGTH))
        names = tuple(name.split(b"\0")[0].decode("utf-8", "replace").strip() for name in cut)
        self._names[interface, count] = names
        return names


def _check(answer: bytearray, place: int, count: int) -> None:
    """Raises OSError where the answer is of another number of statistics than there was."""
    if struct.unpack_from("=I", answer, place)[0] != count:
        raise OSError(errno.EAGAIN, "its statistics changed meanwhile")


def _call(door: socket.socket, interface: str, data: bytearray) -> None:
    """The kernel reads and writes `data` where it lies. Raises OSError."""
    place = array.array("B", data)
    place.frombytes(_SPARE)
    fcntl.ioctl(door.fileno(), _SIOCETHTOOL, _IFREQ.pack(interface.encode()[:15], place.buffer_info()[0]))
    data[:] = place[: len(data)].tobytes()


def round_trip(address: str, port: int, limit_s: float) -> Optional[float]:
    began = time.monotonic()
    try:
        socket.create_connection((address, port), limit_s).close()
    except ConnectionRefusedError:
        pass  # that is an answer too
    except (socket.timeout, TimeoutError):
        return None
    return time.monotonic() - began
